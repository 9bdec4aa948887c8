//! Each step of a transaction: whether it may be taken, and what it makes of the state.

use daybook_command::{
    AddToTransaction, EndTransaction, InitProducer, ProducerIdAllocated, TransactionRefusal, TransactionalProducer,
};
use daybook_types::{GroupId, PartitionId, ProducerEpoch, ProducerId, TimestampMs, TransactionalId};

use crate::transactional::is_exhausted;
use crate::{Ending, GROUPS_MAX, Open, Phase, TRANSACTIONAL_IDS_MAX, Transactional, Transactions};

/// Gives producer ids never given before.
pub trait ProducerIds {
    fn allocate(&mut self) -> ProducerId;
}

impl<F: FnMut() -> ProducerId> ProducerIds for F {
    fn allocate(&mut self) -> ProducerId {
        self()
    }
}

impl Transactions {
    /// Gives a transactional id to whoever asks, and fences whoever had it. An open transaction ends, aborted.
    pub fn init(
        &mut self,
        init: &InitProducer,
        time: TimestampMs,
        mut ids: impl ProducerIds,
    ) -> Result<(ProducerIdAllocated, Option<Ending>), TransactionRefusal> {
        let id = &init.transactional_id;
        let Some(before) = self.by_id.get(id) else {
            if self.by_id.len() >= TRANSACTIONAL_IDS_MAX {
                return Err(TransactionRefusal::TooManyIds { max: TRANSACTIONAL_IDS_MAX });
            }
            let new = Transactional {
                producer: ids.allocate(),
                epoch: ProducerEpoch(0),
                previous_producer: ProducerId::NONE,
                previous_epoch: ProducerEpoch::NONE,
                timeout_ms: init.timeout_ms,
                phase: Phase::Empty,
                updated: time,
            };
            return Ok((self.put_and_tell(id, new), None));
        };
        let mut next = Transactional { timeout_ms: init.timeout_ms, updated: time, ..before.clone() };
        let ending = next.abort_open();
        match init.expected {
            None => next.take_epoch(ProducerEpoch::NONE, &mut ids),
            Some((producer, epoch)) => {
                let is_repeated_rotation = producer == before.previous_producer && is_exhausted(epoch);
                if producer != before.producer && !is_repeated_rotation {
                    return Err(TransactionRefusal::Fenced { epoch, current: before.epoch });
                }
                if producer == before.producer && epoch == before.epoch {
                    next.take_epoch(epoch, &mut ids);
                } else if epoch == before.previous_epoch && ending.is_none() {
                    // It asks again: the answer of the first time got lost.
                    next.phase = Phase::Empty;
                } else {
                    return Err(TransactionRefusal::Fenced { epoch, current: before.epoch });
                }
            }
        }
        Ok((self.put_and_tell(id, next), ending))
    }

    /// Whether the producer may write to the partition in a transaction. With `joins` it may to any.
    pub fn admit(
        &mut self,
        producer: &TransactionalProducer,
        partition: PartitionId,
        joins: bool,
        time: TimestampMs,
    ) -> Result<(), TransactionRefusal> {
        let found = self.current(producer)?;
        match found.open() {
            Some(open) if open.partitions.contains(&partition) => Ok(()),
            _ if !joins => Err(TransactionRefusal::PartitionNotAdded { partition }),
            _ => {
                self.change_open(&producer.transactional_id, time, |open| {
                    open.partitions.insert(partition);
                });
                Ok(())
            }
        }
    }

    /// Whether the producer may commit offsets of the group in a transaction. With `joins` it may of any.
    pub fn admit_group(
        &mut self,
        producer: &TransactionalProducer,
        group: &GroupId,
        joins: bool,
        time: TimestampMs,
    ) -> Result<(), TransactionRefusal> {
        let found = self.current(producer)?;
        match found.open() {
            Some(open) if open.groups.contains(group) => Ok(()),
            _ if !joins => Err(TransactionRefusal::GroupNotAdded { group: group.clone() }),
            _ => self.add_all(producer, &[], std::slice::from_ref(group), time),
        }
    }

    /// Adds to the open transaction; begins one if there is none.
    pub fn add(&mut self, add: &AddToTransaction, time: TimestampMs) -> Result<(), TransactionRefusal> {
        self.add_all(&add.producer, &add.partitions, &add.groups, time)
    }

