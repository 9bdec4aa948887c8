//! Append events to streams, on conditions; index records that were there before their topic became an event topic.

use std::fmt;

use bytes::Bytes;
use daybook_types::{Offset, PartitionId, Position, StreamVersion, TopicId};
use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};

/// All of it or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppendEvents {
    /// Every stream that is written, and those only checked. Each once.
    pub streams: Vec<StreamCheck>,
    pub condition: Option<AppendCondition>,
    /// Record batches in the order of their events, made by the door: not compressed, keyed by stream.
    pub batches: Vec<EventBatch>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamCheck {
    /// The event topic the stream lives in.
    pub topic: TopicId,
    pub name: Bytes,
    pub expected: ExpectedVersion,
}

/// What a stream must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedVersion {
    Any,
    /// Never written, or deleted and not written since.
    NoStream,
    /// Written, and not deleted.
    Exists,
    /// Deleted and not written since.
    SoftDeleted,
    /// The version of its last event.
    Exact(StreamVersion),
}

/// What a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActualVersion {
    None,
    /// The version of its last event.
    At(StreamVersion),
    /// Deleted, after this version.
    SoftDeleted(StreamVersion),
    /// Ended for ever.
    Tombstoned,
}

/// Refuses the append if an event after `after` matches one of `items`; with no items, any event does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendCondition {
    pub items: Vec<TermQuery>,
    /// `None`: before the first event.
    pub after: Option<Position>,
}

/// One of these types (any, if there are none) and all of these tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermQuery {
    pub types: Vec<Bytes>,
    pub tags: Vec<Bytes>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventBatch {
    pub partition: PartitionId,
    pub batch: Bytes,
}

/// Where the events are. A repeated append is answered as the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsAppended {
    /// One a stream of the command; `None` for those only checked.
    pub spans: Vec<Option<StreamSpan>>,
    /// Position of the last event.
    pub last_position: Option<Position>,
    /// Nothing was written now.
    pub repeated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSpan {
    pub first_version: StreamVersion,
    pub last_version: StreamVersion,
    pub last_position: Position,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EventsRefusal {
    #[error("partition {partition} does not exist")]
    UnknownPartition { partition: PartitionId },
    #[error("topic {topic} has no index of streams")]
    NotEventTopic { topic: TopicId },
    #[error("the index of streams of topic {topic} is being built")]
    Indexing { topic: TopicId },
    #[error("the batch is damaged")]
    DamagedBatch,
    #[error("{} streams are not as expected", .0.len())]
    Conflicts(Vec<StreamConflict>),
    #[error("stream {stream} of the append was deleted for ever")]
    Tombstoned { stream: u32 },
    #[error("stream {stream} of the append has some of its events already")]
    PartlyRepeated { stream: u32 },
    #[error("the event at position {position} matches the condition")]
    ConditionFailed { position: Position },
}

/// A stream of the command, by its number there, that isn't what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamConflict {
    pub stream: u32,
    pub actual: ActualVersion,
}

/// Posts records that the log has already into the index of streams, in the order of their offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRecords {
    pub partition: PartitionId,
    /// Must be where the index of this partition stands; else the command changes nothing.
    pub from: Offset,
    /// Where the index stands afterwards.
    pub to: Offset,
    /// A batch of the partition, whole, or nothing where the log has a gap.
    pub batch: Bytes,
}

impl fmt::Display for ExpectedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any version"),
            Self::NoStream => f.write_str("no stream"),
            Self::Exists => f.write_str("a stream"),
            Self::SoftDeleted => f.write_str("a deleted stream"),
            Self::Exact(version) => write!(f, "version {version}"),
        }
    }
}

impl fmt::Display for ActualVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("it does not exist"),
            Self::At(version) => write!(f, "it is at version {version}"),
            Self::SoftDeleted(version) => write!(f, "it is deleted, its last version was {version}"),
            Self::Tombstoned => f.write_str("it was deleted for ever"),
        }
    }
}

