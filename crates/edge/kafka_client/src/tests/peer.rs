//! A wire against a peer that does as scripted.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use bytes::BytesMut;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiKey, ApiVersionsResponse, ListGroupsRequest, ListGroupsResponse};
use kafka_protocol::protocol::Encodable;

use crate::{KafkaCode, Wire, WireError, WireOptions};

/// Serves one connection in a thread; answers the address.
fn peer(script: impl FnOnce(TcpStream) + Send + 'static) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let thread = std::thread::spawn(move || script(listener.accept().expect("a connection").0));
    (address, thread)
}

/// API key, version, correlation and the rest.
fn read_request(stream: &mut TcpStream) -> (i16, i16, i32, Vec<u8>) {
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("a length");
    let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).expect("not negative")];
    stream.read_exact(&mut frame).expect("a frame");
    let short = |at: usize| i16::from_be_bytes([frame[at], frame[at + 1]]);
    let correlation = i32::from_be_bytes([frame[4], frame[5], frame[6], frame[7]]);
    (short(0), short(2), correlation, frame.split_off(8))
}

fn frame(correlation: i32, body: &[u8]) -> Vec<u8> {
    let mut frame = i32::try_from(4 + body.len()).expect("short").to_be_bytes().to_vec();
    frame.extend_from_slice(&correlation.to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

fn encoded<T: Encodable>(message: &T, version: i16) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes, version).expect("encodes");
    bytes.to_vec()
}

fn versions_answer(error_code: i16) -> ApiVersionsResponse {
    let key = ApiVersion::default().with_api_key(ApiKey::ListGroups as i16).with_min_version(0).with_max_version(2);
    ApiVersionsResponse::default().with_error_code(error_code).with_api_keys(vec![key])
}

fn negotiate(stream: &mut TcpStream) {
    let (key, version, correlation, _) = read_request(stream);
    assert_eq!((key, version), (ApiKey::ApiVersions as i16, 3));
    stream.write_all(&frame(correlation, &encoded(&versions_answer(0), 3))).expect("written");
}

async fn connect(address: &str) -> Result<Wire, WireError> {
    Wire::connect(address, WireOptions { answer_bytes_max: 1 << 20, ..WireOptions::default() }).await
}

#[tokio::test]
async fn an_old_broker_is_asked_again_in_version_0() {
    let (address, thread) = peer(|mut stream| {
        let (_, _, correlation, _) = read_request(&mut stream);
        let refusal = encoded(&versions_answer(KafkaCode::UNSUPPORTED_VERSION.0), 0);
        stream.write_all(&frame(correlation, &refusal)).expect("written");
        let (_, version, correlation, _) = read_request(&mut stream);
        assert_eq!(version, 0);
        stream.write_all(&frame(correlation, &encoded(&versions_answer(0), 0))).expect("written");
    });
    let wire = connect(&address).await.expect("negotiated");
    assert_eq!(wire.version_of::<ListGroupsRequest>().expect("shared"), 2);
    let missing = wire.version_of::<kafka_protocol::messages::FetchRequest>();
    assert!(matches!(missing, Err(WireError::Unsupported { theirs: None, .. })));
    thread.join().expect("the script ran");
}

#[tokio::test]
async fn answers_arriving_byte_by_byte_belong_to_requests_in_order() {
    let (address, thread) = peer(|mut stream| {
        negotiate(&mut stream);
        let asked: Vec<i32> = (0..3).map(|_| read_request(&mut stream).2).collect();
        for (code, correlation) in (10..).zip(asked) {
            for byte in frame(correlation, &encoded(&ListGroupsResponse::default().with_error_code(code), 2)) {
                stream.write_all(&[byte]).expect("written");
            }
        }
    });
    let mut wire = connect(&address).await.expect("negotiated");
    for _ in 0..3 {
        wire.send_version(&ListGroupsRequest::default(), 2).await.expect("sent");
    }
    assert_eq!(wire.in_flight(), 3);
    for code in 10..13 {
        let answer = wire.receive().await.expect("an answer");
        assert_eq!(wire.decode::<ListGroupsResponse>(answer).expect("decodes").error_code, code);
    }
    assert!(matches!(wire.receive().await, Err(WireError::Closed { .. })));
    thread.join().expect("the script ran");
}

#[tokio::test]
async fn a_peer_of_another_protocol_is_an_error() {
    let (address, thread) = peer(|mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("written");
    });
    assert!(matches!(connect(&address).await, Err(WireError::FrameLength { .. })));
    thread.join().expect("the script ran");
}

#[tokio::test]
async fn an_answer_to_another_request_is_an_error() {
    let (address, thread) = peer(|mut stream| {
        negotiate(&mut stream);
        let (_, _, correlation, _) = read_request(&mut stream);
        let body = encoded(&ListGroupsResponse::default(), 2);
        stream.write_all(&frame(correlation + 1, &body)).expect("written");
    });
    let mut wire = connect(&address).await.expect("negotiated");
    let error = wire.call(&ListGroupsRequest::default()).await.expect_err("refused");
    assert!(matches!(error, WireError::Correlation { got: 2, expected: 1, .. }), "{error}");
    thread.join().expect("the script ran");
}

#[tokio::test]
async fn a_cut_answer_is_an_error() {
    let (address, thread) = peer(|mut stream| {
        negotiate(&mut stream);
        let (_, _, correlation, _) = read_request(&mut stream);
        let body = encoded(&ListGroupsResponse::default(), 2);
        stream.write_all(&frame(correlation, &body[..body.len() - 1])).expect("written");
    });
    let mut wire = connect(&address).await.expect("negotiated");
    let error = wire.call(&ListGroupsRequest::default()).await.expect_err("refused");
    assert!(matches!(error, WireError::Malformed { api: "ListGroups", version: 2, .. }), "{error}");
    thread.join().expect("the script ran");
}
