//! A request as it comes from a socket: its length, its header, its body.

use daybook_kafka_api::{decode_request, frame};

use crate::Verdict;

/// What a server lets in at most, by default.
const REQUEST_BYTES_MAX: usize = 100 * 1024 * 1024;

/// The bytes after the length are read as a request whatever the length says.
pub fn kafka_request(bytes: &[u8]) -> Verdict {
    let Some((prefix, rest)) = bytes.split_first_chunk() else { return Verdict::Refused };
    let length = frame::request_bytes(*prefix, REQUEST_BYTES_MAX);
    let decoded = decode_request(rest);
    match length {
        Ok(length) if length == rest.len() => Verdict::of(&decoded),
        _ => Verdict::Refused,
    }
}
