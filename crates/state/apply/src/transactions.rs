//! Transactions: the transactional ids decide, then partitions and groups follow, all in one apply.

use daybook_command::{
    AddToTransaction, AppendRefusal, AppendToTransaction, Appended, CommitOffsetsInTransaction, EndTransaction,
    InitProducer, ProducerIdAllocated, SweepTransaction, TransactionRefusal, TransactionalProducer,
};
use daybook_record::BatchHeader;
use daybook_shard::At;
use daybook_transaction::Ending;
use daybook_types::{PartitionId, ProducerEpoch, ProducerId, TimestampMs};

use crate::events::circumstances;
use crate::state::{Counters, ShardState};

impl ShardState {
    pub(crate) fn init_producer(
        &mut self,
        at: At,
        time: TimestampMs,
        init: &InitProducer,
    ) -> Result<ProducerIdAllocated, TransactionRefusal> {
        let counters = &mut self.counters;
        let initialised = self.posted.transactions.write().init(init, time, || counters.allocate_producer_id());
        let (told, ending) = initialised?;
        self.end_if(at, time, ending);
        Ok(told)
    }

    pub(crate) fn append_to_transaction(
        &mut self,
        at: At,
        time: TimestampMs,
        append: &AppendToTransaction,
    ) -> Result<Appended, AppendRefusal> {
        let id = append.partition;
        let unknown = AppendRefusal::UnknownPartition { partition: id };
        let Some(topic) = self.posted.catalog.read().topic_by_id(id.topic).cloned() else { return Err(unknown) };
        let Some(partition) = self.partitions.get_mut(&id) else { return Err(unknown) };
        if topic.settings.streams {
            return Err(TransactionRefusal::EventTopic { partition: id }.into());
        }
        let header = BatchHeader::read(&append.batch).map_err(|_| AppendRefusal::DamagedBatch)?;
        let producer = TransactionalProducer {
            transactional_id: append.transactional_id.clone(),
            id: header.producer_id,
            epoch: header.producer_epoch,
        };
        self.posted.transactions.write().admit(&producer, id, append.joins, time)?;
        let (appended, count) = partition.append_in_transaction(&append.batch, circumstances(at, time, &topic))?;
        if count > 0 {
            self.changed.partitions.insert(id);
            partition.log().wake();
        }
        Ok(appended)
    }

    pub(crate) fn add_to_transaction(
        &mut self,
        time: TimestampMs,
        add: &AddToTransaction,
    ) -> Result<(), TransactionRefusal> {
        for partition in &add.partitions {
            self.check_may_join(*partition)?;
        }
        self.posted.transactions.write().add(add, time)
    }

    pub(crate) fn commit_offsets_in_transaction(
        &mut self,
        at: At,
        time: TimestampMs,
        commit: &CommitOffsetsInTransaction,
    ) -> Result<(), TransactionRefusal> {
        let CommitOffsetsInTransaction { producer, joins, commit } = commit;
        self.posted.transactions.write().admit_group(producer, &commit.group, *joins, time)?;
        let partitions = &self.partitions;
        let exists = |partition| partitions.contains_key(&partition);
        self.posted.groups.write().commit_in_transaction(producer.id, commit, (at.lsn, time), exists);
        Ok(())
    }

    pub(crate) fn end_transaction(
        &mut self,
        at: At,
        time: TimestampMs,
        end: &EndTransaction,
    ) -> Result<ProducerIdAllocated, TransactionRefusal> {
        let counters = &mut self.counters;
        let ended = self.posted.transactions.write().end(end, time, || counters.allocate_producer_id());
        let (told, ending) = ended?;
        self.end_if(at, time, ending);
        Ok(told)
    }

    pub(crate) fn sweep_transaction(
        &mut self,
        at: At,
        time: TimestampMs,
        sweep: &SweepTransaction,
    ) -> Result<(), TransactionRefusal> {
        match sweep {
            SweepTransaction::TimedOut { producer, started } => {
                let ending = self.posted.transactions.write().time_out(producer, *started, time)?;
                self.end_if(at, time, Some(ending));
                Ok(())
            }
            SweepTransaction::Unused { transactional_id, unused_ms } => {
                self.posted.transactions.write().forget_unused(transactional_id, *unused_ms, time)
            }
            SweepTransaction::Hanging { partition, producer, epoch } => {
                self.abort_hanging(at, time, *partition, *producer, *epoch)
            }
        }
    }

    fn abort_hanging(
        &mut self,
        at: At,
        time: TimestampMs,
        partition: PartitionId,
        producer: ProducerId,
        epoch: ProducerEpoch,
    ) -> Result<(), TransactionRefusal> {
        let Some(found) = self.partitions.get(&partition) else {
            return Err(TransactionRefusal::UnknownPartition { partition });
        };
        let known = found.producer(producer);
        if let Some((current, _)) = known.filter(|(current, _)| epoch < *current) {
            return Err(TransactionRefusal::Fenced { epoch, current });
        }
        let whole = self.posted.transactions.write().abort_hanging(partition, producer, time);
        if whole.is_some() {
            self.end_if(at, time, whole);
        } else if known.is_some_and(|(_, is_open)| is_open) {
            let (partitions, groups) = ([partition].into(), Default::default());
            self.end_if(at, time, Some(Ending { producer, epoch, commits: false, partitions, groups }));
        }
        Ok(())
    }

    /// Markers into all partitions, offsets into all groups; then whoever waits is woken, when all of it is there.
    fn end_if(&mut self, at: At, time: TimestampMs, ending: Option<Ending>) {
        let Some(Ending { producer, epoch, commits, partitions, groups }) = ending else { return };
        for id in &partitions {
            // A topic may have been deleted meanwhile.
            let topic = self.posted.catalog.read().topic_by_id(id.topic).cloned();
            let (Some(topic), Some(partition)) = (topic, self.partitions.get_mut(id)) else { continue };
            partition.end_transaction(producer, epoch, commits, circumstances(at, time, &topic));
            self.changed.partitions.insert(*id);
        }
        self.posted.groups.write().end_transaction(producer, &groups, commits);
        for partition in partitions.iter().filter_map(|id| self.partitions.get(id)) {
            partition.log().wake();
        }
    }

    /// Events must not be seen before they are committed, and the index of streams has no place for what isn't.
    fn check_may_join(&self, partition: PartitionId) -> Result<(), TransactionRefusal> {
        match self.posted.catalog.read().topic_by_id(partition.topic) {
            Some(topic) if topic.settings.streams => Err(TransactionRefusal::EventTopic { partition }),
            Some(_) if self.partitions.contains_key(&partition) => Ok(()),
            _ => Err(TransactionRefusal::UnknownPartition { partition }),
        }
    }
}

impl Counters {
    pub(crate) fn allocate_producer_id(&mut self) -> ProducerId {
        let id = ProducerId(self.next_producer_id);
        self.next_producer_id += 1;
        id
    }
}
