//! All transactional ids of a shard, and what is looked up by them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use bytes::Bytes;
use daybook_command::{SweepTransaction, TransactionalProducer};
use daybook_types::{PartitionId, ProducerId, TimestampMs, TopicId, TransactionalId};

use crate::Transactional;

/// Transactional ids kept at once. Those unused are forgotten in time.
pub const TRANSACTIONAL_IDS_MAX: usize = 1_000_000;
/// Groups whose offsets one transaction commits.
pub const GROUPS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct Transactions {
    pub(crate) by_id: BTreeMap<TransactionalId, Transactional>,
    /// By the producer ids they have now.
    pub(crate) by_producer: BTreeMap<ProducerId, TransactionalId>,
    /// The open ones, by deadline.
    pub(crate) open: BTreeSet<(TimestampMs, TransactionalId)>,
    pub(crate) changed: BTreeSet<TransactionalId>,
}

impl Transactions {
    pub fn get(&self, id: &TransactionalId) -> Option<&Transactional> {
        self.by_id.get(id)
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = (&TransactionalId, &Transactional)> {
        self.by_id.iter()
    }

    /// Those after `after`, by name; all if `None`.
    pub fn after(
        &self,
        after: Option<&TransactionalId>,
    ) -> impl Iterator<Item = (&TransactionalId, &Transactional)> + use<'_> {
        let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.clone()));
        self.by_id.range((from, Bound::Unbounded))
    }

    /// Whether a partition of the topic is part of an open transaction.
    pub fn involves_topic(&self, topic: TopicId) -> bool {
        let involves = |id: &TransactionalId| {
            let open = self.by_id.get(id).and_then(Transactional::open);
            open.is_some_and(|open| open.partitions.iter().any(|partition| partition.topic == topic))
        };
        self.open.iter().any(|(_, id)| involves(id))
    }

    /// Whether the partition is part of a transaction that the producer has open.
    pub fn involves(&self, producer: ProducerId, partition: PartitionId) -> bool {
        let found = self.by_producer.get(&producer).and_then(|id| self.by_id.get(id));
        found.and_then(Transactional::open).is_some_and(|open| open.partitions.contains(&partition))
    }

    /// What there is to propose at `now`: an abort for each transaction whose time is over, `count_max` at most. Apply decides.
    pub fn timed_out(&self, now: TimestampMs, count_max: usize) -> Vec<SweepTransaction> {
        let due = self.open.iter().take_while(|(deadline, _)| *deadline <= now).take(count_max);
        due.filter_map(|(_, id)| {
            let found = self.by_id.get(id)?;
            let producer =
                TransactionalProducer { transactional_id: id.clone(), id: found.producer, epoch: found.epoch };
            Some(SweepTransaction::TimedOut { producer, started: found.open()?.started })
        })
        .collect()
    }

    /// Transactional ids after `after` that weren't used for `unused_ms` before `now`, and how far it was looked: all of them if
    /// `None`. Looks at `count_max` at most, so that nobody waits long.
    pub fn unused(
        &self,
        now: TimestampMs,
        unused_ms: i64,
        after: Option<&TransactionalId>,
        count_max: usize,
    ) -> (Vec<SweepTransaction>, Option<TransactionalId>) {
        let mut looked_to = None;
        let mut found = Vec::new();
        for (looked, (id, transactional)) in self.after(after).enumerate() {
            if looked == count_max {
                return (found, looked_to);
            }
            looked_to = Some(id.clone());
            if transactional.is_unused(now, unused_ms) {
                found.push(SweepTransaction::Unused { transactional_id: id.clone(), unused_ms });
            }
        }
        (found, None)
    }

    /// Puts a transactional id as a checkpoint kept it.
    pub fn restore(&mut self, id: TransactionalId, transactional: Transactional) {
        self.put(id.clone(), transactional);
        self.changed.remove(&id);
    }

    /// What changed since the last call, in order; `None` is to be dropped.
    pub fn take_changes(&mut self) -> Vec<(TransactionalId, Option<Bytes>)> {
        let changed = std::mem::take(&mut self.changed);
        let kept = |id: TransactionalId| {
            let bytes = self.by_id.get(&id).map(Transactional::encode);
            (id, bytes)
        };
        changed.into_iter().map(kept).collect()
    }

    /// The one place where anything is changed, so that what is looked up by stays true.
    pub(crate) fn put(&mut self, id: TransactionalId, transactional: Transactional) {
        self.remove(&id);
        if let Some(deadline) = transactional.deadline() {
            self.open.insert((deadline, id.clone()));
        }
        self.by_producer.insert(transactional.producer, id.clone());
        self.by_id.insert(id, transactional);
    }

    pub(crate) fn remove(&mut self, id: &TransactionalId) {
        if let Some(before) = self.by_id.remove(id) {
            self.by_producer.remove(&before.producer);
            if let Some(deadline) = before.deadline() {
                self.open.remove(&(deadline, id.clone()));
            }
        }
        self.changed.insert(id.clone());
    }
}

impl Transactional {
    pub(crate) fn is_unused(&self, now: TimestampMs, unused_ms: i64) -> bool {
        self.open().is_none() && self.updated.0.saturating_add(unused_ms) <= now.0
    }
}
