use bytes::{BufMut, Bytes, BytesMut};
use proptest::prelude::*;

use super::{ITEMS_MAX, ShapeError, check};
use crate::sample_requests;
use crate::versions::TABLE;
use crate::wire::ApiKey;

#[test]
fn walks_every_request_to_its_last_byte() {
    for row in TABLE {
        for version in row.first_version..=row.last_version {
            let body = sample_requests::body(row.api, version);
            assert_eq!(check(row.api, version, &body), Ok(0), "{} {version}", row.name);
        }
    }
}

#[test]
fn refuses_every_request_cut_short() {
    for row in TABLE {
        for version in [row.first_version, row.last_version] {
            let body = sample_requests::body(row.api, version);
            for end in 0..body.len() {
                let outcome = check(row.api, version, &body[..end]);
                assert!(outcome.is_err(), "{} {version} cut at {end} of {}", row.name, body.len());
            }
        }
    }
}

#[test]
fn refuses_a_list_that_only_claims_its_items() {
    // Metadata 0: a list of names, said to have 2^31 - 1.
    let body = [0x7f, 0xff, 0xff, 0xff, 0, 1, b'a'];
    assert_eq!(check(ApiKey::Metadata, 0, &body), Err(ShapeError::Items { items_max: ITEMS_MAX }));
    let body = [0, 0, 0, 9, 0, 1, b'a'];
    assert_eq!(check(ApiKey::Metadata, 0, &body), Err(ShapeError::Short { field: "name" }));
}

#[test]
fn counts_the_items_of_all_lists_together() {
    // Fetch 4: many topics without a name, each with one partition less than there may be.
    let mut body = BytesMut::new();
    body.put_bytes(0, 17);
    body.put_i32(2);
    for _ in 0..2 {
        let partitions = ITEMS_MAX / 2;
        body.put_i16(0);
        body.put_i32(partitions as i32);
        body.put_bytes(0, partitions * 16);
    }
    assert_eq!(check(ApiKey::Fetch, 4, &body), Err(ShapeError::Items { items_max: ITEMS_MAX }));
}

#[test]
fn holds_known_tagged_fields_to_their_size() {
    let body = sample_requests::body(ApiKey::Fetch, 12);
    // The tagged field at the end: cluster id, tag 0, 8 bytes.
    let tagged = b"\x01\x00\x08\x08cluster";
    assert!(body.ends_with(tagged), "{body:?}");
    let mut longer = body[..body.len() - tagged.len()].to_vec();
    longer.extend_from_slice(b"\x01\x00\x09\x08cluster\x00");
    assert_eq!(check(ApiKey::Fetch, 12, &longer), Err(ShapeError::TaggedSize { field: "cluster_id" }));
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_an_error_or_a_request(row in 0..TABLE.len(), version in 0i16..20, body: Vec<u8>) {
        let row = &TABLE[row];
        if let Ok(left) = check(row.api, version.clamp(row.first_version, row.last_version), &body) {
            prop_assert!(left <= body.len());
        }
    }

    /// What passes the walk is decoded without room being made for what isn't there.
    #[test]
    fn a_damaged_request_never_panics(
        row in 0..TABLE.len(),
        newest: bool,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let row = &TABLE[row];
        let version = if newest { row.last_version } else { row.first_version };
        let mut request = sample_requests::frame(row.api, version, 1).slice(4..).to_vec();
        for (at, value) in damage {
            let at = at.index(request.len());
            request[at] = value;
        }
        let _ = crate::decode_request(&Bytes::from(request));
    }
}
