use std::collections::VecDeque;

use bytes::Bytes;
use daybook_event_store::{AppendError, Recorded, StreamName};
use daybook_types::{Offset, PartitionId, PartitionIndex, Position, StreamVersion, TimestampMs, TopicId};
use prost::Message;
use tonic::Code;

use super::error_code::{integrity, of_append};
use super::event::{new_event, sequenced};
use super::read::{cut, message_bytes};
use crate::proto::umadb::v1;
use crate::proto::umadb::v1::error_response::ErrorType;

const UUID: &str = "0b4c9f0e-5f6a-4d7e-8a36-4b7f6a1f8f00";

fn given(uuid: &str, metadata: &[(&str, &str)]) -> v1::Event {
    v1::Event {
        event_type: "Opened".to_owned(),
        tags: vec!["account:1".to_owned(), "branch:2".to_owned()],
        data: Bytes::from_static(b"\0data"),
        uuid: uuid.to_owned(),
        metadata: metadata
            .iter()
            .map(|(key, value)| v1::MetadataEntry { key: (*key).to_owned(), value: (*value).to_owned() })
            .collect(),
    }
}

/// The event as the store would hand it out.
fn recorded(event: v1::Event, tracking: Option<&v1::TrackingInfo>, stream: Option<&str>) -> Recorded {
    let event = new_event(event, tracking).unwrap();
    Recorded {
        stream: stream.map(|name| StreamName::new(name).unwrap()),
        version: stream.map(|_| StreamVersion(3)),
        position: Position(41),
        partition: PartitionId { topic: TopicId::from_bytes([1; 16]), index: PartitionIndex(0) },
        offset: Offset(7),
        recorded: TimestampMs(1),
        id: event.id,
        event_type: event.event_type,
        content_type: event.content_type,
        data: event.data,
        metadata: event.metadata,
        tags: event.tags,
        time: event.time,
        headers: event.headers,
    }
}

#[test]
fn an_event_comes_back_as_it_was_given() {
    // Names that mean something to the log, and names with the prefix that keeps them.
    let metadata = [
        ("who", "ann"),
        ("", "empty"),
        ("ce_type", "not the type"),
        ("content-type", "not the data's"),
        ("daybook-expected-version", "-1"),
        ("umadb-tracking-source", "not a source"),
        ("umadb-umadb-x", "y"),
    ];
    for uuid in [UUID, ""] {
        let event = given(uuid, &metadata);
        let back = sequenced(recorded(event.clone(), None, None));
        assert_eq!(back, v1::SequencedEvent { position: 42, event: Some(event), tracking_info: None });
    }
}

#[test]
fn metadata_never_changes_what_the_log_understands() {
    let event =
        new_event(given(UUID, &[("daybook-tag", "x"), ("ce_id", "y"), ("daybook-expected-version", "0")]), None);
    let names: Vec<_> = event.unwrap().headers.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["umadb-daybook-tag", "umadb-ce_id", "umadb-daybook-expected-version"]);
}

#[test]
fn tracking_comes_back() {
    let tracking = v1::TrackingInfo { source: "upstream".to_owned(), position: u64::MAX };
    let event = given(UUID, &[("k", "v")]);
    let back = sequenced(recorded(event.clone(), Some(&tracking), Some("umadb-upstream")));
    assert_eq!(back.event, Some(event));
    assert_eq!(back.tracking_info, Some(tracking));
}

#[test]
fn events_of_others_show_what_they_carry() {
    let mut event = recorded(given(UUID, &[]), None, Some("order-1"));
    event.id = "order/partition 0/offset 7".to_owned();
    event.content_type = "application/json".to_owned();
    event.metadata = Some(Bytes::from_static(b"{}"));
    let event = sequenced(event).event.unwrap();
    assert_eq!(uuid::Uuid::parse_str(&event.uuid).unwrap().get_version_num(), 5, "clients read UUIDs alone");
    let metadata: Vec<_> = event.metadata.iter().map(|entry| (entry.key.as_str(), entry.value.as_str())).collect();
    let want = [
        ("content-type", "application/json"),
        ("daybook-metadata", "{}"),
        ("daybook-stream", "order-1"),
        ("daybook-version", "3"),
    ];
    assert_eq!(metadata, want);
}

#[test]
fn what_clients_could_not_read_is_refused() {
    for event in [given("seven", &[]), given(UUID, &[("who", "ann"), ("who", "bob")])] {
        let status = new_event(event, None).unwrap_err();
        assert_eq!((status.code(), error_type(&status)), (Code::InvalidArgument, ErrorType::InvalidArgument));
    }
}

#[test]
fn errors_stand_in_the_details() {
    let status = of_append(AppendError::ConditionFailed { position: Position(4) });
    assert_eq!((status.code(), error_type(&status)), (Code::FailedPrecondition, ErrorType::Integrity));
    assert!(status.message().contains("at position 5"), "positions count from 1: {}", status.message());
    let status = of_append(AppendError::RepeatedId { id: UUID.to_owned() });
    assert_eq!((status.code(), error_type(&status)), (Code::InvalidArgument, ErrorType::InvalidArgument));
    let status = of_append(AppendError::Indexing { topic: "_events".to_owned() });
    assert_eq!(
        (status.code(), status.details()),
        (Code::Unavailable, &b""[..]),
        "details would hide that a retry helps"
    );
    assert_eq!(error_type(&integrity("x".to_owned())), ErrorType::Integrity);
}

#[test]
fn messages_are_cut_by_number_and_bytes() {
    let event = |size| {
        let mut event = given(UUID, &[]);
        event.data = Bytes::from(vec![0; size]);
        v1::SequencedEvent { position: 1, event: Some(event), tracking_info: None }
    };
    let mut waiting: VecDeque<_> = [10, 10, 10, 5000, 10].map(event).into();
    let bytes_max = 2 * message_bytes(&waiting[0]);
    let sizes: Vec<_> =
        std::iter::from_fn(|| Some(cut(&mut waiting, 100, bytes_max).len()).filter(|n| *n > 0)).collect();
    assert_eq!(sizes, [2, 1, 1, 1], "a message may be too large only if it is one event");
    let mut waiting: VecDeque<_> = [1, 1, 1, 1, 1].map(event).into();
    let sizes: Vec<_> = std::iter::from_fn(|| Some(cut(&mut waiting, 2, 1 << 20).len()).filter(|n| *n > 0)).collect();
    assert_eq!(sizes, [2, 2, 1]);
}

fn error_type(status: &tonic::Status) -> ErrorType {
    v1::ErrorResponse::decode(status.details()).unwrap().error_type()
}
