//! Identifiers.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;
use uuid::Uuid;

/// Number of a node in a cluster; Kafka's broker id. Not negative, so that it fits Kafka's `int32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Number of a shard on its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u32);

/// Kafka's topic id: never reused, so a topic deleted and made again under one name is a different topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub Uuid);

/// Number of a partition in its topic, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionIndex(pub i32);

/// A partition of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId {
    pub topic: TopicId,
    pub index: PartitionIndex,
}

/// Kafka's producer id; `NONE` (-1) where the producer isn't idempotent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerId(pub i64);

impl ProducerId {
    pub const NONE: Self = Self(-1);
}

/// Kafka's producer epoch; -1 where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerEpoch(pub i16);

impl ProducerEpoch {
    pub const NONE: Self = Self(-1);

    /// The epoch after this one; the last one stays.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for ProducerEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Name of a consumer group. Any string, as in Kafka; the empty one is allowed to old clients.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub Arc<str>);

impl GroupId {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Name under which a producer's transactions are known, whatever process it is (Kafka's `transactional.id`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionalId(pub Arc<str>);

impl TransactionalId {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TransactionalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TopicId {
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Kafka's "no topic id".
    pub fn is_none(&self) -> bool {
        self.0.is_nil()
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.simple())
    }
}

impl fmt::Display for PartitionIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `<topic-id>-<partition>`: also the name of the partition's directory.
impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.index)
    }
}

impl fmt::Display for ProducerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A legal topic name: 1 to 249 characters of `a-z A-Z 0-9 . _ -`, neither `.` nor `..`
/// (Apache Kafka, `org.apache.kafka.common.internals.Topic`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName(Arc<str>);

/// Why a text is no topic name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IllegalName {
    #[error("a topic name can't be empty")]
    Empty,
    #[error("a topic name can't be \".\" or \"..\"")]
    Dots,
    #[error("a topic name has at most 249 characters, this one has {length}")]
    TooLong { length: usize },
    #[error("a topic name has only the characters a-z, A-Z, 0-9, '.', '_' and '-', this one has {character:?}")]
    Character { character: char },
}

impl TopicName {
    const LENGTH_MAX: usize = 249;

    pub fn new(name: &str) -> Result<Self, IllegalName> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        match name {
            "" => Err(IllegalName::Empty),
            "." | ".." => Err(IllegalName::Dots),
            _ if name.chars().count() > Self::LENGTH_MAX => Err(IllegalName::TooLong { length: name.chars().count() }),
            _ => match name.chars().find(|c| !legal(*c)) {
                Some(character) => Err(IllegalName::Character { character }),
                None => Ok(Self(name.into())),
            },
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// So that a map by name answers for a text: a text that is no legal name is in no map.
impl Borrow<str> for TopicName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
