//! What was done and what was found. Times are ticks of one counter, so that of two of them one is the earlier.

use std::collections::BTreeMap;

/// What a client wants appended. Sent again, it is the same request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// A stream stands here at most once.
    pub streams: Vec<StreamPart>,
    /// Events of no stream, after those of streams.
    pub loose: u32,
    /// Every event of the request has it.
    pub tag: Option<String>,
    pub condition: Option<Condition>,
    /// Produced by a Kafka client, for whom a retry is not known by its id.
    pub by_kafka: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPart {
    pub stream: String,
    pub expected: Expected,
    /// Without events the stream is only checked.
    pub events: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Any,
    NoStream,
    /// The version of its last event.
    Exact(u64),
}

/// No event with the tag stands after `after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub tag: String,
    pub after: Option<u64>,
}

/// One sending of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Its place among the requests.
    pub request: u32,
    pub begin: u64,
    pub end: u64,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Appended {
        /// One a stream that had events, in the request's order.
        spans: Vec<Span>,
        last_position: u64,
        repeated: bool,
    },
    /// What Kafka's producers are told.
    Produced {
        partition: i32,
        offset: i64,
    },
    /// The streams that are not as expected, by their place in the request.
    Conflict(Vec<(usize, Actual)>),
    ConditionFailed {
        position: u64,
    },
    /// Refused by what its one stream is, without being told what it is.
    Refused,
    /// The server was killed, or said that it doesn't know.
    Unknown,
}

/// Versions that a stream's part got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub first_version: u64,
    pub last_version: u64,
    pub last_position: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actual {
    None,
    At(u64),
}

/// A look at the end of a stream or of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub begin: u64,
    pub end: u64,
    pub at: LookedAt,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookedAt {
    Stream {
        stream: String,
        last_version: Option<u64>,
    },
    /// Position of the last event that has it.
    Tag {
        tag: String,
        last_position: Option<u64>,
    },
}

/// An event as the store gives it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub stream: Option<String>,
    pub version: Option<u64>,
    pub position: u64,
    pub id: String,
    pub data: Vec<u8>,
    pub tags: Vec<String>,
    pub partition: i32,
    pub offset: i64,
}

/// The same as Kafka's consumers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRecord {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub key: Option<String>,
    pub id: String,
    pub data: Vec<u8>,
}

/// What is there when all is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub all: Vec<Event>,
    /// Every stream of any request, read by itself.
    pub streams: BTreeMap<String, Vec<Event>>,
    pub records: Vec<TopicRecord>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub requests: Vec<Request>,
    pub attempts: Vec<Attempt>,
    pub looks: Vec<Look>,
    pub found: Found,
}

impl Expected {
    /// As HTTP and Kafka have it.
    pub fn text(self) -> String {
        match self {
            Self::Any => "any".to_owned(),
            Self::NoStream => "-1".to_owned(),
            Self::Exact(version) => version.to_string(),
        }
    }
}

impl Request {
    /// Every event's number, and its stream.
    pub fn events(&self) -> impl Iterator<Item = (u32, Option<&str>)> {
        let of_streams = self.streams.iter().flat_map(|part| (0..part.events).map(|_| Some(part.stream.as_str())));
        let loose = (0..self.loose).map(|_| None);
        of_streams.chain(loose).zip(0..).map(|(stream, number)| (number, stream))
    }

    /// Number of the first event of a stream's part.
    pub fn first_number(&self, part: usize) -> u32 {
        self.streams[..part].iter().map(|part| part.events).sum()
    }
}

/// Id of a request's event.
pub fn event_id(request: u32, number: u32) -> String {
    format!("r{request}-{number}")
}

/// Its data: JSON that no other event has, with its members in the order that every JSON library keeps.
pub fn event_data(request: u32, number: u32) -> Vec<u8> {
    let padding = "x".repeat(request as usize % 97);
    format!(r#"{{"number":{number},"padding":"{padding}","request":{request}}}"#).into_bytes()
}

/// Topic of a stream, or of events of no stream.
pub fn topic_of(stream: Option<&str>) -> &str {
    stream.map_or("_events", |name| name.split_once('-').map_or(name, |(category, _)| category))
}
