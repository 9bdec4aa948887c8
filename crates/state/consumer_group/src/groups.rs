//! All groups of a shard.

use std::collections::{BTreeMap, BTreeSet};

use daybook_command::{CommitOffsets, CommittedOffset, DeleteGroup, DeleteOffsets, GroupRefusal};
use daybook_types::{GroupId, PartitionId, TimestampMs, TopicId};

use crate::pending::Pending;

/// What one group has committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupOffsets {
    /// `consumer`, `connect`, …; empty while only commits without membership came.
    pub protocol_type: String,
    pub offsets: BTreeMap<PartitionId, CommittedOffset>,
}

#[derive(Debug, Default)]
pub struct Groups {
    groups: BTreeMap<GroupId, GroupOffsets>,
    changed: BTreeSet<(GroupId, PartitionId)>,
    pub(crate) pending: Pending,
}

/// An offset that a checkpoint has yet to keep, or to drop (`None`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub group: GroupId,
    pub partition: PartitionId,
    /// The offset and its group's protocol type.
    pub offset: Option<(CommittedOffset, String)>,
}

impl Groups {
    pub fn group(&self, group: &GroupId) -> Option<&GroupOffsets> {
        self.groups.get(group)
    }

    /// All groups, by name.
    pub fn groups(&self) -> impl Iterator<Item = (&GroupId, &GroupOffsets)> {
        self.groups.iter()
    }

    /// Puts an offset as a checkpoint kept it.
    pub fn restore(&mut self, group: GroupId, partition: PartitionId, offset: CommittedOffset, protocol_type: String) {
        let group = self.groups.entry(group).or_default();
        group.protocol_type = protocol_type;
        group.offsets.insert(partition, offset);
    }

    /// Keeps the offsets of partitions that `exists`; one of a topic deleted meanwhile is dropped.
    pub fn commit(&mut self, command: &CommitOffsets, time: TimestampMs, exists: impl Fn(PartitionId) -> bool) {
        for asked in command.offsets.iter().filter(|asked| exists(asked.partition)) {
            self.pending.supersede(&command.group, asked.partition, None);
            self.keep(&command.group, asked.partition, asked.committed_at(time), &command.protocol_type);
        }
    }

    pub(crate) fn keep(&mut self, id: &GroupId, partition: PartitionId, offset: CommittedOffset, protocol_type: &str) {
        let group = self.groups.entry(id.clone()).or_default();
        if !protocol_type.is_empty() {
            protocol_type.clone_into(&mut group.protocol_type);
        }
        group.offsets.insert(partition, offset);
        self.changed.insert((id.clone(), partition));
    }

    pub fn delete(&mut self, command: &DeleteGroup) -> Result<(), GroupRefusal> {
        let group =
            self.groups.remove(&command.group).ok_or_else(|| GroupRefusal::Unknown { group: command.group.clone() })?;
        self.changed.extend(group.offsets.into_keys().map(|partition| (command.group.clone(), partition)));
        self.pending.forget_group(&command.group);
        Ok(())
    }

    pub fn delete_offsets(&mut self, command: &DeleteOffsets) -> Result<(), GroupRefusal> {
        if !self.groups.contains_key(&command.group) {
            return Err(GroupRefusal::Unknown { group: command.group.clone() });
        }
        self.drop_offsets(|group, partition| *group == command.group && command.partitions.contains(&partition));
        self.pending.forget_partitions(&command.group, &command.partitions);
        Ok(())
    }

    /// The topic is deleted: what was committed for it goes too.
    pub fn forget_topic(&mut self, topic: TopicId) {
        self.drop_offsets(|_, partition| partition.topic == topic);
        self.pending.forget_topic(topic);
    }

    /// What changed since the last call, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let changed = std::mem::take(&mut self.changed);
        changed
            .into_iter()
            .map(|(group, partition)| {
                let offset = self.groups.get(&group).and_then(|offsets| {
                    let offset = offsets.offsets.get(&partition)?;
                    Some((offset.clone(), offsets.protocol_type.clone()))
                });
                Change { group, partition, offset }
            })
            .collect()
    }

    fn drop_offsets(&mut self, goes: impl Fn(&GroupId, PartitionId) -> bool) {
        for (group, offsets) in &mut self.groups {
            let changed = &mut self.changed;
            offsets.offsets.retain(|partition, _| {
                let goes = goes(group, *partition);
                if goes {
                    changed.insert((group.clone(), *partition));
                }
                !goes
            });
        }
        self.groups.retain(|_, offsets| !offsets.offsets.is_empty());
    }
}
