//! The half of the index that readers share.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_kv::{KvError, Space, Store};
use daybook_types::{Offset, PartitionId, PartitionIndex, Position, StreamVersion, TopicId};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::generation::{Generation, Touched, stream_key};
use crate::stored::Stream;
use crate::topics::{EventTopic, EventTopics, TopicNumber};

/// An event's place in the store, seen from its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    pub position: Position,
    /// `None`: its topic is gone or no event topic any more.
    pub topic: Option<TopicId>,
    pub partition: PartitionIndex,
    pub offset: Offset,
    /// `None`: it belongs to no stream.
    pub version: Option<StreamVersion>,
}

impl Located {
    pub fn partition_id(&self) -> Option<PartitionId> {
        Some(PartitionId { topic: self.topic?, index: self.partition })
    }
}

/// Shared between apply, which writes, and readers.
#[derive(Debug)]
pub struct StreamIndex {
    pub(crate) memory: RwLock<Memory>,
    /// `None`: nothing was ever checkpointed.
    pub(crate) kv: Option<Arc<Store>>,
    pub(crate) topics: RwLock<EventTopics>,
    pub(crate) end: watch::Sender<Position>,
    /// Whether an index is being built.
    pub(crate) building: watch::Sender<bool>,
    /// Event topics whose keys were all removed by a checkpoint.
    pub(crate) swept: Mutex<Vec<TopicNumber>>,
}

#[derive(Debug)]
pub(crate) struct Memory {
    /// What checkpoints are writing, oldest first.
    pub frozen: Vec<Arc<Generation>>,
    pub active: Generation,
}

impl Memory {
    /// Oldest first.
    pub fn generations(&self) -> impl DoubleEndedIterator<Item = &Generation> {
        self.frozen.iter().map(Arc::as_ref).chain(std::iter::once(&self.active))
    }

    /// Position of the first event that memory has.
    pub fn from(&self) -> Position {
        self.frozen.first().map_or(self.active.from, |generation| generation.from)
    }

    pub fn latest(&self, topic: TopicNumber, name: &[u8]) -> Option<&Touched> {
        self.generations().rev().find_map(|generation| generation.touched(topic, name))
    }
}

impl StreamIndex {
    pub(crate) fn new(kv: Option<Arc<Store>>, topics: EventTopics, end: Position) -> Self {
        let building = topics.all().any(|(_, topic)| !topic.is_ready());
        Self {
            building: watch::Sender::new(building),
            memory: RwLock::new(Memory { frozen: Vec::new(), active: Generation::new(end) }),
            kv,
            topics: RwLock::new(topics),
            end: watch::Sender::new(end),
            swept: Mutex::default(),
        }
    }

    /// Position after the last event, and its changes.
    pub fn end(&self) -> watch::Receiver<Position> {
        self.end.subscribe()
    }

    /// Whether the index of some topic is being built, and its changes.
    pub fn building(&self) -> watch::Receiver<bool> {
        self.building.subscribe()
    }

    pub(crate) fn change_topics<T>(&self, change: impl FnOnce(&mut EventTopics) -> T) -> T {
        let mut topics = self.topics.write();
        let changed = change(&mut topics);
        self.building.send_replace(topics.all().any(|(_, topic)| !topic.is_ready()));
        changed
    }

    pub fn topic(&self, id: TopicId) -> Option<EventTopic> {
        self.topics.read().get(id).cloned()
    }

    /// All event topics by id.
    pub fn topics(&self) -> BTreeMap<TopicId, EventTopic> {
        self.topics.read().all().map(|(id, topic)| (id, topic.clone())).collect()
    }

    /// Whether a stream was touched so lately that looking at its end needs no disk.
    pub fn is_in_memory(&self, topic: TopicId, name: &[u8]) -> bool {
        let Some(number) = self.topics.read().get(topic).map(|topic| topic.number) else { return true };
        self.memory.read().latest(number, name).is_some()
    }

    /// Position of the first event that memory has.
    pub fn memory_from(&self) -> Position {
        self.memory.read().from()
    }

    /// A stream by name; `None` if it was never written nor described, or its topic has no index.
    pub fn stream(&self, topic: TopicId, name: &[u8]) -> Result<Option<Stream>, KvError> {
        match self.topics.read().get(topic).map(|topic| topic.number) {
            Some(number) => self.stream_of(number, name),
            None => Ok(None),
        }
    }

    pub(crate) fn stream_of(&self, topic: TopicNumber, name: &[u8]) -> Result<Option<Stream>, KvError> {
        if let Some(touched) = self.memory.read().latest(topic, name) {
            return Ok(Some(touched.stream.clone()));
        }
        self.stored_stream(topic, name)
    }

    pub(crate) fn stored_stream(&self, topic: TopicNumber, name: &[u8]) -> Result<Option<Stream>, KvError> {
        let Some(kv) = &self.kv else { return Ok(None) };
        let Some(bytes) = kv.get(Space::Streams, &stream_key(topic, name))? else { return Ok(None) };
        Stream::decode(&bytes).map(Some).map_err(|fault| malformed(Space::Streams, &fault))
    }
}

pub(crate) fn malformed(space: Space, fault: &dyn std::fmt::Display) -> KvError {
    KvError::Malformed { space, cause: fault.to_string() }
}
