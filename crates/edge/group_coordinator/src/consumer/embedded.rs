//! What classic consumers carry inside JoinGroup and SyncGroup: their subscription and their assignment.
//!
//! Format (Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment, versions 0 to 3), integers big-endian:
//! `version: int16`, then of a subscription `topics: [string]`, `user_data: bytes`, from 1 on `owned: [{topic: string,
//! partitions: [int32]}]`, from 2 on `generation: int32`, from 3 on `rack: string`; of an assignment `assigned: [{topic: string,
//! partitions: [int32]}]`, `user_data: bytes`. A string's length has two bytes, a list's and bytes' four; -1 is null. Later
//! versions begin the same way.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use daybook_group_assignment::{Partitions, Topics};
use daybook_types::{PartitionId, PartitionIndex};

const OWNED_FROM: i16 = 1;
const GENERATION_FROM: i16 = 2;
const RACK_FROM: i16 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EmbeddedSubscription {
    pub topics: BTreeSet<Arc<str>>,
    /// Of topics that exist.
    pub owned: Partitions,
    pub rack: Option<Arc<str>>,
}

/// None for what isn't of this format.
pub(super) fn read_subscription(metadata: &[u8], topics: &dyn Topics) -> Option<EmbeddedSubscription> {
    let mut from = Cursor(metadata);
    let version = from.int16()?;
    let mut names = BTreeSet::new();
    for _ in 0..from.count()? {
        names.insert(from.text()??.into());
    }
    from.blob()?;
    let owned = if version >= OWNED_FROM { from.partitions(topics)? } else { Partitions::new() };
    if version >= GENERATION_FROM {
        from.int32()?;
    }
    let rack = if version >= RACK_FROM { from.text()?.map(Arc::from) } else { None };
    Some(EmbeddedSubscription { topics: names, owned, rack })
}

/// The version in which a subscription is written; the assignment is answered in the same.
pub(super) fn version_of(metadata: &[u8]) -> i16 {
    Cursor(metadata).int16().unwrap_or(0)
}

pub(super) fn read_assignment(assignment: &[u8], topics: &dyn Topics) -> Option<Partitions> {
    if assignment.is_empty() {
        return Some(Partitions::new());
    }
    let mut from = Cursor(assignment);
    from.int16()?;
    from.partitions(topics)
}

/// Topics that are gone are left out.
pub(super) fn write_assignment(version: i16, assigned: &[PartitionId], topics: &dyn Topics) -> Bytes {
    let mut by_topic: Vec<(Arc<str>, Vec<i32>)> = Vec::new();
    for same_topic in assigned.chunk_by(|left, right| left.topic == right.topic) {
        if let Some(name) = same_topic.first().and_then(|partition| topics.name(partition.topic)) {
            by_topic.push((name, same_topic.iter().map(|partition| partition.index.0).collect()));
        }
    }
    let mut out = BytesMut::new();
    out.put_i16(version);
    out.put_u32(by_topic.len() as u32);
    for (name, partitions) in by_topic {
        out.put_u16(name.len() as u16);
        out.put_slice(name.as_bytes());
        out.put_u32(partitions.len() as u32);
        partitions.into_iter().for_each(|partition| out.put_i32(partition));
    }
    // No user data.
    out.put_i32(-1);
    out.freeze()
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn int16(&mut self) -> Option<i16> {
        self.take().map(i16::from_be_bytes)
    }

    fn int32(&mut self) -> Option<i32> {
        self.take().map(i32::from_be_bytes)
    }

    /// Of a list; what isn't there can't be read, so a lie is found out soon.
    fn count(&mut self) -> Option<i32> {
        self.int32().map(|count| count.max(0))
    }

    fn slice(&mut self, length: usize) -> Option<&'a [u8]> {
        let (slice, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(slice)
    }

    /// `Some(None)` is null.
    fn text(&mut self) -> Option<Option<&'a str>> {
        match usize::try_from(self.int16()?) {
            Ok(length) => std::str::from_utf8(self.slice(length)?).ok().map(Some),
            Err(_) => Some(None),
        }
    }

    fn blob(&mut self) -> Option<Option<&'a [u8]>> {
        match usize::try_from(self.int32()?) {
            Ok(length) => self.slice(length).map(Some),
            Err(_) => Some(None),
        }
    }

    fn partitions(&mut self, topics: &dyn Topics) -> Option<Partitions> {
        let mut found = Partitions::new();
        for _ in 0..self.count()? {
            let topic = self.text()?.and_then(|name| topics.find(name));
            for _ in 0..self.count()? {
                let index = self.int32()?;
                if let Some(topic) = topic
                    && (0..topic.partitions).contains(&index)
                {
                    found.insert(PartitionId { topic: topic.id, index: PartitionIndex(index) });
                }
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests;
