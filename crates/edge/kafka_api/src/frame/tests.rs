use bytes::Bytes;
use proptest::prelude::*;

use super::{FrameError, Opened, open, request_bytes};
use crate::sample_requests;
use crate::wire::ApiKey;

const BYTES_MAX: usize = 1024 * 1024;

#[test]
fn sizes_are_bounded_on_both_sides() {
    assert_eq!(request_bytes(100i32.to_be_bytes(), BYTES_MAX).expect("legal"), 100);
    assert_eq!(request_bytes((BYTES_MAX as i32).to_be_bytes(), BYTES_MAX).expect("legal"), BYTES_MAX);
    for bytes in [-1, 0, 9, BYTES_MAX as i32 + 1, i32::MAX, i32::MIN] {
        let refused = request_bytes(bytes.to_be_bytes(), BYTES_MAX);
        assert!(matches!(refused, Err(FrameError::Size { bytes: named, .. }) if named == bytes), "{bytes}");
    }
}

#[test]
fn other_protocols_are_told_by_their_first_bytes() {
    for (prefix, name) in [(*b"GET ", "HTTP"), (*b"PRI ", "HTTP/2"), (*b"SSH-", "SSH"), ([0x16, 3, 1, 2], "TLS")] {
        let refused = request_bytes(prefix, 100 * BYTES_MAX);
        assert!(matches!(refused, Err(FrameError::Foreign { protocol }) if protocol == name), "{name}");
    }
}

#[test]
fn the_header_names_api_version_and_client() {
    for version in [0, 4, 9, 12] {
        let request = sample_requests::frame(ApiKey::Metadata, version, 77).slice(4..);
        let Ok(Opened::Request { head, body }) = open(request) else { panic!("version {version} is not opened") };
        assert_eq!((head.row.api, head.version, head.correlation_id), (ApiKey::Metadata, version, 77));
        assert_eq!(head.client_id.as_deref(), Some("sampler"));
        assert_eq!(body, sample_requests::body(ApiKey::Metadata, version));
    }
}

#[test]
fn a_client_without_an_id_is_let_in() {
    let request = Bytes::from_static(b"\x00\x12\x00\x00\x00\x00\x00\x05\xff\xff");
    let Ok(Opened::Request { head, body }) = open(request) else { panic!("not opened") };
    assert_eq!((head.client_id, body.len()), (None, 0));
}

#[test]
fn an_unknown_version_is_answered_only_for_api_versions() {
    let api_versions = Bytes::from_static(b"\x00\x12\x00\x63\x00\x00\x00\x05\xff\xff");
    assert!(matches!(open(api_versions), Ok(Opened::UnsupportedApiVersions { correlation_id: 5 })));
    let metadata = Bytes::from_static(b"\x00\x03\x00\x63\x00\x00\x00\x05\xff\xff");
    assert!(matches!(open(metadata), Err(FrameError::UnsupportedVersion { version: 99, .. })));
    let produce_2 = Bytes::from_static(b"\x00\x00\x00\x02\x00\x00\x00\x05\xff\xff");
    assert!(matches!(open(produce_2), Err(FrameError::UnsupportedVersion { version: 2, .. })));
    let unknown = Bytes::from_static(b"\x00\x07\x00\x00\x00\x00\x00\x05\xff\xff");
    assert!(matches!(open(unknown), Err(FrameError::UnknownApi { key: 7 })));
}

#[test]
fn an_error_names_cause_and_what_would_do() {
    let produce_2 = Bytes::from_static(b"\x00\x00\x00\x02\x00\x00\x00\x05\xff\xff");
    let text = open(produce_2).map(|_| ()).expect_err("too old").to_string();
    assert_eq!(text, "produce is not answered in version 2, only from 3 to 13");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(request: Vec<u8>) {
        let _ = crate::decode_request(&request);
    }

    #[test]
    fn arbitrary_bytes_of_a_known_api_never_panic(
        row in 0..crate::versions::TABLE.len(), version in -1i16..20, rest: Vec<u8>,
    ) {
        let row = &crate::versions::TABLE[row];
        let mut request = Vec::new();
        request.extend_from_slice(&row.key().to_be_bytes());
        request.extend_from_slice(&version.to_be_bytes());
        request.extend_from_slice(&[0, 0, 0, 1, 0xff, 0xff, 0]);
        request.extend_from_slice(&rest);
        let _ = crate::decode_request(&request);
    }
}
