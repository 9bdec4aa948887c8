//! The writer: one match, committed command → the states.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use daybook_catalog::{Catalog, TimestampKind, Topic};
use daybook_command::{
    AppendBatch, AppendRefusal, Appended, Command, Entry, Outcome, ProducerIdAllocated, TopicRefusal,
};
use daybook_partition::{Circumstances, Partition};
use daybook_shard::{At, Content, Posting};
use daybook_types::{Lsn, PartitionId, Position, ProducerEpoch, ProducerId, TimestampMs, TopicId};

use crate::posted::{Posted, leader_epoch};

/// All state of a shard.
#[derive(Debug)]
pub struct ShardState {
    pub(crate) posted: Arc<Posted>,
    pub(crate) partitions: HashMap<PartitionId, Partition>,
    pub(crate) counters: Counters,
    pub(crate) applied: Lsn,
    pub(crate) changed: Changed,
}

/// What is counted over the whole shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub next_position: Position,
    pub next_producer_id: i64,
}

/// What the next checkpoint must look at.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    pub topics: BTreeSet<TopicId>,
    pub partitions: BTreeSet<PartitionId>,
    /// Deleted, with the producers a checkpoint may hold for them.
    pub removed: BTreeMap<PartitionId, Vec<ProducerId>>,
}

impl Posting for ShardState {
    fn apply(&mut self, at: At, entry: &Entry) -> Vec<Outcome> {
        self.posted.set_term(at.term);
        let outcomes = entry.commands.iter().map(|command| self.apply_command(at, entry.time, command)).collect();
        self.applied = at.lsn;
        self.posted.set_applied(at.lsn);
        outcomes
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
        Self {
            posted: Arc::new(Posted::new(Catalog::default(), Default::default(), Default::default(), Lsn(0))),
            partitions: HashMap::new(),
            counters: Counters::default(),
            applied: Lsn(0),
            changed: Changed::default(),
        }
    }

    /// What readers share.
    pub fn posted(&self) -> Arc<Posted> {
        Arc::clone(&self.posted)
    }

    fn apply_command(&mut self, at: At, time: TimestampMs, command: &Command) -> Outcome {
        match command {
            Command::AppendBatch(append) => Outcome::AppendBatch(self.append(at, time, append)),
            Command::CreateTopic(create) => {
                let created = self.change_catalog(|catalog| catalog.create(create));
                Outcome::CreateTopic(created.map(|topic| self.create_partitions(topic.partition_ids())))
            }
            Command::DeleteTopic(delete) => {
                let deleted = self.change_catalog(|catalog| catalog.delete(*delete));
                Outcome::DeleteTopic(deleted.map(|topic| self.delete_partitions(&topic)))
            }
            Command::AlterTopicConfigs(alter) => {
                Outcome::AlterTopicConfigs(self.change_catalog(|catalog| catalog.alter_configs(alter)).map(drop))
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
                let id = ProducerId(self.counters.next_producer_id);
                self.counters.next_producer_id += 1;
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
            Command::PutSubscription(put) => Outcome::PutSubscription(self.posted.subscriptions.write().put(put)),
            Command::DeleteSubscription(delete) => {
                Outcome::DeleteSubscription(self.posted.subscriptions.write().delete(delete))
            }
        }
    }

    fn append(&mut self, at: At, time: TimestampMs, append: &AppendBatch) -> Result<Appended, AppendRefusal> {
        let id = append.partition;
        let unknown = AppendRefusal::UnknownPartition { partition: id };
        let partition = self.partitions.get_mut(&id).ok_or(unknown)?;
        let log_append_time = {
            let catalog = self.posted.catalog.read();
            let topic = catalog.topic_by_id(id.topic).ok_or(unknown)?;
            topic.settings.timestamp_kind == TimestampKind::LogAppendTime
        };
        let circumstances = Circumstances {
            leader_epoch: leader_epoch(at.term),
            time,
            position: self.counters.next_position,
            log_append_time,
        };
        let (appended, count) = partition.append(&append.batch, circumstances)?;
        if count > 0 {
            self.counters.next_position = self.counters.next_position.plus(count);
            self.changed.partitions.insert(id);
        }
        Ok(appended)
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
                self.changed.removed.insert(id, partition.producers().map(|(id, _)| id).collect());
            }
        }
        drop(logs);
        self.posted.groups.write().forget_topic(topic.id);
    }
}
