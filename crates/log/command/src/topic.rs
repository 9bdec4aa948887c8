//! Make, change and remove topics.

use daybook_types::{TopicId, TopicName};
use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTopic {
    /// Chosen by the proposer, at random.
    pub id: TopicId,
    pub name: TopicName,
    pub partitions: i32,
    /// Only what differs from the defaults; checked by the door.
    pub configs: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteTopic {
    pub id: TopicId,
}

/// Set (`Some`) or return to the default (`None`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterTopicConfigs {
    pub id: TopicId,
    pub changes: Vec<(String, Option<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreatePartitions {
    pub id: TopicId,
    /// How many there are to be.
    pub total: i32,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TopicRefusal {
    /// The topic that has the name already.
    #[error("a topic named {name} exists")]
    Exists { name: TopicName, id: TopicId },
    #[error("topic {id} does not exist")]
    Unknown { id: TopicId },
    #[error("the topic has {current} partitions and can only grow, not to {asked}")]
    NotMorePartitions { current: i32, asked: i32 },
    #[error("topic {id} is part of an open transaction; it can become an event topic when that has ended")]
    OpenTransaction { id: TopicId },
}

impl CreateTopic {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.topic(self.id);
        out.text(self.name.as_str());
        out.i32(self.partitions);
        out.count(self.configs.len());
        for (name, value) in &self.configs {
            out.text(name);
            out.text(value);
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        let id = from.topic()?;
        let name = TopicName::new(&from.text()?).map_err(|_| DecodeError::Malformed)?;
        let partitions = from.i32()?;
        let configs = from.list(|from| Ok((from.text()?, from.text()?)))?;
        Ok(Self { id, name, partitions, configs })
    }
}

impl DeleteTopic {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.topic(self.id);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self { id: from.topic()? })
    }
}

impl AlterTopicConfigs {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.topic(self.id);
        out.count(self.changes.len());
        for (name, value) in &self.changes {
            out.text(name);
            out.optional_text(value.as_deref());
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self { id: from.topic()?, changes: from.list(|from| Ok((from.text()?, from.optional_text()?)))? })
    }
}

impl CreatePartitions {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.topic(self.id);
        out.i32(self.total);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self { id: from.topic()?, total: from.i32()? })
    }
}
