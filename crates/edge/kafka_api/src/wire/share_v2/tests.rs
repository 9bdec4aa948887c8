use bytes::Bytes;

use super::{FetchExtras, acknowledged_as_v2, decode_acknowledge, decode_fetch};
use crate::sample_requests;
use crate::wire::messages::ShareAcknowledgeResponse;
use crate::wire::{ApiKey, decode, encode, text};

#[test]
fn a_fetch_of_version_2_is_one_of_version_1_and_its_extras() {
    let old = sample_requests::body(ApiKey::ShareFetch, 1);
    let new = sample_requests::body(ApiKey::ShareFetch, 2);
    assert_eq!(new.len(), old.len() + 2);
    let (extras, request) = decode_fetch(2, new).unwrap();
    assert_eq!(extras, FetchExtras { exact: true, renews: true });
    assert_eq!(request, decode(1, old.clone()).unwrap());
    assert_eq!(decode_fetch(1, old).unwrap(), (FetchExtras::default(), request));
}

#[test]
fn an_acknowledgement_of_version_2_is_one_of_version_1_and_whether_it_renews() {
    let old = sample_requests::body(ApiKey::ShareAcknowledge, 1);
    let (renews, request) = decode_acknowledge(2, sample_requests::body(ApiKey::ShareAcknowledge, 2)).unwrap();
    assert!(renews);
    assert_eq!(decode_acknowledge(1, old).unwrap(), (false, request));
}

#[test]
fn the_lock_time_stands_behind_the_message() {
    for message in [None, Some(text("m")), Some(text("m".repeat(200)))] {
        let response = ShareAcknowledgeResponse::default().with_error_code(7).with_error_message(message);
        let old = encode(9, 1, &response).unwrap();
        let new = acknowledged_as_v2(&old, 0x0102_0304);
        assert_eq!(i32::from_be_bytes(new[..4].try_into().unwrap()) as usize, new.len() - 4);
        // Nothing follows but no topics, no endpoints and no tags.
        assert_eq!(&new[new.len() - 7..], [1, 2, 3, 4, 1, 1, 0]);
        assert_eq!(new[4..new.len() - 7], old[4..old.len() - 3]);
    }
    assert_eq!(acknowledged_as_v2(&Bytes::from_static(&[0; 4]), 1).len(), 8);
}
