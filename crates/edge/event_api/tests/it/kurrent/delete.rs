//! Delete, Tombstone and what they leave behind; metadata streams.

use daybook_event_api::proto::event_store::client::Empty;
use daybook_event_api::proto::event_store::client::streams::append_resp::Result as Answer;
use daybook_event_api::proto::event_store::client::streams::read_resp::Content;
use daybook_event_api::proto::event_store::client::streams::{
    DeleteReq, TombstoneReq, delete_req, delete_resp, tombstone_req,
};
use tonic::{Code, Status};

use super::{
    ANY, NO_STREAM, Streams, all_from_start, append, append_events, event, events, from_start, identifier, metadata_of,
    numbers, read, read_options, revision, streams,
};
use crate::harness::Node;

type Expected = delete_req::options::ExpectedStreamRevision;

async fn delete(streams: &mut Streams, stream: &str, expected: Expected) -> Result<u64, Status> {
    let options =
        delete_req::Options { stream_identifier: identifier(stream), expected_stream_revision: Some(expected) };
    let answer = streams.delete(DeleteReq { options: Some(options) }).await?.into_inner();
    match answer.position_option {
        Some(delete_resp::PositionOption::Position(position)) => Ok(position.commit_position),
        other => panic!("{other:?}"),
    }
}

async fn tombstone(streams: &mut Streams, stream: &str) -> Result<(), Status> {
    let options = tombstone_req::Options {
        stream_identifier: identifier(stream),
        expected_stream_revision: Some(tombstone_req::options::ExpectedStreamRevision::Any(Empty {})),
    };
    streams.tombstone(TombstoneReq { options: Some(options) }).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_stream_is_gone_and_its_versions_go_on() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..3).await;
    assert_eq!(delete(&mut streams, "s-1", Expected::Revision(2)).await.unwrap(), 3);
    let contents = read(&mut streams, read_options(from_start("s-1"))).await.unwrap();
    assert!(matches!(contents[..], [Content::StreamNotFound(_)]), "{contents:?}");

    let answer = append_events(&mut streams, "s-1", NO_STREAM, vec![event(0, "t")]).await.unwrap();
    assert_eq!(revision(answer), 3, "an id used before the deletion is a new event after it");
    let all = events(read(&mut streams, read_options(from_start("s-1"))).await.unwrap());
    assert_eq!((numbers(&all), all[0].event.as_ref().unwrap().stream_revision), (vec![0], 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_says_what_the_stream_is_instead() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..3).await;
    let refused = delete(&mut streams, "s-1", Expected::Revision(1)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(
        refused.message(),
        "Delete failed due to WrongExpectedVersion. Stream: s-1, Expected version: 1, Actual version: 2"
    );
    assert_eq!(metadata_of(&refused, "exception"), Some("wrong-expected-version"));
    assert_eq!(metadata_of(&refused, "actual-version"), Some("2"));
    let refused = delete(&mut streams, "s-2", Expected::Revision(1)).await.unwrap_err();
    assert!(refused.message().ends_with("Actual version: -1"), "{}", refused.message());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tombstoned_stream_is_an_error_for_ever() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..2).await;
    tombstone(&mut streams, "s-1").await.unwrap();
    let is_deleted = |status: &Status| {
        status.code() == Code::FailedPrecondition
            && metadata_of(status, "exception") == Some("stream-deleted")
            && metadata_of(status, "stream-name") == Some("s-1")
    };
    let refused = read(&mut streams, read_options(from_start("s-1"))).await.unwrap_err();
    assert!(is_deleted(&refused), "{refused:?}");
    let refused = append_events(&mut streams, "s-1", ANY, vec![event(7, "t")]).await.unwrap_err();
    assert!(is_deleted(&refused), "{refused:?}");
    let refused = tombstone(&mut streams, "s-1").await.unwrap_err();
    assert!(is_deleted(&refused), "{refused:?}");
    let all = events(read(&mut streams, read_options(all_from_start())).await.unwrap());
    let last = all.last().unwrap().event.as_ref().unwrap();
    assert_eq!(last.metadata["type"], "$streamDeleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_is_a_stream_that_limits_its_stream() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..5).await;
    let contents = read(&mut streams, read_options(from_start("$$s-1"))).await.unwrap();
    assert!(matches!(contents[..], [Content::StreamNotFound(_)]), "{contents:?}");

    let mut limits = event(100, "$metadata");
    limits.data = br#"{"$maxCount":2,"colour":"blue"}"#.as_slice().into();
    let answer = append_events(&mut streams, "$$s-1", NO_STREAM, vec![limits.clone()]).await.unwrap();
    assert_eq!(revision(answer), 0);
    let kept = events(read(&mut streams, read_options(from_start("s-1"))).await.unwrap());
    assert_eq!(numbers(&kept), [3, 4]);
    let metadata = events(read(&mut streams, read_options(from_start("$$s-1"))).await.unwrap());
    let metadata = metadata[0].event.as_ref().unwrap();
    assert_eq!((&metadata.data, metadata.metadata["type"].as_str()), (&limits.data, "$metadata"));

    let mut nonsense = event(101, "$metadata");
    nonsense.data = b"{\"$maxCount\":\"many\"}".as_slice().into();
    let answer = append_events(&mut streams, "$$s-1", ANY, vec![nonsense]).await;
    assert!(!matches!(answer, Ok(Answer::Success(_))), "{answer:?}");
}
