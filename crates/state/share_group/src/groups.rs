//! All share groups of a shard.

use std::collections::{BTreeMap, BTreeSet};

use daybook_command::{DeleteShareState, PutSharePartition, SharePartitionState, ShareRefusal};
use daybook_types::{GroupId, PartitionId, TopicId};

/// What one group has kept, by partition.
pub type SharePartitions = BTreeMap<PartitionId, SharePartitionState>;

#[derive(Debug, Default)]
pub struct ShareGroups {
    groups: BTreeMap<GroupId, SharePartitions>,
    changed: BTreeSet<(GroupId, PartitionId)>,
}

/// A state that a checkpoint has yet to keep, or to drop (`None`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub group: GroupId,
    pub partition: PartitionId,
    pub state: Option<SharePartitionState>,
}

impl ShareGroups {
    pub fn group(&self, group: &GroupId) -> Option<&SharePartitions> {
        self.groups.get(group)
    }

    pub fn partition(&self, group: &GroupId, partition: PartitionId) -> Option<&SharePartitionState> {
        self.groups.get(group)?.get(&partition)
    }

    /// All groups, by name.
    pub fn groups(&self) -> impl Iterator<Item = (&GroupId, &SharePartitions)> {
        self.groups.iter()
    }

    /// As a checkpoint kept it.
    pub fn restore(&mut self, group: GroupId, partition: PartitionId, state: SharePartitionState) {
        self.groups.entry(group).or_default().insert(partition, state);
    }

    /// Keeps a state, unless another one than the writer thinks is kept.
    pub fn put(&mut self, put: &PutSharePartition, exists: impl Fn(PartitionId) -> bool) -> Result<(), ShareRefusal> {
        let PutSharePartition { group, partition, only_if, state } = put;
        if !exists(*partition) {
            return Err(ShareRefusal::UnknownPartition { partition: *partition });
        }
        let kept = self.partition(group, *partition);
        let kept_epoch = kept.map(|kept| kept.epoch);
        if kept_epoch != *only_if {
            return Err(ShareRefusal::Fenced { group: group.clone(), expected: *only_if, kept: kept_epoch });
        }
        if let Some(kept) = kept.filter(|kept| kept.epoch == state.epoch && kept.start > state.start) {
            return Err(ShareRefusal::Backwards { group: group.clone(), kept: kept.start, asked: state.start });
        }
        self.groups.entry(group.clone()).or_default().insert(*partition, state.clone());
        self.changed.insert((group.clone(), *partition));
        Ok(())
    }

    pub fn delete(&mut self, delete: &DeleteShareState) -> Result<(), ShareRefusal> {
        if !self.groups.contains_key(&delete.group) {
            return Err(ShareRefusal::UnknownGroup { group: delete.group.clone() });
        }
        self.drop_states(|group, partition| {
            *group == delete.group && delete.partitions.as_ref().is_none_or(|some| some.contains(&partition))
        });
        Ok(())
    }

    /// The topic is deleted: what was kept for it goes too.
    pub fn forget_topic(&mut self, topic: TopicId) {
        self.drop_states(|_, partition| partition.topic == topic);
    }

    /// What changed since the last call, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let changed = std::mem::take(&mut self.changed);
        changed
            .into_iter()
            .map(|(group, partition)| {
                let state = self.partition(&group, partition).cloned();
                Change { group, partition, state }
            })
            .collect()
    }

    fn drop_states(&mut self, goes: impl Fn(&GroupId, PartitionId) -> bool) {
        for (group, partitions) in &mut self.groups {
            let changed = &mut self.changed;
            partitions.retain(|partition, _| {
                let goes = goes(group, *partition);
                if goes {
                    changed.insert((group.clone(), *partition));
                }
                !goes
            });
        }
        self.groups.retain(|_, partitions| !partitions.is_empty());
    }
}
