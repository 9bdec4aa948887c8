//! The writer: one match, committed command → the states.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use daybook_catalog::{Catalog, Topic};
use daybook_command::{
    AppendBatch, AppendRefusal, Appended, Command, CompactedTo, CompactionBounds, CompactionRefusal, ConfigResource,
    Entry, Outcome, ProducerIdAllocated, TopicRefusal, TrimPartition, TrimRefusal,
};
use daybook_event_stream::{EventStreams, PostedBatch};
use daybook_kv::KvError;
use daybook_partition::Partition;
use daybook_shard::{At, Content, Posting};
use daybook_types::{Lsn, Offset, PartitionId, ProducerEpoch, ProducerId, TimestampMs, TopicId};

use crate::events::{circumstances, facts};
use crate::posted::Posted;

/// All state of a shard.
#[derive(Debug)]
pub struct ShardState {
    pub(crate) posted: Arc<Posted>,
    pub(crate) partitions: HashMap<PartitionId, Partition>,
    pub(crate) streams: EventStreams,
    pub(crate) counters: Counters,
    pub(crate) applied: Lsn,
    pub(crate) changed: Changed,
}

/// What is counted over the whole shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub next_producer_id: i64,
}

/// What the next checkpoint must look at.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    pub topics: BTreeSet<TopicId>,
    /// What isn't a topic and has other configs.
    pub configs: BTreeSet<ConfigResource>,
    pub partitions: BTreeSet<PartitionId>,
    /// Deleted, with what a checkpoint may hold for them.
    pub removed: BTreeMap<PartitionId, Removed>,
}

/// What a checkpoint may hold of a partition that was deleted.
#[derive(Debug)]
pub(crate) struct Removed {
    pub producers: Vec<ProducerId>,
    /// Markers of aborted transactions.
    pub aborted: Vec<Offset>,
}

impl Posting for ShardState {
    fn apply(&mut self, at: At, entry: &Entry) -> Result<Vec<Outcome>, KvError> {
        self.posted.set_term(at.term);
        let outcomes: Result<_, _> =
            entry.commands.iter().map(|command| self.apply_command(at, entry.time, command)).collect();
        let outcomes = outcomes?;
        self.applied = at.lsn;
        self.posted.set_applied(at.lsn);
        Ok(outcomes)
    }

    fn pass(&mut self, at: At) {
        self.posted.set_term(at.term);
        self.applied = at.lsn;
        self.posted.set_applied(at.lsn);
    }

    fn take_content(&mut self) -> Content {
        self.take_checkpoint_content()
    }
}

impl ShardState {
    /// State before the first entry.
    pub fn empty() -> Self {
        let streams = EventStreams::empty();
        let index = Arc::clone(streams.index());
        Self {
            posted: Arc::new(Posted::new(
                Catalog::default(),
                Default::default(),
                Default::default(),
                Default::default(),
                index,
                Lsn(0),
            )),
            partitions: HashMap::new(),
            streams,
            counters: Counters::default(),
            applied: Lsn(0),
            changed: Changed::default(),
        }
    }

    /// What readers share.
    pub fn posted(&self) -> Arc<Posted> {
        Arc::clone(&self.posted)
    }

