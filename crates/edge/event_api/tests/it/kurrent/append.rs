//! Append, with every expectation.

use daybook_event_api::proto::event_store::client::Empty;
use daybook_event_api::proto::event_store::client::streams::append_resp::Result as Answer;
use daybook_event_api::proto::event_store::client::streams::append_resp::success::{
    CurrentRevisionOption, PositionOption,
};
use daybook_event_api::proto::event_store::client::streams::append_resp::wrong_expected_version as wrong;
use tonic::Code;

use super::{
    ANY, EXISTS, Expected, NO_STREAM, append_events, event, events, from_start, metadata_of, numbers, read,
    read_options, revision, streams,
};
use crate::harness::Node;

#[tokio::test(flavor = "multi_thread")]
async fn every_expectation_is_kept() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let one = |number| vec![event(number, "t")];
    assert_eq!(revision(append_events(&mut streams, "s-1", NO_STREAM, one(0)).await.unwrap()), 0);
    assert_eq!(revision(append_events(&mut streams, "s-1", Expected::Revision(0), one(1)).await.unwrap()), 1);
    assert_eq!(revision(append_events(&mut streams, "s-1", EXISTS, one(2)).await.unwrap()), 2);
    assert_eq!(revision(append_events(&mut streams, "s-1", ANY, one(3)).await.unwrap()), 3);

    let Answer::WrongExpectedVersion(answer) =
        append_events(&mut streams, "s-1", Expected::Revision(1), one(4)).await.unwrap()
    else {
        panic!("appended")
    };
    assert_eq!(answer.current_revision_option, Some(wrong::CurrentRevisionOption::CurrentRevision(3)));
    assert_eq!(answer.current_revision_option_20_6_0, Some(wrong::CurrentRevisionOption2060::CurrentRevision2060(3)));
    assert_eq!(answer.expected_revision_option, Some(wrong::ExpectedRevisionOption::ExpectedRevision(1)));

    let Answer::WrongExpectedVersion(answer) = append_events(&mut streams, "s-2", EXISTS, one(5)).await.unwrap() else {
        panic!("appended")
    };
    assert_eq!(answer.current_revision_option, Some(wrong::CurrentRevisionOption::CurrentNoStream(Empty {})));
    assert_eq!(answer.expected_revision_option, Some(wrong::ExpectedRevisionOption::ExpectedStreamExists(Empty {})));

    let Answer::WrongExpectedVersion(answer) = append_events(&mut streams, "s-1", NO_STREAM, one(6)).await.unwrap()
    else {
        panic!("appended")
    };
    assert_eq!(answer.expected_revision_option, Some(wrong::ExpectedRevisionOption::ExpectedNoStream(Empty {})));
    assert_eq!(
        answer.expected_revision_option_20_6_0,
        Some(wrong::ExpectedRevisionOption2060::ExpectedRevision2060(u64::MAX))
    );
    let all = events(read(&mut streams, read_options(from_start("s-1"))).await.unwrap());
    assert_eq!(numbers(&all), [0, 1, 2, 3], "what was refused is not there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_gets_the_first_answer_and_half_a_retry_a_conflict() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let batch = || vec![event(0, "t"), event(1, "t")];
    let first = append_events(&mut streams, "s-1", NO_STREAM, batch()).await.unwrap();
    let again = append_events(&mut streams, "s-1", NO_STREAM, batch()).await.unwrap();
    assert_eq!(first, again);
    let half = append_events(&mut streams, "s-1", ANY, vec![event(1, "t"), event(2, "t")]).await.unwrap();
    assert!(matches!(half, Answer::WrongExpectedVersion(_)), "{half:?}");
    let all = events(read(&mut streams, read_options(from_start("s-1"))).await.unwrap());
    assert_eq!(numbers(&all), [0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_of_nothing_says_where_the_stream_is() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let Answer::Success(success) = append_events(&mut streams, "s-1", ANY, Vec::new()).await.unwrap() else {
        panic!("refused")
    };
    assert_eq!(success.current_revision_option, Some(CurrentRevisionOption::NoStream(Empty {})));
    assert_eq!(success.position_option, Some(PositionOption::NoPosition(Empty {})));
    append_events(&mut streams, "s-1", ANY, vec![event(0, "t")]).await.unwrap();
    assert_eq!(revision(append_events(&mut streams, "s-1", EXISTS, Vec::new()).await.unwrap()), 0);
    let refused = append_events(&mut streams, "s-1", NO_STREAM, Vec::new()).await.unwrap();
    assert!(matches!(refused, Answer::WrongExpectedVersion(_)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_event_must_have_is_asked_for() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let mut without_type = event(0, "t");
    without_type.metadata.remove("type");
    let refused = append_events(&mut streams, "s-1", ANY, vec![without_type]).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(metadata_of(&refused, "exception"), Some("missing-required-metadata-property"));
    let mut without_id = event(0, "t");
    without_id.id = None;
    let refused = append_events(&mut streams, "s-1", ANY, vec![without_id]).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_with_the_limit() {
    let node = Node::start().await;
    let options = daybook_event_api::kurrent::Options {
        append_bytes_max: 4096,
        event_bytes_max: 2048,
        ..daybook_event_api::kurrent::Options::default()
    };
    let mut streams = super::Streams::new(daybook_event_api::kurrent::routes(node.store.clone(), options));
    let sized = |number, bytes: usize| {
        let mut event = event(number, "t");
        event.data = vec![b'x'; bytes].into();
        event
    };
    let refused = append_events(&mut streams, "s-1", ANY, vec![sized(0, 2048)]).await.unwrap_err();
    assert_eq!(metadata_of(&refused, "exception"), Some("maximum-append-event-size-exceeded"));
    let refused = append_events(&mut streams, "s-1", ANY, (0..3).map(|n| sized(n, 1500)).collect()).await.unwrap_err();
    assert_eq!(metadata_of(&refused, "exception"), Some("maximum-append-size-exceeded"));
    assert_eq!(metadata_of(&refused, "maximum-append-size"), Some("4096"));
}
