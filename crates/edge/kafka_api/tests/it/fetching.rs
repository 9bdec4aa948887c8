//! Fetch and ListOffsets: what is read, when it is answered, and what sessions leave out.

use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{BrokerId, FetchRequest, FetchResponse, ListOffsetsRequest};
use uuid::Uuid;

use daybook_types::TimestampMs;

use crate::harness::{Client, Node, batch, batch_at, options, topic_name, values};

const OFFSET_OUT_OF_RANGE: i16 = 1;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const UNSUPPORTED_VERSION: i16 = 35;
const INVALID_REQUEST: i16 = 42;
const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
const INVALID_FETCH_SESSION_EPOCH: i16 = 71;
const FENCED_LEADER_EPOCH: i16 = 74;
const UNKNOWN_LEADER_EPOCH: i16 = 75;
const UNKNOWN_TOPIC_ID: i16 = 100;

/// A fetch of partitions from offsets, by name, that doesn't wait and begins no session.
pub fn fetch_request(topic: &'static str, partitions: &[(i32, i64)]) -> FetchRequest {
    let partition = |(partition, offset): &(i32, i64)| {
        FetchPartition::default()
            .with_partition(*partition)
            .with_fetch_offset(*offset)
            .with_partition_max_bytes(1 << 20)
    };
    let topic = FetchTopic::default().with_topic(topic_name(topic));
    FetchRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_max_wait_ms(0)
        .with_min_bytes(1)
        .with_max_bytes(50 << 20)
        .with_session_epoch(-1)
        .with_topics(vec![topic.with_partitions(partitions.iter().map(partition).collect())])
}

fn by_id(mut request: FetchRequest, id: Uuid) -> FetchRequest {
    for topic in &mut request.topics {
        topic.topic = Default::default();
        topic.topic_id = id;
    }
    request.replica_state.replica_id = BrokerId(-1);
    request
}

fn only(answer: FetchResponse) -> PartitionData {
    assert_eq!(answer.error_code, 0);
    assert_eq!(answer.responses.len(), 1);
    let mut topic = answer.responses.into_iter().next().expect("one topic");
    assert_eq!(topic.partitions.len(), 1);
    topic.partitions.remove(0)
}