    fn apply_command(&mut self, at: At, time: TimestampMs, command: &Command) -> Result<Outcome, KvError> {
        Ok(match command {
            Command::AppendBatch(append) => Outcome::AppendBatch(self.append(at, time, append)?),
            Command::AppendEvents(append) => Outcome::AppendEvents(self.append_events(at, time, append)?),
            Command::IndexRecords(index) => {
                self.index_records(index)?;
                Outcome::IndexRecords
            }
            Command::CreateTopic(create) => {
                let created = self.change_catalog(|catalog| catalog.create(create));
                Outcome::CreateTopic(created.map(|topic| {
                    self.create_partitions(topic.partition_ids());
                    self.look_at_streams(&topic);
                }))
            }
            Command::DeleteTopic(delete) => {
                let deleted = self.change_catalog(|catalog| catalog.delete(*delete));
                Outcome::DeleteTopic(deleted.map(|topic| self.delete_partitions(&topic)))
            }
            Command::AlterTopicConfigs(alter) => {
                let posted = Arc::clone(&self.posted);
                let is_in_transaction = || posted.transactions.read().involves_topic(alter.id);
                let altered = self.change_catalog(|catalog| catalog.alter_configs(alter, is_in_transaction));
                Outcome::AlterTopicConfigs(altered.map(|topic| self.look_at_streams(&topic)))
            }
            Command::CreatePartitions(create) => {
                let mut before = 0;
                let grown = self.change_catalog(|catalog| {
                    let (old, new) = catalog.create_partitions(*create)?;
                    before = old.partitions as usize;
                    Ok(new)
                });
                Outcome::CreatePartitions(grown.map(|topic| self.create_partitions(topic.partition_ids().skip(before))))
            }
            Command::AllocateProducerId(_) => {
                let id = self.counters.allocate_producer_id();
                Outcome::AllocateProducerId(ProducerIdAllocated { id, epoch: ProducerEpoch(0) })
            }
            Command::CommitOffsets(commit) => {
                let partitions = &self.partitions;
                let exists = |partition| partitions.contains_key(&partition);
                self.posted.groups.write().commit(commit, time, exists);
                Outcome::CommitOffsets
            }
            Command::DeleteGroup(delete) => Outcome::DeleteGroup(self.posted.groups.write().delete(delete)),
            Command::DeleteOffsets(delete) => Outcome::DeleteOffsets(self.posted.groups.write().delete_offsets(delete)),
            Command::AlterConfigs(alter) => {
                let mut catalog = self.posted.catalog.write();
                let altered = Arc::make_mut(&mut catalog).alter_other_configs(alter);
                if altered.is_ok() {
                    self.changed.configs.insert(alter.resource.clone());
                }
                Outcome::AlterConfigs(altered)
            }
            Command::PutSubscription(put) => Outcome::PutSubscription(self.posted.subscriptions.write().put(put)),
            Command::DeleteSubscription(delete) => {
                Outcome::DeleteSubscription(self.posted.subscriptions.write().delete(delete))
            }
            Command::TrimPartition(trim) => Outcome::TrimPartition(self.trim(trim)),
            Command::CompactedTo(compacted) => Outcome::CompactedTo(self.compact(time, compacted)),
            Command::PutSharePartition(put) => {
                let partitions = &self.partitions;
                let exists = |partition| partitions.contains_key(&partition);
                Outcome::PutSharePartition(self.posted.share_groups.write().put(put, exists))
            }
            Command::DeleteShareState(delete) => {
                Outcome::DeleteShareState(self.posted.share_groups.write().delete(delete))
            }
            Command::AlterGroupConfigs(alter) => {
                Outcome::AlterGroupConfigs(self.posted.group_configs.write().alter(alter))
            }
            Command::AppendToTransaction(append) => {
                Outcome::AppendToTransaction(self.append_to_transaction(at, time, append))
            }
            Command::InitProducer(init) => Outcome::InitProducer(self.init_producer(at, time, init)),
            Command::AddToTransaction(add) => Outcome::AddToTransaction(self.add_to_transaction(time, add)),
            Command::CommitOffsetsInTransaction(commit) => {
                Outcome::CommitOffsetsInTransaction(self.commit_offsets_in_transaction(at, time, commit))
            }
            Command::EndTransaction(end) => Outcome::EndTransaction(self.end_transaction(at, time, end)),
            Command::SweepTransaction(sweep) => Outcome::SweepTransaction(self.sweep_transaction(at, time, sweep)),
        })
    }

