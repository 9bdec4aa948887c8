//! One topic, and how a checkpoint keeps it.

use std::collections::BTreeMap;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_types::{PartitionId, PartitionIndex, TopicId, TopicName};
use thiserror::Error;

use crate::TopicSettings;

const FORMAT_VERSION: u8 = 1;

#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    pub id: TopicId,
    pub name: TopicName,
    pub partitions: i32,
    /// Only what differs from the defaults.
    pub configs: BTreeMap<String, String>,
    /// What the configs amount to, with what brokers were told for all topics.
    pub settings: TopicSettings,
}

/// A stored topic, or stored configs, that can't be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoredTopicError {
    #[error("what was stored has format version {found}, this program knows up to {known}")]
    NewerFormat { found: u8, known: u8 },
    #[error("what was stored is malformed")]
    Malformed,
}

impl Topic {
    pub fn new(id: TopicId, name: TopicName, partitions: i32, configs: BTreeMap<String, String>) -> Self {
        let settings = TopicSettings::of(&configs, &BTreeMap::new());
        Self { id, name, partitions, configs, settings }
    }

    pub fn partition(&self, index: i32) -> Option<PartitionId> {
        (0..self.partitions).contains(&index).then_some(PartitionId { topic: self.id, index: PartitionIndex(index) })
    }

    pub fn partition_ids(&self) -> impl Iterator<Item = PartitionId> + use<> {
        let topic = self.id;
        (0..self.partitions).map(move |index| PartitionId { topic, index: PartitionIndex(index) })
    }

    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORMAT_VERSION);
        put_text(&mut out, self.name.as_str());
        out.put_i32(self.partitions);
        out.put_u32(self.configs.len() as u32);
        for (name, value) in &self.configs {
            put_text(&mut out, name);
            put_text(&mut out, value);
        }
        out.freeze()
    }

    pub fn decode(id: TopicId, mut bytes: Bytes) -> Result<Self, StoredTopicError> {
        let from = &mut bytes;
        let version = from.try_get_u8().map_err(|_| StoredTopicError::Malformed)?;
        if version > FORMAT_VERSION {
            return Err(StoredTopicError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        let name = TopicName::new(&get_text(from)?).map_err(|_| StoredTopicError::Malformed)?;
        let partitions = from.try_get_i32().map_err(|_| StoredTopicError::Malformed)?;
        let count = from.try_get_u32().map_err(|_| StoredTopicError::Malformed)?;
        let mut configs = BTreeMap::new();
        for _ in 0..count {
            configs.insert(get_text(from)?, get_text(from)?);
        }
        if from.is_empty() { Ok(Self::new(id, name, partitions, configs)) } else { Err(StoredTopicError::Malformed) }
    }
}

pub(crate) fn put_text(out: &mut BytesMut, text: &str) {
    out.put_u32(text.len() as u32);
    out.put_slice(text.as_bytes());
}

pub(crate) fn get_text(from: &mut Bytes) -> Result<String, StoredTopicError> {
    let length = from.try_get_u32().map_err(|_| StoredTopicError::Malformed)? as usize;
    if length > from.len() {
        return Err(StoredTopicError::Malformed);
    }
    String::from_utf8(from.split_to(length).into()).map_err(|_| StoredTopicError::Malformed)
}