    fn add_all(
        &mut self,
        producer: &TransactionalProducer,
        partitions: &[PartitionId],
        groups: &[GroupId],
        time: TimestampMs,
    ) -> Result<(), TransactionRefusal> {
        let groups_before = self.current(producer)?.open().map_or(0, |open| open.groups.len());
        if groups_before + groups.len() > GROUPS_MAX {
            return Err(TransactionRefusal::TooManyGroups { max: GROUPS_MAX });
        }
        self.change_open(&producer.transactional_id, time, |open| {
            open.partitions.extend(partitions);
            open.groups.extend(groups.iter().cloned());
        });
        Ok(())
    }

    /// Changes the open transaction of an id that is known; begins one if there is none.
    fn change_open(&mut self, id: &TransactionalId, time: TimestampMs, change: impl FnOnce(&mut Open)) {
        let Some(found) = self.by_id.get_mut(id) else { return };
        found.updated = time;
        if let Phase::Ongoing(open) = &mut found.phase {
            change(open);
            self.changed.insert(id.clone());
            return;
        }
        let mut open = Open::at(time);
        change(&mut open);
        let next = Transactional { phase: Phase::Ongoing(open), ..found.clone() };
        self.put(id.clone(), next);
    }

    /// Ends the producer's transaction as it asks, or tells again what an end told before.
    pub fn end(
        &mut self,
        end: &EndTransaction,
        time: TimestampMs,
        ids: impl ProducerIds,
    ) -> Result<(ProducerIdAllocated, Option<Ending>), TransactionRefusal> {
        let id = &end.producer.transactional_id;
        let found = self.by_id.get(id).ok_or_else(|| TransactionRefusal::UnknownId { transactional_id: id.clone() })?;
        let taken = if end.bumps_epoch { found.end_with_bump(end, time, ids) } else { found.end_plainly(end, time) };
        match taken? {
            None => Ok((found.told(), None)),
            Some((next, ending)) => Ok((self.put_and_tell(id, next), ending)),
        }
    }

    /// Aborts a transaction that is still open and whose time is over at `time`. The producer is fenced.
    pub fn time_out(
        &mut self,
        producer: &TransactionalProducer,
        started: TimestampMs,
        time: TimestampMs,
    ) -> Result<Ending, TransactionRefusal> {
        let found = self.current(producer)?;
        let is_due = found.open().is_some_and(|open| open.started == started)
            && found.deadline().is_some_and(|deadline| deadline <= time);
        if !is_due {
            return Err(TransactionRefusal::InvalidState { state: found.phase.name(), wish: "timed out" });
        }
        let wish = "timed out";
        self.fence(&producer.transactional_id.clone(), time)
            .ok_or(TransactionRefusal::InvalidState { state: "not open", wish })
    }

    /// Aborts the transaction of which a partition's records of this producer are part, and fences it. `None` if there is none.
    pub fn abort_hanging(&mut self, partition: PartitionId, producer: ProducerId, time: TimestampMs) -> Option<Ending> {
        if !self.involves(producer, partition) {
            return None;
        }
        let id = self.by_producer.get(&producer)?.clone();
        self.fence(&id, time)
    }

    /// Forgets a transactional id that nobody used for `unused_ms`.
    pub fn forget_unused(
        &mut self,
        id: &TransactionalId,
        unused_ms: i64,
        time: TimestampMs,
    ) -> Result<(), TransactionRefusal> {
        let found = self.by_id.get(id).ok_or_else(|| TransactionRefusal::UnknownId { transactional_id: id.clone() })?;
        if !found.is_unused(time, unused_ms) {
            return Err(TransactionRefusal::InvalidState { state: found.phase.name(), wish: "forgotten" });
        }
        self.remove(id);
        Ok(())
    }

    fn fence(&mut self, id: &TransactionalId, time: TimestampMs) -> Option<Ending> {
        let mut next = self.by_id.get(id)?.clone();
        let ending = next.abort_open()?;
        next.epoch = ending.epoch;
        next.previous_epoch = ProducerEpoch::NONE;
        next.phase = Phase::Aborted;
        next.updated = time;
        self.put(id.clone(), next);
        Some(ending)
    }

    /// The state of the one who speaks, if it still is who it says.
    fn current(&self, producer: &TransactionalProducer) -> Result<&Transactional, TransactionRefusal> {
        let transactional_id = &producer.transactional_id;
        let unknown = || TransactionRefusal::UnknownId { transactional_id: transactional_id.clone() };
        let found = self.by_id.get(transactional_id).ok_or_else(unknown)?;
        if found.producer != producer.id {
            return Err(found.not(producer));
        }
        if found.epoch != producer.epoch {
            return Err(TransactionRefusal::Fenced { epoch: producer.epoch, current: found.epoch });
        }
        Ok(found)
    }

    fn put_and_tell(&mut self, id: &TransactionalId, transactional: Transactional) -> ProducerIdAllocated {
        let told = transactional.told();
        self.put(id.clone(), transactional);
        told
    }
}