    fn append(
        &mut self,
        at: At,
        time: TimestampMs,
        append: &AppendBatch,
    ) -> Result<Result<Appended, AppendRefusal>, KvError> {
        let id = append.partition;
        let unknown = AppendRefusal::UnknownPartition { partition: id };
        let Some(topic) = self.posted.catalog.read().topic_by_id(id.topic).map(Arc::clone) else {
            return Ok(Err(unknown));
        };
        let Some(partition) = self.partitions.get_mut(&id) else { return Ok(Err(unknown)) };
        let circumstances = circumstances(at, time, &topic);
        if !topic.settings.streams {
            let appended = partition.append(&append.batch, circumstances).map(|(appended, count)| {
                if count > 0 {
                    self.changed.partitions.insert(id);
                    partition.log().wake();
                }
                appended
            });
            return Ok(appended);
        }
        match partition.repeated(&append.batch) {
            Ok(None) => {}
            Ok(Some(answer)) => return Ok(Ok(answer)),
            Err(refusal) => return Ok(Err(refusal)),
        }
        let Some(facts) = facts(&append.batch) else { return Ok(Err(AppendRefusal::DamagedBatch)) };
        if let Err(refusal) = self.streams.check_expectations(id.topic, &facts)? {
            return Ok(Err(refusal));
        }
        match partition.append(&append.batch, circumstances) {
            Ok((appended, _)) => {
                self.changed.partitions.insert(id);
                // Where the index is being built, what comes later waits for what came before.
                if self.streams.pending(id.topic, id.index).is_none() {
                    let base = appended.base_offset;
                    self.streams.post(&[PostedBatch { topic: id.topic, partition: id.index, base, facts: &facts }])?;
                }
                partition.log().wake();
                Ok(Ok(appended))
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    fn trim(&mut self, trim: &TrimPartition) -> Result<Offset, TrimRefusal> {
        let id = trim.partition;
        let (Some(topic), Some(partition)) =
            (self.posted.catalog.read().topic_by_id(id.topic).cloned(), self.partitions.get_mut(&id))
        else {
            return Err(TrimRefusal::UnknownPartition { partition: id });
        };
        if !topic.settings.cleanup_delete {
            return Err(TrimRefusal::Policy { partition: id });
        }
        self.changed.partitions.insert(id);
        partition.trim(trim.to)
    }

    fn compact(&mut self, time: TimestampMs, compacted: &CompactedTo) -> Result<CompactionBounds, CompactionRefusal> {
        let id = compacted.partition;
        let (Some(topic), Some(partition)) =
            (self.posted.catalog.read().topic_by_id(id.topic).cloned(), self.partitions.get_mut(&id))
        else {
            return Err(CompactionRefusal::UnknownPartition { partition: id });
        };
        if !topic.settings.is_compacted() {
            return Err(CompactionRefusal::Policy { partition: id });
        }
        self.changed.partitions.insert(id);
        partition.compact(compacted, time, topic.settings.delete_retention_ms)
    }

    fn change_catalog(
        &mut self,
        change: impl FnOnce(&mut Catalog) -> Result<Arc<Topic>, TopicRefusal>,
    ) -> Result<Arc<Topic>, TopicRefusal> {
        let mut catalog = self.posted.catalog.write();
        // Copies only if a reader still holds the catalog as it was.
        let topic = change(Arc::make_mut(&mut catalog))?;
        self.changed.topics.insert(topic.id);
        Ok(topic)
    }

    fn create_partitions(&mut self, ids: impl Iterator<Item = PartitionId>) {
        let mut logs = self.posted.logs.write();
        for id in ids {
            let partition = Partition::create(id);
            logs.insert(id, Arc::clone(partition.log()));
            self.partitions.insert(id, partition);
            self.changed.partitions.insert(id);
        }
    }

    fn delete_partitions(&mut self, topic: &Topic) {
        let mut logs = self.posted.logs.write();
        for id in topic.partition_ids() {
            logs.remove(&id);
            self.changed.partitions.remove(&id);
            if let Some(partition) = self.partitions.remove(&id) {
                partition.close();
                let producers = partition.producers().into_iter().map(|(id, _)| id).collect();
                let aborted =
                    partition.log().look(|tail| tail.aborted.iter().map(|aborted| aborted.last_offset).collect());
                self.changed.removed.insert(id, Removed { producers, aborted });
            }
        }
        drop(logs);
        self.streams.drop_topic(topic.id);
        self.posted.groups.write().forget_topic(topic.id);
        self.posted.share_groups.write().forget_topic(topic.id);
    }
}