impl AppendEvents {
    fn head(&self) -> Writer {
        let mut out = Writer::default();
        out.count(self.streams.len());
        for stream in &self.streams {
            out.topic(stream.topic);
            out.bytes(&stream.name);
            let (tag, version) = match stream.expected {
                ExpectedVersion::Any => (0, None),
                ExpectedVersion::NoStream => (1, None),
                ExpectedVersion::Exists => (2, None),
                ExpectedVersion::SoftDeleted => (3, None),
                ExpectedVersion::Exact(version) => (4, Some(version)),
            };
            out.u8(tag);
            if let Some(version) = version {
                out.u64(version.0);
            }
        }
        out.u8(self.condition.is_some().into());
        if let Some(condition) = &self.condition {
            out.u64(condition.after.map_or(0, |after| after.0 + 1));
            out.count(condition.items.len());
            for item in &condition.items {
                for texts in [&item.types, &item.tags] {
                    out.count(texts.len());
                    texts.iter().for_each(|text| out.bytes(text));
                }
            }
        }
        out.count(self.batches.len());
        for batch in &self.batches {
            out.partition(batch.partition);
            out.count(batch.batch.len());
        }
        out
    }

    /// Writes the command behind its length; batches stay parts of their own.
    pub(crate) fn write_sized(&self, out: &mut Writer) {
        let head = self.head();
        let batches: usize = self.batches.iter().map(|batch| batch.batch.len()).sum();
        out.sized(head.len() + batches, |out| {
            head.finish().iter().for_each(|part| out.raw(part));
            self.batches.iter().for_each(|batch| out.rest(batch.batch.clone()));
        });
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        let streams = from.list(|from| {
            let (topic, name) = (from.topic()?, from.slice()?);
            let expected = match from.u8()? {
                0 => ExpectedVersion::Any,
                1 => ExpectedVersion::NoStream,
                2 => ExpectedVersion::Exists,
                3 => ExpectedVersion::SoftDeleted,
                4 => ExpectedVersion::Exact(StreamVersion(from.u64()?)),
                _ => return Err(DecodeError::Malformed),
            };
            Ok(StreamCheck { topic, name, expected })
        })?;
        let condition = match from.u8()? {
            0 => None,
            1 => {
                let after = from.u64()?.checked_sub(1).map(Position);
                let texts = |from: &mut Reader| from.list(Reader::slice);
                let items = from.list(|from| Ok(TermQuery { types: texts(from)?, tags: texts(from)? }))?;
                Some(AppendCondition { items, after })
            }
            _ => return Err(DecodeError::Malformed),
        };
        let places = from.list(|from| Ok((from.partition()?, from.u32()? as usize)))?;
        let mut batches = Vec::with_capacity(places.len());
        for (partition, bytes) in places {
            batches.push(EventBatch { partition, batch: from.take(bytes)? });
        }
        Ok(Self { streams, condition, batches })
    }

    pub(crate) fn bytes(&self) -> usize {
        const STREAM_BYTES: usize = 32;
        let streams: usize = self.streams.iter().map(|stream| stream.name.len() + STREAM_BYTES).sum();
        let terms =
            |item: &TermQuery| item.types.iter().chain(&item.tags).map(|term| term.len() + 8).sum::<usize>() + 8;
        let condition: usize = self.condition.iter().flat_map(|condition| &condition.items).map(terms).sum();
        let batches: usize = self.batches.iter().map(|batch| batch.batch.len() + STREAM_BYTES).sum();
        streams + condition + batches
    }
}

impl IndexRecords {
    pub(crate) const HEAD_BYTES: usize = 36;

    pub(crate) fn write(&self, out: &mut Writer) {
        out.partition(self.partition);
        out.i64(self.from.0);
        out.i64(self.to.0);
        out.rest(self.batch.clone());
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        let partition = from.partition()?;
        Ok(Self { partition, from: Offset(from.i64()?), to: Offset(from.i64()?), batch: from.rest() })
    }
}
