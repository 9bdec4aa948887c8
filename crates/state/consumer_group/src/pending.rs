//! Offsets that open transactions will commit (KIP-98, KIP-447).
//!
//! While one waits, what is committed for its partition is unstable: nobody knows yet where the group goes on. At the end of the
//! transaction it counts, unless something was committed for the same partition after it was written.

use std::collections::{BTreeMap, BTreeSet};

use daybook_command::{CommitOffsets, CommittedOffset};
use daybook_types::{GroupId, Lsn, PartitionId, ProducerId, TimestampMs, TopicId};

use crate::groups::Groups;

/// An offset that waits for the end of its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingOffset {
    pub offset: CommittedOffset,
    pub protocol_type: String,
    /// The entry that wrote it.
    pub written_at: Lsn,
    /// Something was committed after it was written: it is not to count.
    pub superseded: bool,
}

/// A pending offset that a checkpoint has yet to keep, or to drop (`None`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingChange {
    pub group: GroupId,
    pub partition: PartitionId,
    pub producer: ProducerId,
    pub offset: Option<PendingOffset>,
}

#[derive(Debug, Default)]
pub(crate) struct Pending {
    groups: BTreeMap<GroupId, BTreeMap<(PartitionId, ProducerId), PendingOffset>>,
    changed: BTreeSet<(GroupId, PartitionId, ProducerId)>,
}

impl Groups {
    /// Keeps offsets until `producer`'s transaction ends; those of partitions that no longer exist are dropped.
    pub fn commit_in_transaction(
        &mut self,
        producer: ProducerId,
        command: &CommitOffsets,
        (lsn, time): (Lsn, TimestampMs),
        exists: impl Fn(PartitionId) -> bool,
    ) {
        for asked in command.offsets.iter().filter(|asked| exists(asked.partition)) {
            let pending = PendingOffset {
                offset: asked.committed_at(time),
                protocol_type: command.protocol_type.clone(),
                written_at: lsn,
                superseded: false,
            };
            self.pending.put(command.group.clone(), asked.partition, producer, pending);
        }
    }

    /// The transaction ended: what it wrote for these groups counts, or is forgotten.
    pub fn end_transaction(&mut self, producer: ProducerId, groups: &BTreeSet<GroupId>, commits: bool) {
        for group in groups {
            for (partition, pending) in self.pending.take(group, producer) {
                if commits && !pending.superseded {
                    self.pending.supersede(group, partition, Some(pending.written_at));
                    self.keep(group, partition, pending.offset, &pending.protocol_type);
                }
            }
        }
    }

    /// Partitions for which open transactions wait to commit an offset of the group.
    pub fn unstable(&self, group: &GroupId) -> BTreeSet<PartitionId> {
        let pending = self.pending.groups.get(group);
        pending.into_iter().flat_map(BTreeMap::keys).map(|(partition, _)| *partition).collect()
    }

    /// All offsets that wait, in order.
    pub fn pending(&self) -> impl Iterator<Item = (&GroupId, PartitionId, ProducerId, &PendingOffset)> {
        self.pending.groups.iter().flat_map(|(group, pending)| {
            pending.iter().map(move |((partition, producer), offset)| (group, *partition, *producer, offset))
        })
    }

    /// Puts a pending offset as a checkpoint kept it.
    pub fn restore_pending(
        &mut self,
        group: GroupId,
        partition: PartitionId,
        producer: ProducerId,
        offset: PendingOffset,
    ) {
        self.pending.groups.entry(group).or_default().insert((partition, producer), offset);
    }

    /// The pending offsets that changed since the last call, in order.
    pub fn take_pending_changes(&mut self) -> Vec<PendingChange> {
        let changed = std::mem::take(&mut self.pending.changed);
        let change = |(group, partition, producer): (GroupId, PartitionId, ProducerId)| {
            let offset = self.pending.groups.get(&group).and_then(|of| of.get(&(partition, producer))).cloned();
            PendingChange { group, partition, producer, offset }
        };
        changed.into_iter().map(change).collect()
    }
}

impl Pending {
    fn put(&mut self, group: GroupId, partition: PartitionId, producer: ProducerId, offset: PendingOffset) {
        self.changed.insert((group.clone(), partition, producer));
        self.groups.entry(group).or_default().insert((partition, producer), offset);
    }

    fn take(&mut self, group: &GroupId, producer: ProducerId) -> Vec<(PartitionId, PendingOffset)> {
        let mut taken = Vec::new();
        self.drop_where(
            |of, _, by| of == group && by == producer,
            |partition, offset| taken.push((partition, offset)),
            Some(group),
        );
        taken
    }

    /// Something is committed for the partition now: what was written before doesn't count any more. `before`: only what was
    /// written earlier than that.
    pub(crate) fn supersede(&mut self, group: &GroupId, partition: PartitionId, before: Option<Lsn>) {
        let Some(pending) = self.groups.get_mut(group) else { return };
        let of_partition = (partition, ProducerId(i64::MIN))..=(partition, ProducerId(i64::MAX));
        for ((_, producer), offset) in pending.range_mut(of_partition) {
            if before.is_none_or(|before| offset.written_at < before) && !offset.superseded {
                offset.superseded = true;
                self.changed.insert((group.clone(), partition, *producer));
            }
        }
    }

    pub(crate) fn forget_group(&mut self, group: &GroupId) {
        self.drop_where(|_, _, _| true, |_, _| {}, Some(group));
    }

    pub(crate) fn forget_partitions(&mut self, group: &GroupId, partitions: &[PartitionId]) {
        self.drop_where(|_, partition, _| partitions.contains(&partition), |_, _| {}, Some(group));
    }

    pub(crate) fn forget_topic(&mut self, topic: TopicId) {
        self.drop_where(|_, partition, _| partition.topic == topic, |_, _| {}, None);
    }

    /// `only`: looks at that group alone.
    fn drop_where(
        &mut self,
        goes: impl Fn(&GroupId, PartitionId, ProducerId) -> bool,
        mut gone: impl FnMut(PartitionId, PendingOffset),
        only: Option<&GroupId>,
    ) {
        let changed = &mut self.changed;
        let mut sift = |group: &GroupId, pending: &mut BTreeMap<(PartitionId, ProducerId), PendingOffset>| {
            let leaving = pending.extract_if(.., |(partition, producer), _| goes(group, *partition, *producer));
            for ((partition, producer), offset) in leaving {
                changed.insert((group.clone(), partition, producer));
                gone(partition, offset);
            }
            pending.is_empty()
        };
        match only {
            Some(group) => {
                let is_empty = self.groups.get_mut(group).is_some_and(|pending| sift(group, pending));
                if is_empty {
                    self.groups.remove(group);
                }
            }
            None => self.groups.retain(|group, pending| !sift(group, pending)),
        }
    }
}
