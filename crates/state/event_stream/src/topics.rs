//! Which topics are event topics, and how far the index of each is.

use std::collections::BTreeMap;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_types::{Offset, PartitionIndex, TopicId};

use crate::stored::{StoredStreamError, read_format};

const FORMAT_VERSION: u8 = 1;

/// Number of an event topic in its shard; never reused, so a topic whose index was dropped and built anew has another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicNumber(pub u32);

/// A topic with an index of streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTopic {
    pub number: TopicNumber,
    /// Partitions that held records when the topic became an event topic, with the offset from which they are yet to be indexed.
    pub pending: BTreeMap<PartitionIndex, Offset>,
}

impl EventTopic {
    pub fn is_ready(&self) -> bool {
        self.pending.is_empty()
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORMAT_VERSION);
        out.put_u32(self.number.0);
        for (partition, offset) in &self.pending {
            out.put_i32(partition.0);
            out.put_i64(offset.0);
        }
        out.freeze()
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, StoredStreamError> {
        read_format(&mut bytes, FORMAT_VERSION)?;
        let number = TopicNumber(bytes.try_get_u32().map_err(|_| StoredStreamError::Malformed)?);
        let mut pending = BTreeMap::new();
        while !bytes.is_empty() {
            let partition = bytes.try_get_i32().map_err(|_| StoredStreamError::Malformed)?;
            let offset = bytes.try_get_i64().map_err(|_| StoredStreamError::Malformed)?;
            pending.insert(PartitionIndex(partition), Offset(offset));
        }
        Ok(Self { number, pending })
    }
}

/// Event topics by id and by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventTopics {
    by_id: BTreeMap<TopicId, EventTopic>,
    ids: BTreeMap<TopicNumber, TopicId>,
}

impl EventTopics {
    pub fn get(&self, id: TopicId) -> Option<&EventTopic> {
        self.by_id.get(&id)
    }

    pub fn get_mut(&mut self, id: TopicId) -> Option<&mut EventTopic> {
        self.by_id.get_mut(&id)
    }

    pub fn id(&self, number: TopicNumber) -> Option<TopicId> {
        self.ids.get(&number).copied()
    }

    pub fn put(&mut self, id: TopicId, topic: EventTopic) {
        self.ids.insert(topic.number, id);
        self.by_id.insert(id, topic);
    }

    pub fn remove(&mut self, id: TopicId) -> Option<EventTopic> {
        let topic = self.by_id.remove(&id)?;
        self.ids.remove(&topic.number);
        Some(topic)
    }

    pub fn all(&self) -> impl Iterator<Item = (TopicId, &EventTopic)> {
        self.by_id.iter().map(|(id, topic)| (*id, topic))
    }
}
