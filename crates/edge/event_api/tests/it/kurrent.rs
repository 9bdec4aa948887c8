//! KurrentDB's protocol, spoken with the client stubs of its own messages.

mod append;
mod batch;
mod connect;
mod delete;
mod multi_stream;
mod persistent;
mod read;
mod subscribe;

use std::collections::HashMap;

use daybook_event_api::kurrent::{Options, routes};
use daybook_event_api::proto::event_store::client::streams::read_req::options as asked;
use daybook_event_api::proto::event_store::client::streams::read_resp::read_event::RecordedEvent;
use daybook_event_api::proto::event_store::client::streams::read_resp::{Content, ReadEvent};
use daybook_event_api::proto::event_store::client::streams::streams_client::StreamsClient;
use daybook_event_api::proto::event_store::client::streams::{
    AppendReq, AppendResp, ReadReq, ReadResp, append_req, append_resp, read_req,
};
use daybook_event_api::proto::event_store::client::{Empty, StreamIdentifier, Uuid, uuid};
use futures::stream;
use tokio::time::timeout;
use tonic::service::Routes;
use tonic::{Status, Streaming};

use crate::harness::{Node, PATIENCE};

pub type Streams = StreamsClient<Routes>;
pub type Expected = append_req::options::ExpectedStreamRevision;

pub const ANY: Expected = Expected::Any(Empty {});
pub const NO_STREAM: Expected = Expected::NoStream(Empty {});
pub const EXISTS: Expected = Expected::StreamExists(Empty {});

pub fn streams(node: &Node) -> Streams {
    StreamsClient::new(routes(node.store.clone(), Options::default()))
}

pub fn identifier(stream: &str) -> Option<StreamIdentifier> {
    Some(StreamIdentifier { stream_name: stream.to_owned().into() })
}

/// A UUID of a number, so that a test can repeat it.
pub fn id(number: u64) -> Option<Uuid> {
    Some(Uuid { value: Some(uuid::Value::String(format!("00000000-0000-4000-8000-{number:012x}"))) })
}

pub fn metadata(event_type: &str) -> HashMap<String, String> {
    [("type", event_type), ("content-type", "application/json")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
}

/// An event of this number and type; its data is the number.
pub fn event(number: u64, event_type: &str) -> append_req::ProposedMessage {
    append_req::ProposedMessage {
        id: id(number),
        metadata: metadata(event_type),
        custom_metadata: b"{}".as_slice().into(),
        data: number.to_string().into(),
    }
}

pub async fn append_events(
    streams: &mut Streams,
    stream: &str,
    expected: Expected,
    events: Vec<append_req::ProposedMessage>,
) -> Result<append_resp::Result, Status> {
    let options =
        append_req::Options { stream_identifier: identifier(stream), expected_stream_revision: Some(expected) };
    let contents = std::iter::once(append_req::Content::Options(options))
        .chain(events.into_iter().map(append_req::Content::ProposedMessage));
    let requests: Vec<AppendReq> = contents.map(|content| AppendReq { content: Some(content) }).collect();
    let answer: AppendResp = streams.append(stream::iter(requests)).await?.into_inner();
    Ok(answer.result.unwrap())
}

/// Appends events of these numbers, of type `t`, whatever the stream is. Returns its revision.
pub async fn append(streams: &mut Streams, stream: &str, numbers: std::ops::Range<u64>) -> u64 {
    let events = numbers.map(|number| event(number, "t")).collect();
    revision(append_events(streams, stream, ANY, events).await.unwrap())
}

pub fn revision(answer: append_resp::Result) -> u64 {
    let append_resp::Result::Success(success) = answer else { panic!("{answer:?}") };
    match success.current_revision_option {
        Some(append_resp::success::CurrentRevisionOption::CurrentRevision(revision)) => revision,
        other => panic!("{other:?}"),
    }
}

/// A read of 1,000 events, forwards, links followed, to be changed as a test needs.
pub fn read_options(stream_option: asked::StreamOption) -> read_req::Options {
    read_req::Options {
        stream_option: Some(stream_option),
        resolve_links: true,
        count_option: Some(asked::CountOption::Count(1000)),
        filter_option: Some(asked::FilterOption::NoFilter(Empty {})),
        uuid_option: Some(asked::UuidOption { content: Some(asked::uuid_option::Content::String(Empty {})) }),
        control_option: Some(asked::ControlOption { compatibility: 1 }),
        ..read_req::Options::default()
    }
}

pub fn of_stream(stream: &str, from: asked::stream_options::RevisionOption) -> asked::StreamOption {
    asked::StreamOption::Stream(asked::StreamOptions {
        stream_identifier: identifier(stream),
        revision_option: Some(from),
    })
}

pub fn from_start(stream: &str) -> asked::StreamOption {
    of_stream(stream, asked::stream_options::RevisionOption::Start(Empty {}))
}

pub fn of_all(from: asked::all_options::AllOption) -> asked::StreamOption {
    asked::StreamOption::All(asked::AllOptions { all_option: Some(from) })
}

pub fn all_from_start() -> asked::StreamOption {
    of_all(asked::all_options::AllOption::Start(Empty {}))
}

pub async fn open(streams: &mut Streams, options: read_req::Options) -> Result<Streaming<ReadResp>, Status> {
    Ok(streams.read(ReadReq { options: Some(options) }).await?.into_inner())
}

/// The next message, or the error that ends the call.
pub async fn next(answers: &mut Streaming<ReadResp>) -> Result<Option<Content>, Status> {
    let message = timeout(PATIENCE, answers.message()).await.expect("an answer in time")?;
    Ok(message.map(|message| message.content.unwrap()))
}

/// All messages of a read that ends.
pub async fn read(streams: &mut Streams, options: read_req::Options) -> Result<Vec<Content>, Status> {
    let mut answers = open(streams, options).await?;
    let mut contents = Vec::new();
    while let Some(content) = next(&mut answers).await? {
        contents.push(content);
    }
    Ok(contents)
}

/// Those of the messages that are events.
pub fn events(contents: Vec<Content>) -> Vec<ReadEvent> {
    contents
        .into_iter()
        .filter_map(|content| match content {
            Content::Event(event) => Some(event),
            _ => None,
        })
        .collect()
}

/// What the tests' events say of themselves: their number.
pub fn number(event: &RecordedEvent) -> u64 {
    std::str::from_utf8(&event.data).unwrap().parse().unwrap()
}

pub fn numbers(events: &[ReadEvent]) -> Vec<u64> {
    events.iter().map(|event| number(event.event.as_ref().unwrap())).collect()
}

pub fn metadata_of<'a>(status: &'a Status, key: &str) -> Option<&'a str> {
    status.metadata().get(key).and_then(|value| value.to_str().ok())
}
