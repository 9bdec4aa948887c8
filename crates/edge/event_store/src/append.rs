//! Append to streams, delete streams.

use daybook_command::{ProposeError, Stage};
use daybook_event::{IllegalStreamName, NewEvent, StreamName};
use daybook_types::{Lsn, Position, StreamVersion};
use thiserror::Error;

use crate::store::EventStore;

/// What a stream must be for an append to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Any,
    /// Never written, or soft-deleted and not written since.
    NoStream,
    /// Written and not deleted.
    Exists,
    /// Soft-deleted and not written since.
    SoftDeleted,
    /// The version of its last event.
    Exact(StreamVersion),
}

/// What a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamState {
    /// Never written.
    None,
    /// Version of its last event.
    At(StreamVersion),
    /// Soft-deleted; the version of its last event.
    SoftDeleted(StreamVersion),
    /// Ended for ever.
    Tombstoned,
}

/// Events for one stream. Without events the stream is only checked.
#[derive(Clone, Debug)]
pub struct StreamAppend {
    pub stream: StreamName,
    pub expected: Expected,
    pub events: Vec<NewEvent>,
}

/// One atomic append: all of it or nothing, in one entry, visible at one LSN.
#[derive(Clone, Debug, Default)]
pub struct Append {
    /// A stream stands here at most once.
    pub streams: Vec<StreamAppend>,
    /// Events of no stream (DCB), after those of streams; they live in topic `_events`.
    pub events: Vec<NewEvent>,
    pub condition: Option<Condition>,
}

/// Nothing is appended if an event matches `unless` after `after` (`None`: any event at all).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub unless: Query,
    pub after: Option<Position>,
}

/// Matches an event if one of its items does. Without items it matches every event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub items: Vec<QueryItem>,
}

/// Matches an event that has one of `types` (any if empty) and all of `tags`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryItem {
    pub types: Vec<String>,
    pub tags: Vec<String>,
}

/// The answer to an append; a retry gets the first one again, but for its LSN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    pub lsn: Lsn,
    /// What the answer waited for.
    pub stage: Stage,
    /// One a stream of the append that had events, in its order.
    pub streams: Vec<StreamAppended>,
    /// Position of the last event of the append.
    pub last_position: Option<Position>,
    /// Nothing was written: all of it had been before.
    pub repeated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamAppended {
    pub stream: StreamName,
    pub first_version: StreamVersion,
    pub last_version: StreamVersion,
    /// Position of its last event in this append.
    pub last_position: Position,
}

/// A stream that is not what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub stream: StreamName,
    pub expected: Expected,
    pub actual: StreamState,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AppendError {
    #[error("{}", conflicts_text(.0))]
    Conflict(Vec<Conflict>),
    #[error("stream {stream} was deleted for ever; write to another one")]
    Tombstoned { stream: StreamName },
    #[error("an event at position {position} matches the append's condition; read on from there and decide again")]
    ConditionFailed { position: Position },
    /// Some events were appended by an earlier request, others not.
    #[error("stream {stream} has some of these events already, but not all in this order; send new ids for new events")]
    PartlyRepeated { stream: StreamName },
    #[error("the id {id} stands twice in one append; every event needs its own")]
    RepeatedId { id: String },
    #[error("stream {stream} stands twice in one append")]
    RepeatedStream { stream: StreamName },
    #[error("the append has {bytes} bytes, at most {bytes_max} are possible; send it in parts")]
    TooLarge { bytes: usize, bytes_max: usize },
    #[error("topic {topic} has no stream index; set its config daybook.streams to true")]
    NoEventTopic { topic: String },
    #[error("the stream index of topic {topic} is being built; try again")]
    Indexing { topic: String },
    #[error("the append has no event")]
    Empty,
    #[error(transparent)]
    Name(#[from] IllegalStreamName),
    #[error("stream metadata: {cause}")]
    Metadata { cause: String },
    #[error(transparent)]
    Propose(#[from] ProposeError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteKind {
    /// Its events go, its versions go on: the stream may be written again.
    Soft,
    /// It may never be written again.
    Tombstone,
}

#[derive(Clone, Debug)]
pub struct Delete {
    pub stream: StreamName,
    pub expected: Expected,
    pub kind: DeleteKind,
}

impl EventStore {
    /// Appends all or nothing. The answer comes when it is applied: durable, committed and visible to every reader.
    pub async fn append(&self, _append: Append) -> Result<Appended, AppendError> {
        Err(AppendError::Empty)
    }

    /// Deletes a stream. The answer's position is that of the event that says so.
    pub async fn delete(&self, _delete: Delete) -> Result<Appended, AppendError> {
        Err(AppendError::Empty)
    }
}

fn conflicts_text(conflicts: &[Conflict]) -> String {
    let text = |conflict: &Conflict| {
        let expected = match conflict.expected {
            Expected::Any => "any version".to_owned(),
            Expected::NoStream => "no stream".to_owned(),
            Expected::Exists => "a stream".to_owned(),
            Expected::SoftDeleted => "a deleted stream".to_owned(),
            Expected::Exact(version) => format!("version {version}"),
        };
        let actual = match conflict.actual {
            StreamState::None => "does not exist".to_owned(),
            StreamState::At(version) => format!("is at version {version}"),
            StreamState::SoftDeleted(version) => format!("is deleted, its last version was {version}"),
            StreamState::Tombstoned => "was deleted for ever".to_owned(),
        };
        format!("stream {}: expected {expected}, but it {actual}", conflict.stream)
    };
    conflicts.iter().map(text).collect::<Vec<_>>().join("; ")
}