/// The state after an end, with what is to be done; nothing if it was ended that way before.
type Ended = Result<Option<(Transactional, Option<Ending>)>, TransactionRefusal>;

impl Transactional {
    fn told(&self) -> ProducerIdAllocated {
        ProducerIdAllocated { id: self.producer, epoch: self.epoch }
    }

    /// The epoch stays, so an end is told from its repetition by the state alone.
    fn end_plainly(&self, end: &EndTransaction, time: TimestampMs) -> Ended {
        if end.producer.id != self.producer {
            return Err(self.not(&end.producer));
        }
        if end.producer.epoch != self.epoch {
            return Err(self.fenced(&end.producer));
        }
        match (&self.phase, end.commits) {
            (Phase::Ongoing(open), commits) => {
                let next = Self { phase: Phase::ended(commits), updated: time, ..self.clone() };
                Ok(Some((next, Some(self.ending(open, self.epoch, commits)))))
            }
            (Phase::Committed, true) | (Phase::Aborted, false) => Ok(None),
            _ => Err(self.invalid(end)),
        }
    }

    /// The epoch grows, so an end with the one before is a repetition, and one with the current one is of what came after. What
    /// came after may be nothing: an abort of nothing still bumps, because a batch may be on its way (KIP-890).
    fn end_with_bump(&self, end: &EndTransaction, time: TimestampMs, mut ids: impl ProducerIds) -> Ended {
        let TransactionalProducer { id, epoch, .. } = end.producer;
        let is_repeated_rotation =
            id == self.previous_producer && is_exhausted(epoch) && self.epoch == ProducerEpoch(0);
        if id != self.producer && !is_repeated_rotation {
            return Err(self.not(&end.producer));
        }
        let is_ended = matches!(self.phase, Phase::Committed | Phase::Aborted);
        let is_repeated = is_ended && (is_repeated_rotation || epoch.next() == self.epoch);
        if is_repeated {
            return if self.phase == Phase::ended(end.commits) { Ok(None) } else { Err(self.invalid(end)) };
        }
        if id != self.producer || epoch != self.epoch {
            return Err(self.fenced(&end.producer));
        }
        let ending = match (&self.phase, end.commits) {
            (Phase::Ongoing(open), commits) => Some(self.ending(open, epoch.next(), commits)),
            (_, false) => None,
            (_, true) => return Err(self.invalid(end)),
        };
        let mut next = Self { phase: Phase::ended(end.commits), updated: time, ..self.clone() };
        if self.is_exhausted() {
            next.rotate(epoch, &mut ids);
        } else {
            (next.previous_epoch, next.epoch) = (epoch, epoch.next());
        }
        Ok(Some((next, ending)))
    }

    /// Ends what is open, aborted, with markers of the next epoch. The phase is the caller's to set.
    fn abort_open(&mut self) -> Option<Ending> {
        let open = self.open()?;
        Some(self.ending(open, self.epoch.next(), false))
    }

    /// A new epoch, of a new producer id if this one's are used up.
    fn take_epoch(&mut self, previous: ProducerEpoch, ids: &mut impl ProducerIds) {
        self.phase = Phase::Empty;
        if self.is_exhausted() {
            self.rotate(previous, ids);
        } else {
            self.epoch = self.epoch.next();
            self.previous_epoch = previous;
        }
    }

    fn rotate(&mut self, previous: ProducerEpoch, ids: &mut impl ProducerIds) {
        self.previous_producer = self.producer;
        self.producer = ids.allocate();
        self.epoch = ProducerEpoch(0);
        self.previous_epoch = previous;
    }

    fn ending(&self, open: &Open, epoch: ProducerEpoch, commits: bool) -> Ending {
        let Open { partitions, groups, .. } = open.clone();
        Ending { producer: self.producer, epoch, commits, partitions, groups }
    }

    fn not(&self, producer: &TransactionalProducer) -> TransactionRefusal {
        let transactional_id = producer.transactional_id.clone();
        TransactionRefusal::OtherProducer { transactional_id, producer: producer.id, current: self.producer }
    }

    fn fenced(&self, producer: &TransactionalProducer) -> TransactionRefusal {
        TransactionRefusal::Fenced { epoch: producer.epoch, current: self.epoch }
    }

    fn invalid(&self, end: &EndTransaction) -> TransactionRefusal {
        let wish = if end.commits { "committed" } else { "aborted" };
        TransactionRefusal::InvalidState { state: self.phase.name(), wish }
    }
}

impl Phase {
    fn ended(commits: bool) -> Self {
        if commits { Self::Committed } else { Self::Aborted }
    }
}
