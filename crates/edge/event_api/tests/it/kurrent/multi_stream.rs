//! The second protocol: several streams in one append.

use daybook_event_api::kurrent::{Options, routes};
use daybook_event_api::proto::kurrentdb::protocol::v2::streams::errors::{
    AppendConsistencyViolationErrorDetails, ConsistencyViolation, StreamRevisionConflictErrorDetails,
    consistency_violation,
};
use daybook_event_api::proto::kurrentdb::protocol::v2::streams::streams_service_client::StreamsServiceClient;
use daybook_event_api::proto::kurrentdb::protocol::v2::streams::{
    AppendRecord, AppendRecordsRequest, AppendRequest, ConsistencyCheck, SchemaFormat, SchemaInfo, StreamRevision,
    consistency_check,
};
use futures::stream;
use prost::Message;
use tonic::service::Routes;
use tonic::{Code, Status};

use super::{all_from_start, append, events, from_start, numbers, read, read_options, streams};
use crate::harness::Node;

type Client = StreamsServiceClient<Routes>;

fn client(node: &Node) -> Client {
    StreamsServiceClient::new(routes(node.store.clone(), Options::default()))
}

fn record(number: u64, stream: Option<&str>) -> AppendRecord {
    AppendRecord {
        record_id: Some(format!("00000000-0000-4000-8000-{number:012x}")),
        properties: Default::default(),
        schema: Some(SchemaInfo { format: SchemaFormat::Json.into(), name: "t".to_owned(), id: None }),
        data: number.to_string().into(),
        stream: stream.map(str::to_owned),
    }
}

fn request(stream: &str, expected_revision: Option<i64>, numbers: std::ops::Range<u64>) -> AppendRequest {
    let records = numbers.map(|number| record(number, None)).collect();
    AppendRequest { stream: stream.to_owned(), records, expected_revision }
}

