//! Read streams and `$all`.

use bytes::Bytes;
use daybook_event::{Event, StreamName};
use daybook_types::{FaultKind, Lsn, Offset, PartitionId, Position, StreamVersion, TimestampMs};
use regex::Regex;
use thiserror::Error;

use crate::append::{Query, StreamState};
use crate::store::EventStore;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forwards,
    Backwards,
}

/// Where a read of a stream begins; that event is part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFrom {
    Start,
    End,
    Version(StreamVersion),
}

/// Where a read of `$all` begins; forwards the event at the position is part of it, backwards it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllFrom {
    Start,
    End,
    Position(Position),
}

/// Which events of `$all` are wanted: those that pass every part that is set.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this category: the topic's streams, without metadata streams.
    pub category: Option<String>,
    /// The stream's name begins with one of these.
    pub stream_prefixes: Vec<String>,
    pub stream_regex: Option<Regex>,
    /// The type begins with one of these.
    pub type_prefixes: Vec<String>,
    pub type_regex: Option<Regex>,
    /// Types and tags.
    pub query: Query,
    /// Leave out what the system writes: streams and types that begin with `$`.
    pub without_system: bool,
}

/// An event and all its places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// `None` for an event of no stream.
    pub stream: Option<StreamName>,
    pub version: Option<StreamVersion>,
    pub position: Position,
    pub partition: PartitionId,
    pub offset: Offset,
    /// When it was recorded.
    pub recorded: TimestampMs,
    /// As its producer gave it; else one made of where it stands, always the same.
    pub id: String,
    pub event_type: String,
    pub content_type: String,
    pub data: Bytes,
    pub metadata: Option<Bytes>,
    pub tags: Vec<String>,
    /// When it was true, RFC 3339, where that was given.
    pub time: Option<String>,
    pub headers: Vec<(String, Option<Bytes>)>,
}

/// A part of a stream.
#[derive(Clone, Debug)]
pub struct StreamPage {
    pub events: Vec<Recorded>,
    /// Where the next page begins; `None` at the end (forwards: the stream's end as of this read; backwards: its first event).
    pub next: Option<StreamVersion>,
    /// The stream as of this read.
    pub info: StreamInfo,
}

/// A part of `$all`.
#[derive(Clone, Debug)]
pub struct Page {
    pub events: Vec<Recorded>,
    /// Where the next page begins, past all events that were looked at, whether they passed the filter or not.
    pub next: AllFrom,
    /// Nothing more in this direction as of this read.
    pub at_end: bool,
    /// Position after the last event of the store as of this read.
    pub end: Position,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    pub name: StreamName,
    pub state: StreamState,
    /// First version that may be read; that of the next event if there is none.
    pub first_version: StreamVersion,
    pub next_version: StreamVersion,
    pub last_position: Option<Position>,
    pub settings: StreamSettings,
}

/// What a stream keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamSettings {
    /// Events below this version are gone.
    pub truncate_before: Option<StreamVersion>,
    /// Only so many of its last events are kept.
    pub max_count: Option<u64>,
    /// Only events recorded within this time are kept.
    pub max_age_seconds: Option<u64>,
}

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("stream {stream} does not exist")]
    NoStream { stream: StreamName },
    #[error("stream {stream} was deleted")]
    SoftDeleted { stream: StreamName },
    #[error("stream {stream} was deleted for ever")]
    Tombstoned { stream: StreamName },
    #[error(transparent)]
    Log(#[from] daybook_read::ReadError),
    #[error("{cause}")]
    Index { cause: String },
}

impl ReadError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::NoStream { .. } | Self::SoftDeleted { .. } | Self::Tombstoned { .. } => FaultKind::Reject,
            Self::Log(error) => error.kind(),
            Self::Index { .. } => FaultKind::Corrupt,
        }
    }
}

impl EventStore {
    /// Reads up to `max` events of a stream.
    pub async fn read_stream(
        &self,
        stream: &StreamName,
        _from: StreamFrom,
        _direction: Direction,
        _max: usize,
    ) -> Result<StreamPage, ReadError> {
        Err(ReadError::NoStream { stream: stream.clone() })
    }

    /// What is known of a stream without reading it; its state is `None` if it was never written.
    pub async fn stream_info(&self, stream: &StreamName) -> Result<StreamInfo, ReadError> {
        Err(ReadError::NoStream { stream: stream.clone() })
    }

    /// Reads up to `max` events of all streams that pass the filter, looking at not more than `look_max` events.
    pub async fn read_all(
        &self,
        from: AllFrom,
        _direction: Direction,
        _filter: &Filter,
        _max: usize,
        _look_max: usize,
    ) -> Result<Page, ReadError> {
        Ok(Page { events: Vec::new(), next: from, at_end: true, end: Position(0) })
    }

    /// Names of streams in the order of their bytes, after `after`, with what is known of them. `category`: only of this one.
    pub async fn list_streams(
        &self,
        _category: Option<&str>,
        _after: Option<&StreamName>,
        _max: usize,
    ) -> Result<Vec<StreamInfo>, ReadError> {
        Ok(Vec::new())
    }

    /// All categories: the names of the event topics, and `_streams` where there are streams of no legal topic.
    pub fn categories(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until reads see `lsn`.
    pub async fn wait_applied(&self, lsn: Lsn) {
        self.reader.wait_applied(lsn).await;
    }

    /// Position after the last event.
    pub fn end(&self) -> Position {
        Position(0)
    }
}

#[allow(dead_code)]
fn recorded(_event: Event) {}