async fn node_with_records(count: i64) -> (Node, Client, Uuid) {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let id = client.create_topic("t", 2, &[]).await;
    for at in 0..count {
        let produced = client.produce("t", 0, batch(&[format!("value {at}").as_bytes()])).await;
        assert_eq!((produced.error_code, produced.base_offset), (0, at));
    }
    (node, client, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_brings_the_same_records() {
    let (_node, mut client, id) = node_with_records(3).await;
    for version in 4..=18 {
        let mut request = fetch_request("t", &[(0, 1)]);
        if version >= 13 {
            request = by_id(request, id);
        }
        if version < 7 {
            request.session_epoch = 0;
        }
        if version >= 15 {
            request.replica_id = BrokerId(-1);
        }
        let answer = client.call(version, &request).await;
        if version >= 13 {
            assert_eq!(answer.responses[0].topic_id, id);
        } else {
            assert_eq!(answer.responses[0].topic, topic_name("t"));
        }
        let partition = only(answer);
        assert_eq!((partition.partition_index, partition.error_code), (0, 0));
        assert_eq!((partition.high_watermark, partition.last_stable_offset), (3, 3));
        assert_eq!(partition.aborted_transactions, None);
        assert_eq!(
            values(partition.records),
            [(1, b"value 1".to_vec()), (2, b"value 2".to_vec())],
            "version {version}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_committed_gets_an_empty_list_of_aborted_transactions() {
    let (_node, mut client, _) = node_with_records(1).await;
    let partition = only(client.call(11, &fetch_request("t", &[(0, 0)]).with_isolation_level(1)).await);
    assert_eq!(partition.aborted_transactions, Some(Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_is_empty_and_beyond_it_is_out_of_range() {
    let (_node, mut client, _) = node_with_records(2).await;
    let at_end = only(client.call(11, &fetch_request("t", &[(0, 2)])).await);
    assert_eq!((at_end.error_code, at_end.high_watermark), (0, 2));
    assert!(at_end.records.is_some_and(|records| records.is_empty()));
    for offset in [-1, 3] {
        let beyond = only(client.call(11, &fetch_request("t", &[(0, offset)])).await);
        assert_eq!((beyond.error_code, beyond.high_watermark, beyond.log_start_offset), (OFFSET_OUT_OF_RANGE, -1, -1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_exist_is_told_by_name_and_by_id() {
    let (_node, mut client, id) = node_with_records(0).await;
    assert_eq!(
        only(client.call(11, &fetch_request("unknown", &[(0, 0)])).await).error_code,
        UNKNOWN_TOPIC_OR_PARTITION
    );
    assert_eq!(only(client.call(11, &fetch_request("t", &[(9, 0)])).await).error_code, UNKNOWN_TOPIC_OR_PARTITION);
    let unknown = by_id(fetch_request("t", &[(0, 0)]), Uuid::from_u128(9));
    assert_eq!(only(client.call(13, &unknown).await).error_code, UNKNOWN_TOPIC_ID);
    let known = by_id(fetch_request("t", &[(9, 0)]), id);
    assert_eq!(only(client.call(13, &known).await).error_code, UNKNOWN_TOPIC_OR_PARTITION);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_epoch_is_checked_and_the_leader_named() {
    let (_node, mut client, id) = node_with_records(1).await;
    let with_epoch = |epoch| {
        let mut request = by_id(fetch_request("t", &[(0, 0)]), id);
        request.topics[0].partitions[0].current_leader_epoch = epoch;
        request
    };
    let newer = only(client.call(16, &with_epoch(i32::MAX)).await);
    assert_eq!(newer.error_code, UNKNOWN_LEADER_EPOCH);
    let answer = client.call(16, &with_epoch(-5)).await;
    assert_eq!(answer.node_endpoints[0].node_id, BrokerId(0));
    let older = only(answer);
    assert_eq!((older.error_code, older.current_leader.leader_id), (FENCED_LEADER_EPOCH, BrokerId(0)));
    let current = older.current_leader.leader_epoch;
    assert_eq!(only(client.call(16, &with_epoch(current)).await).error_code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_waits_for_records_as_long_as_it_is_asked_to() {
    let (node, mut client, _) = node_with_records(0).await;
    let waiting = fetch_request("t", &[(0, 0), (1, 0)]).with_max_wait_ms(i32::MAX);
    let number = client.send(11, &waiting).await;
    let mut producer = node.connect().await;
    producer.produce("t", 1, batch(&[b"woken"])).await;
    let answer = client.receive::<FetchRequest>(11, number).await;
    let partitions = &answer.responses[0].partitions;
    assert_eq!(partitions.len(), 2);
    assert_eq!(values(partitions[1].records.clone()), [(0, b"woken".to_vec())]);
    // Without more records an answer comes when the time is over.
    let answer = client.call(11, &fetch_request("t", &[(0, 0)]).with_max_wait_ms(20)).await;
    assert!(only(answer).records.is_some_and(|records| records.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_waits_for_as_many_bytes_as_asked() {
    let (node, mut client, _) = node_with_records(0).await;
    let one = batch(&[&[1; 400]]);
    let waiting = fetch_request("t", &[(0, 0)]).with_max_wait_ms(i32::MAX).with_min_bytes(2 * one.len() as i32);
    let number = client.send(11, &waiting).await;
    let mut producer = node.connect().await;
    producer.produce("t", 0, one.clone()).await;
    producer.produce("t", 0, one).await;
    assert_eq!(values(only(client.receive::<FetchRequest>(11, number).await).records).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_but_for_the_first_batch() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 2, &[]).await;
    let large = batch(&[&[1; 5000], &[2; 5000]]);
    for partition in 0..2 {
        client.produce("t", partition, large.clone()).await;
        client.produce("t", partition, large.clone()).await;
    }
    // From the middle of a batch the whole batch comes, though it is larger than asked.
    let mut request = fetch_request("t", &[(0, 1), (1, 0)]).with_max_bytes(100);
    let answer = client.call(11, &request).await;
    let counts: Vec<_> = answer.responses[0].partitions.iter().map(|p| values(p.records.clone()).len()).collect();
    assert_eq!(counts, [2, 0]);
    request.max_bytes = 3 * large.len() as i32 + 10;
    let answer = client.call(11, &request).await;
    let counts: Vec<_> = answer.responses[0].partitions.iter().map(|p| values(p.records.clone()).len()).collect();
    assert_eq!(counts, [4, 2]);
    request.topics[0].partitions[0].partition_max_bytes = large.len() as i32;
    let answer = client.call(11, &request).await;
    let counts: Vec<_> = answer.responses[0].partitions.iter().map(|p| values(p.records.clone()).len()).collect();
    assert_eq!(counts, [2, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_come_from_files_and_memory_as_from_one_log() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let value = |at: usize| format!("{at:06}").repeat(200).into_bytes();
    let batch_from = |from: usize| {
        let values: Vec<Vec<u8>> = (from..from + 100).map(value).collect();
        batch(&values.iter().map(Vec::as_slice).collect::<Vec<_>>())
    };
    for from in (0..2000).step_by(100) {
        assert_eq!(client.produce("t", 0, batch_from(from)).await.base_offset, from as i64);
    }
    let node = node.restart(options()).await;
    let mut client = node.connect().await;
    for from in (2000..3000).step_by(100) {
        assert_eq!(client.produce("t", 0, batch_from(from)).await.base_offset, from as i64);
    }
    let expected: Vec<(i64, Vec<u8>)> = (0..3000).map(|at| (at as i64, value(at))).collect();
    let mut request = fetch_request("t", &[(0, 0)]);
    request.topics[0].partitions[0].partition_max_bytes = i32::MAX;
    assert_eq!(values(only(client.call(11, &request).await).records), expected);
    // In steps, each from the middle of a batch.
    request.topics[0].partitions[0].partition_max_bytes = 300_000;
    let mut found = Vec::new();
    while found.len() < expected.len() {
        request.topics[0].partitions[0].fetch_offset = found.len() as i64;
        let next = values(only(client.call(11, &request).await).records);
        let known = found.len() as i64;
        found.extend(next.into_iter().filter(|(offset, _)| *offset >= known).take(150));
        assert!(found.len() as i64 > known, "nothing from {known} on");
    }
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_tells_only_what_is_new() {
    let (_node, mut client, _) = node_with_records(1).await;
    let full = client.call(11, &fetch_request("t", &[(0, 1), (1, 0)]).with_session_epoch(0)).await;
    assert_ne!(full.session_id, 0);
    assert_eq!(full.responses[0].partitions.len(), 2);
    let next = |epoch| {
        let request = fetch_request("t", &[]).with_session_id(full.session_id).with_session_epoch(epoch);
        request.with_topics(Vec::new())
    };
    let nothing = client.call(11, &next(1)).await;
    assert_eq!((nothing.error_code, nothing.session_id, nothing.responses.len()), (0, full.session_id, 0));
    client.produce("t", 1, batch(&[b"new"])).await;
    let news = only(client.call(11, &next(2)).await);
    assert_eq!((news.partition_index, values(news.records)), (1, vec![(0, b"new".to_vec())]));
    assert_eq!(client.call(11, &next(2)).await.error_code, INVALID_FETCH_SESSION_EPOCH);
    let forgotten = ForgottenTopic::default().with_topic(topic_name("t")).with_partitions(vec![1]);
    let without = client.call(11, &next(3).with_forgotten_topics_data(vec![forgotten])).await;
    assert_eq!((without.error_code, without.responses.len()), (0, 0));
    let stranger = client.call(11, &next(1).with_session_id(full.session_id ^ 1)).await;
    assert_eq!((stranger.error_code, stranger.session_id), (FETCH_SESSION_ID_NOT_FOUND, 0));
}

async fn list_offset(client: &mut Client, version: i16, partition: i32, timestamp: i64) -> (i16, i64, i64) {
    let asked = ListOffsetsPartition::default().with_partition_index(partition).with_timestamp(timestamp);
    let asked = if version >= 4 { asked.with_current_leader_epoch(-1) } else { asked };
    let topic = ListOffsetsTopic::default().with_name(topic_name("t")).with_partitions(vec![asked]);
    let request = ListOffsetsRequest::default().with_replica_id(BrokerId(-1)).with_topics(vec![topic]);
    let answer = client.call(version, &request).await;
    let found = &answer.topics[0].partitions[0];
    (found.error_code, found.offset, found.timestamp)
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_found_by_end_and_by_time() {
    let (_node, mut client, _) = node_with_records(0).await;
    for at in [1000, 3000, 2000] {
        client.produce("t", 0, batch_at(TimestampMs(at), &[b"a", b"b"])).await;
    }
    assert_eq!(list_offset(&mut client, 10, 0, -1).await, (0, 6, -1));
    assert_eq!(list_offset(&mut client, 10, 0, -2).await, (0, 0, -1));
    assert_eq!(list_offset(&mut client, 10, 0, -3).await, (0, 2, 3000));
    assert_eq!(list_offset(&mut client, 10, 0, -4).await, (0, 0, -1));
    assert_eq!(list_offset(&mut client, 10, 0, -5).await, (0, -1, -1));
    assert_eq!(list_offset(&mut client, 1, 0, 1001).await, (0, 2, 3000));
    assert_eq!(list_offset(&mut client, 10, 0, 3001).await, (0, -1, -1));
    assert_eq!(list_offset(&mut client, 10, 1, -3).await, (0, -1, -1));
    assert_eq!(list_offset(&mut client, 10, 1, 0).await, (0, -1, -1));
    assert_eq!(list_offset(&mut client, 10, 9, -1).await, (UNKNOWN_TOPIC_OR_PARTITION, -1, -1));
    for (version, timestamp) in [(6, -3), (7, -4), (8, -5), (10, -6)] {
        assert_eq!(list_offset(&mut client, version, 0, timestamp).await.0, UNSUPPORTED_VERSION, "{timestamp}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_asked_for_twice_is_refused_twice() {
    let (_node, mut client, _) = node_with_records(0).await;
    let asked = |index| ListOffsetsPartition::default().with_partition_index(index).with_timestamp(-1);
    let topic =
        ListOffsetsTopic::default().with_name(topic_name("t")).with_partitions(vec![asked(0), asked(1), asked(0)]);
    let answer = client.call(3, &ListOffsetsRequest::default().with_topics(vec![topic])).await;
    let codes: Vec<_> = answer.topics[0].partitions.iter().map(|partition| partition.error_code).collect();
    assert_eq!(codes, [INVALID_REQUEST, 0, INVALID_REQUEST]);
}
