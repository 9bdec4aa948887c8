//! How a checkpoint keeps a transactional id.

use std::collections::BTreeSet;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_types::{GroupId, PartitionId, PartitionIndex, ProducerEpoch, ProducerId, TimestampMs, TopicId};
use thiserror::Error;

use crate::{Open, Phase, Transactional};

const FORMAT_VERSION: u8 = 1;

const EMPTY: u8 = 0;
const ONGOING: u8 = 1;
const COMMITTED: u8 = 2;
const ABORTED: u8 = 3;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoredTransactionError {
    #[error("the stored transactional id has format version {found}, this program knows up to {known}")]
    NewerFormat { found: u8, known: u8 },
    #[error("the stored transactional id is malformed")]
    Malformed,
}

impl Transactional {
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORMAT_VERSION);
        out.put_i64(self.producer.0);
        out.put_i16(self.epoch.0);
        out.put_i64(self.previous_producer.0);
        out.put_i16(self.previous_epoch.0);
        out.put_i32(self.timeout_ms);
        out.put_i64(self.updated.0);
        match &self.phase {
            Phase::Empty => out.put_u8(EMPTY),
            Phase::Committed => out.put_u8(COMMITTED),
            Phase::Aborted => out.put_u8(ABORTED),
            Phase::Ongoing(open) => {
                out.put_u8(ONGOING);
                out.put_i64(open.started.0);
                out.put_u32(open.partitions.len() as u32);
                for partition in &open.partitions {
                    out.put_slice(partition.topic.as_bytes());
                    out.put_i32(partition.index.0);
                }
                out.put_u32(open.groups.len() as u32);
                for group in &open.groups {
                    out.put_u32(group.as_str().len() as u32);
                    out.put_slice(group.as_str().as_bytes());
                }
            }
        }
        out.freeze()
    }

    pub fn decode(mut bytes: Bytes) -> Result<Self, StoredTransactionError> {
        let version = bytes.try_get_u8().map_err(|_| StoredTransactionError::Malformed)?;
        if version > FORMAT_VERSION {
            return Err(StoredTransactionError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        let decoded = decode(&mut bytes).ok_or(StoredTransactionError::Malformed)?;
        if bytes.is_empty() { Ok(decoded) } else { Err(StoredTransactionError::Malformed) }
    }
}

fn decode(from: &mut Bytes) -> Option<Transactional> {
    Some(Transactional {
        producer: ProducerId(from.try_get_i64().ok()?),
        epoch: ProducerEpoch(from.try_get_i16().ok()?),
        previous_producer: ProducerId(from.try_get_i64().ok()?),
        previous_epoch: ProducerEpoch(from.try_get_i16().ok()?),
        timeout_ms: from.try_get_i32().ok()?,
        updated: TimestampMs(from.try_get_i64().ok()?),
        phase: match from.try_get_u8().ok()? {
            EMPTY => Phase::Empty,
            ONGOING => Phase::Ongoing(open(from)?),
            COMMITTED => Phase::Committed,
            ABORTED => Phase::Aborted,
            _ => return None,
        },
    })
}

fn open(from: &mut Bytes) -> Option<Open> {
    let started = TimestampMs(from.try_get_i64().ok()?);
    let mut partitions = BTreeSet::new();
    for _ in 0..from.try_get_u32().ok()? {
        let mut topic = [0; 16];
        from.try_copy_to_slice(&mut topic).ok()?;
        let index = PartitionIndex(from.try_get_i32().ok()?);
        partitions.insert(PartitionId { topic: TopicId::from_bytes(topic), index });
    }
    let mut groups = BTreeSet::new();
    for _ in 0..from.try_get_u32().ok()? {
        let length = from.try_get_u32().ok()? as usize;
        if length > from.len() {
            return None;
        }
        groups.insert(GroupId::new(std::str::from_utf8(&from.split_to(length)).ok()?));
    }
    Some(Open { started, partitions, groups })
}