fn check(stream: &str, expected_state: i64) -> ConsistencyCheck {
    let state = consistency_check::StreamStateCheck { stream: stream.to_owned(), expected_state };
    ConsistencyCheck { r#type: Some(consistency_check::Type::StreamState(state)) }
}

/// The detail of an error that is of this message.
fn detail<M: Message + Default>(status: &Status, name: &str) -> M {
    #[derive(Clone, PartialEq, Message)]
    struct Whole {
        #[prost(message, repeated, tag = "3")]
        details: Vec<prost_types::Any>,
    }
    let whole = Whole::decode(status.details()).unwrap();
    let detail = whole.details.iter().find(|detail| detail.type_url.ends_with(name)).unwrap();
    M::decode(&detail.value[..]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_writes_all_its_streams_or_none() {
    let node = Node::start().await;
    let (mut client, mut streams) = (client(&node), streams(&node));
    let requests = [request("a-1", Some(-1), 0..2), request("b-1", None, 2..3)];
    let answer = client.append_session(stream::iter(requests)).await.unwrap().into_inner();
    let output: Vec<_> = answer.output.iter().map(|one| (one.stream.as_str(), one.stream_revision)).collect();
    assert_eq!((output, answer.position), (vec![("a-1", 1), ("b-1", 0)], 2));

    let requests = [request("a-1", Some(1), 3..4), request("b-1", Some(7), 4..5)];
    let refused = client.append_session(stream::iter(requests)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let conflict: StreamRevisionConflictErrorDetails = detail(&refused, "StreamRevisionConflictErrorDetails");
    assert_eq!((conflict.stream.as_str(), conflict.expected_revision, conflict.actual_revision), ("b-1", 7, 0));
    let all = events(read(&mut streams, read_options(all_from_start())).await.unwrap());
    assert_eq!(numbers(&all), [0, 1, 2], "nothing of the second was written");
    let metadata: serde_json::Value = serde_json::from_slice(&all[0].event.as_ref().unwrap().custom_metadata).unwrap();
    assert_eq!(metadata, serde_json::json!({ "$schema.name": "t", "$schema.format": "Json" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_makes_no_sense_is_refused() {
    let node = Node::start().await;
    let mut client = client(&node);
    let refused = client.append_session(stream::iter([])).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let twice = [request("a-1", None, 0..1), request("a-1", None, 1..2)];
    assert_eq!(client.append_session(stream::iter(twice)).await.unwrap_err().code(), Code::Aborted);
    let deleted = [request("a-1", Some(-5), 0..1)];
    assert_eq!(client.append_session(stream::iter(deleted)).await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(node.store.end().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_written_if_all_checks_hold_also_of_streams_not_written() {
    let node = Node::start().await;
    let (mut client, mut streams) = (client(&node), streams(&node));
    append(&mut streams, "limit-1", 100..102).await;
    let write = |checks: Vec<ConsistencyCheck>, first: u64| AppendRecordsRequest {
        records: vec![record(first, Some("a-1")), record(first + 1, Some("b-1")), record(first + 2, Some("a-1"))],
        checks,
    };
    let checks = vec![check("limit-1", 1), check("a-1", -1), check("other-1", -1)];
    let mut answer = client.append_records(write(checks, 0)).await.unwrap().into_inner();
    answer.revisions.sort_by(|a, b| a.stream.cmp(&b.stream));
    let revision = |stream: &str, revision| StreamRevision { stream: stream.to_owned(), revision };
    assert_eq!(answer.revisions, [revision("a-1", 1), revision("b-1", 0)]);
    let found = events(read(&mut streams, read_options(from_start("a-1"))).await.unwrap());
    assert_eq!(numbers(&found), [0, 2]);

    let checks = vec![check("limit-1", 0), check("a-1", 1), check("other-1", -4)];
    let refused = client.append_records(write(checks, 10)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let details: AppendConsistencyViolationErrorDetails = detail(&refused, "AppendConsistencyViolationErrorDetails");
    let violations: Vec<_> = details
        .violations
        .into_iter()
        .map(|violation| {
            let Some(consistency_violation::Type::StreamState(state)) = violation.r#type else { panic!("no state") };
            (violation.check_index, state.stream, state.expected_state, state.actual_state)
        })
        .collect();
    assert_eq!(violations, [(0, "limit-1".to_owned(), 0, 1), (2, "other-1".to_owned(), -4, -1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_deleted_for_ever_is_no_stream_to_a_check_and_no_target() {
    let node = Node::start().await;
    let (mut client, mut streams) = (client(&node), streams(&node));
    let write = |number, to: &str, checks| AppendRecordsRequest { records: vec![record(number, Some(to))], checks };
    let violated = |status: Status| {
        let details: AppendConsistencyViolationErrorDetails = detail(&status, "AppendConsistencyViolationErrorDetails");
        let state = |violation: ConsistencyViolation| match violation.r#type {
            Some(consistency_violation::Type::StreamState(state)) => (violation.check_index, state.actual_state),
            None => panic!("no state"),
        };
        details.violations.into_iter().map(state).collect::<Vec<_>>()
    };
    let refused = client.append_records(write(0, "a-1", vec![check("gone-1", -6)])).await.unwrap_err();
    assert_eq!(violated(refused), [(0, -1)], "it isn't gone yet");
    append(&mut streams, "gone-1", 100..101).await;
    let delete = daybook_event_store::Delete {
        stream: daybook_event_store::StreamName::new("gone-1").unwrap(),
        expected: daybook_event_store::Expected::Any,
        kind: daybook_event_store::DeleteKind::Tombstone,
    };
    node.store.delete(delete).await.unwrap();
    client.append_records(write(0, "a-1", vec![check("gone-1", -6)])).await.unwrap();
    client.append_records(write(1, "a-1", vec![check("gone-1", -1), check("a-1", 0)])).await.unwrap();
    let refused = client.append_records(write(2, "gone-1", Vec::new())).await.unwrap_err();
    assert_eq!(violated(refused), [(0, -6)]);
    let checks = vec![check("other-1", 3), check("gone-1", -4), check("a-1", 1)];
    let refused = client.append_records(write(3, "a-1", checks)).await.unwrap_err();
    assert_eq!(violated(refused), [(0, -1), (1, -6)], "all that fail, not the first alone");
    assert_eq!(numbers(&events(read(&mut streams, read_options(from_start("a-1"))).await.unwrap())), [0, 1]);
}
