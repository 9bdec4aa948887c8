//! What happens to peers that don't behave, and to those that do meanwhile.

use std::time::Duration;

use bytes::Bytes;
use daybook_kafka_api::Options;
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse, FetchRequest, ResponseHeader};
use kafka_protocol::protocol::Decodable;
use tokio::io::AsyncWriteExt;

use crate::fetching::fetch_request;
use crate::harness::{Node, options, text};
use crate::requests;

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_version_of_api_versions_is_answered_in_version_0() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let request = b"\x00\x00\x00\x0a\x00\x12\x00\x63\x00\x00\x00\x07\xff\xff";
    client.stream.write_all(request).await.expect("the server reads");
    let mut answer = client.receive_raw().await.expect("an answer");
    assert_eq!(ResponseHeader::decode(&mut answer, 0).expect("a header").correlation_id, 7);
    let answer = ApiVersionsResponse::decode(&mut answer, 0).expect("a body of version 0");
    assert_eq!(answer.error_code, 35);
    let keys: Vec<_> = answer.api_keys.iter().map(|row| (row.api_key, row.min_version, row.max_version)).collect();
    assert_eq!(keys, [(18, 0, 4)]);
    // The connection is as good as before.
    let request =
        ApiVersionsRequest::default().with_client_software_name(text("test")).with_client_software_version(text("1.0"));
    let answer = client.call(4, &request).await;
    assert_eq!(answer.error_code, 0);
    assert!(answer.api_keys.iter().any(|row| (row.api_key, row.min_version, row.max_version) == (0, 0, 13)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_to_name_its_software_in_plain_words() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let request = ApiVersionsRequest::default()
        .with_client_software_name(text("-test-"))
        .with_client_software_version(text("1.0"));
    assert_eq!(client.call(3, &request).await.error_code, 42);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_kafka_request_closes_its_connection_and_no_other() {
    let node = Node::start(options()).await;
    let mut good = node.connect().await;
    let http = Bytes::from_static(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n");
    let tls = Bytes::from_static(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
    let too_large = Bytes::from_static(b"\x7f\xff\xff\xff");
    let negative = Bytes::from_static(b"\xff\xff\xff\xff");
    let short = Bytes::from_static(b"\x00\x00\x00\x02\x00\x03");
    let old_metadata = Bytes::from_static(b"\x00\x00\x00\x0a\x00\x03\x00\x63\x00\x00\x00\x07\xff\xff");
    let unknown_api = Bytes::from_static(b"\x00\x00\x00\x0a\x03\xe8\x00\x00\x00\x00\x00\x07\xff\xff");
    let claims_items = requests::framed(ApiKey::Metadata, 0, 1, b"\x7f\xff\xff\xff\x00\x01a");
    let garbage = requests::framed(ApiKey::Fetch, 12, 1, &[0xff; 40]);
    for bad in [http, tls, too_large, negative, short, old_metadata, unknown_api, claims_items, garbage] {
        let mut client = node.connect().await;
        client.stream.write_all(&bad).await.expect("the server reads");
        assert!(client.is_closed().await, "{bad:?}");
    }
    assert!(good.topic_names().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_before_a_bad_one_are_answered() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let mut both = requests::frame(ApiKey::Metadata, 12, 1).to_vec();
    both.extend_from_slice(b"GET / HTTP/1.1\r\n");
    client.stream.write_all(&both).await.expect("the server reads");
    assert!(client.receive_raw().await.is_some());
    assert!(client.is_closed().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_the_largest_size_is_let_in_and_one_more_byte_is_not() {
    let body = requests::frame(ApiKey::Metadata, 12, 1);
    let node = Node::start(Options { request_bytes_max: body.len() - 4, ..options() }).await;
    let mut client = node.connect().await;
    client.stream.write_all(&body).await.expect("the server reads");
    assert!(client.receive_raw().await.is_some());
    let mut longer = body.to_vec();
    longer.push(0);
    let length = (longer.len() - 4) as u32;
    longer[..4].copy_from_slice(&length.to_be_bytes());
    client.stream.write_all(&longer).await.expect("the server reads");
    assert!(client.is_closed().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_more_connections_than_may_be() {
    let node = Node::start(Options { connections_max: 2, ..options() }).await;
    let mut first = node.connect().await;
    let mut second = node.connect().await;
    assert!(first.topic_names().await.is_empty());
    assert!(second.topic_names().await.is_empty());
    assert!(node.connect().await.is_closed().await);
    drop(first);
    // Room comes back once the server has seen that the first is gone.
    loop {
        let mut third = node.connect().await;
        third.stream.write_all(&requests::frame(ApiKey::Metadata, 12, 1)).await.ok();
        if third.receive_raw().await.is_some() {
            break;
        }
    }
    assert!(second.topic_names().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_and_slow_peers_are_cut_off() {
    let node = Node::start(Options { idle_timeout: Duration::from_millis(50), ..options() }).await;
    let mut silent = node.connect().await;
    assert!(silent.is_closed().await);
    let mut slow = node.connect().await;
    // Where this takes too long the server has closed already, which is what is looked for.
    slow.stream.write_all(b"\x00\x00\x00\x40half").await.ok();
    assert!(slow.is_closed().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_answers_who_waits_and_takes_no_more() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let full = client.call(11, &fetch_request("t", &[(0, 0)]).with_session_epoch(0)).await;
    let in_session = |epoch, wait_ms| {
        let request = fetch_request("t", &[]).with_topics(Vec::new()).with_max_wait_ms(wait_ms);
        request.with_session_id(full.session_id).with_session_epoch(epoch)
    };
    let waiting = client.send(11, &in_session(1, i32::MAX)).await;
    // Once the session expects the epoch after, the server has begun with the request that waits.
    let mut other = node.connect().await;
    while other.call(11, &in_session(2, 0)).await.error_code != 0 {}
    node.stop().await;
    let answer = client.receive::<FetchRequest>(11, waiting).await;
    // The other one went on with its session.
    assert_eq!(answer.error_code, 71);
    assert!(client.is_closed().await);
    assert!(other.is_closed().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_up_while_waiting_is_forgotten() {
    let node = Node::start(Options { connections_max: 1, ..options() }).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let waiting = fetch_request("t", &[(0, 0)]).with_max_wait_ms(i32::MAX).with_min_bytes(1);
    client.send(11, &waiting).await;
    drop(client);
    loop {
        let mut next = node.connect().await;
        next.stream.write_all(&requests::frame(ApiKey::Metadata, 12, 1)).await.ok();
        if next.receive_raw().await.is_some() {
            break;
        }
    }
}
