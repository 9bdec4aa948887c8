use bytes::{Buf, BytesMut};
use kafka_protocol::messages::{ApiVersionsResponse, HeartbeatRequest, HeartbeatResponse};
use kafka_protocol::protocol::{Decodable, Encodable};

use super::{Writer, decode, encode};

#[test]
fn an_answer_starts_with_its_length_and_the_callers_number() {
    let mut answer = encode(0x0102_0304, 4, &HeartbeatResponse::default().with_error_code(25)).expect("it encodes");
    assert_eq!(answer.get_i32() as usize, answer.len());
    assert_eq!(answer.get_i32(), 0x0102_0304);
    assert_eq!(answer.get_u8(), 0, "no tagged fields in the header");
    assert_eq!(HeartbeatResponse::decode(&mut answer, 4).expect("it decodes").error_code, 25);
}

#[test]
fn the_header_of_api_versions_never_has_tagged_fields() {
    let mut answer = encode(1, 4, &ApiVersionsResponse::default()).expect("it encodes");
    answer.advance(8);
    assert!(ApiVersionsResponse::decode(&mut answer, 4).is_ok());
    assert!(answer.is_empty());
}

#[test]
fn bytes_after_a_request_are_let_pass() {
    let mut body = BytesMut::new();
    HeartbeatRequest::default().encode(&mut body, 0).expect("it encodes");
    body.extend_from_slice(b"more");
    assert!(decode::<HeartbeatRequest>(0, body.freeze()).is_ok());
}

#[test]
fn lengths_are_varints_in_flexible_versions() {
    let mut out = Writer::new(true);
    out.length(0);
    out.length(127);
    out.text("ab");
    out.null_list();
    out.no_tags();
    out.tagged(3, |out| out.i16(7));
    assert_eq!(&out.split()[..], [1, 0x80, 1, 3, b'a', b'b', 0, 0, 3, 2, 0, 7]);
}

#[test]
fn lengths_are_integers_before() {
    let mut out = Writer::new(false);
    out.length(5);
    out.text("ab");
    out.null_list();
    out.no_tags();
    assert_eq!(&out.split()[..], [0, 0, 0, 5, 0, 2, b'a', b'b', 0xff, 0xff, 0xff, 0xff]);
}
