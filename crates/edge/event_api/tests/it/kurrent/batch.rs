//! BatchAppend.

use daybook_event_api::proto::event_store::client::streams::batch_append_req::options::{
    DeadlineOption, ExpectedStreamPosition,
};
use daybook_event_api::proto::event_store::client::streams::batch_append_req::{Options, ProposedMessage};
use daybook_event_api::proto::event_store::client::streams::batch_append_resp::Result as Answer;
use daybook_event_api::proto::event_store::client::streams::batch_append_resp::success::CurrentRevisionOption;
use daybook_event_api::proto::event_store::client::streams::{BatchAppendReq, BatchAppendResp};
use daybook_event_api::proto::event_store::client::wrong_expected_version::CurrentStreamRevisionOption;
use daybook_event_api::proto::event_store::client::{Timeout, Uuid, WrongExpectedVersion};
use daybook_event_api::proto::google::rpc;
use futures::stream;
use prost::Message;
use tokio::time::timeout;

use super::{Streams, events, from_start, id, identifier, metadata, numbers, read, read_options, streams};
use crate::harness::{Node, PATIENCE};

fn options(stream: &str, expected: ExpectedStreamPosition) -> Option<Options> {
    Some(Options {
        stream_identifier: identifier(stream),
        expected_stream_position: Some(expected),
        deadline_option: Some(DeadlineOption::Deadline(prost_types::Duration { seconds: 60, nanos: 0 })),
    })
}

fn part(correlation: u64, options: Option<Options>, numbers: std::ops::Range<u64>, is_final: bool) -> BatchAppendReq {
    let event = |number: u64| ProposedMessage {
        id: id(number),
        metadata: metadata("t"),
        custom_metadata: Default::default(),
        data: number.to_string().into(),
    };
    BatchAppendReq {
        correlation_id: id(correlation),
        options,
        proposed_messages: numbers.map(event).collect(),
        is_final,
    }
}

async fn batch(streams: &mut Streams, requests: Vec<BatchAppendReq>) -> Vec<BatchAppendResp> {
    let mut answers = streams.batch_append(stream::iter(requests)).await.unwrap().into_inner();
    let mut all = Vec::new();
    while let Some(answer) = timeout(PATIENCE, answers.message()).await.expect("an answer in time").unwrap() {
        all.push(answer);
    }
    all
}

fn answer_to(answers: &[BatchAppendResp], correlation: u64) -> &Answer {
    let is_it = |id: &Option<Uuid>| *id == super::id(correlation);
    answers.iter().find(|answer| is_it(&answer.correlation_id)).unwrap().result.as_ref().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_come_in_parts_and_are_answered_one_by_one() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let requests = vec![
        part(1, options("s-1", ExpectedStreamPosition::NoStream(())), 0..2, false),
        part(2, options("s-2", ExpectedStreamPosition::Any(())), 10..11, true),
        part(1, None, 2..3, true),
        part(3, options("s-1", ExpectedStreamPosition::StreamPosition(2)), 3..4, true),
        part(4, options("s-1", ExpectedStreamPosition::StreamPosition(7)), 4..5, true),
        part(5, options("s-3", ExpectedStreamPosition::Any(())), 5..6, false),
    ];
    let answers = batch(&mut streams, requests).await;
    assert_eq!(answers.len(), 4, "the fifth never became whole");
    for (correlation, revision) in [(1, 2), (2, 0), (3, 3)] {
        let Answer::Success(success) = answer_to(&answers, correlation) else { panic!("{answers:?}") };
        assert_eq!(success.current_revision_option, Some(CurrentRevisionOption::CurrentRevision(revision)));
    }
    let Answer::Error(error) = answer_to(&answers, 4) else { panic!("{answers:?}") };
    assert_eq!(error.code(), rpc::Code::AlreadyExists);
    let details = error.details.as_ref().unwrap();
    assert_eq!(details.type_url, "type.googleapis.com/event_store.client.WrongExpectedVersion");
    let wrong = WrongExpectedVersion::decode(&details.value[..]).unwrap();
    assert_eq!(wrong.current_stream_revision_option, Some(CurrentStreamRevisionOption::CurrentStreamRevision(3)));
    let all = events(read(&mut streams, read_options(from_start("s-1"))).await.unwrap());
    assert_eq!(numbers(&all), [0, 1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_of_one_call_keep_their_order() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let requests = (0..200)
        .map(|number: u64| {
            let expected = match number.checked_sub(1) {
                Some(last) => ExpectedStreamPosition::StreamPosition(last),
                None => ExpectedStreamPosition::NoStream(()),
            };
            part(1000 + number, options("s-1", expected), number..number + 1, true)
        })
        .collect();
    let answers = batch(&mut streams, requests).await;
    assert_eq!(answers.len(), 200);
    for answer in &answers {
        assert!(matches!(answer.result, Some(Answer::Success(_))), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_whose_time_is_over_is_answered_so() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let mut late = options("s-1", ExpectedStreamPosition::Any(()));
    late.as_mut().unwrap().deadline_option =
        Some(DeadlineOption::Deadline21100(prost_types::Timestamp { seconds: 1_000_000_000, nanos: 0 }));
    let answers = batch(&mut streams, vec![part(1, late, 0..1, true)]).await;
    let Answer::Error(error) = answer_to(&answers, 1) else { panic!("{answers:?}") };
    assert_eq!(error.code(), rpc::Code::DeadlineExceeded);
    assert!(Timeout::decode(&error.details.as_ref().unwrap().value[..]).is_ok());

    // One whose rest does not come, on a call that stays open.
    let mut soon = options("s-1", ExpectedStreamPosition::Any(()));
    soon.as_mut().unwrap().deadline_option =
        Some(DeadlineOption::Deadline(prost_types::Duration { seconds: 0, nanos: 50_000_000 }));
    let requests = stream::StreamExt::chain(stream::iter([part(2, soon, 1..2, false)]), stream::pending());
    let mut answers = streams.batch_append(requests).await.unwrap().into_inner();
    let answer = timeout(PATIENCE, answers.message()).await.expect("an answer in time").unwrap().unwrap();
    assert!(matches!(answer.result, Some(Answer::Error(ref error)) if error.code() == rpc::Code::DeadlineExceeded));
    let contents = read(&mut streams, read_options(from_start("s-1"))).await.unwrap();
    assert!(events(contents).is_empty(), "neither was appended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_makes_no_sense_fails_alone() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let requests = vec![
        part(1, options("", ExpectedStreamPosition::Any(())), 0..1, true),
        part(2, options("s-1", ExpectedStreamPosition::Any(())), 1..2, true),
    ];
    let answers = batch(&mut streams, requests).await;
    let Answer::Error(error) = answer_to(&answers, 1) else { panic!("{answers:?}") };
    assert_eq!((error.code(), error.message.as_str()), (rpc::Code::InvalidArgument, "BadRequest"));
    assert!(matches!(answer_to(&answers, 2), Answer::Success(_)));
}
