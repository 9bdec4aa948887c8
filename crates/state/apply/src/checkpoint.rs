//! What a checkpoint keeps of the state, and how the state comes back from it.
//!
//! Keys (disk format): topics by id; partitions by id and a zero byte; producers by partition and producer id; committed
//! offsets and share-partitions by group name, a zero byte, and partition; pending offsets by the same and the producer id;
//! transactional ids by name; aborted transactions by partition and their marker's offset; subscriptions and configs of groups by
//! name; configs of brokers, client metrics and quotas by kind and name; counters under `state`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_catalog::{Catalog, DynamicConfigs, StoredTopicError, Topic};
use daybook_command::{ConfigResource, ResourceKind};
use daybook_consumer_group::{
    GroupConfigs, Groups, StoredGroupError, decode_configs, decode_offset, decode_pending, encode_configs,
    encode_offset, encode_pending,
};
use daybook_event_stream::EventStreams;
use daybook_kv::{KvError, Op, Space, Store};
use daybook_partition::{
    AbortedIndex, AbortedTransaction, Compaction, Partition, PartitionChanges, PartitionLog, ProducerWindow,
    StoredPartition, StoredPartitionError, TailBatch,
};
use daybook_record::BatchHeader;
use daybook_segment::{Roll, StampedBatch};
use daybook_shard::{Content, PartitionAppend};
use daybook_share_group::{ShareGroups, StoredShareError, decode_state, encode_state};
use daybook_subscription::Subscriptions;
use daybook_transaction::{StoredTransactionError, Transactional, Transactions};
use daybook_types::{
    FaultKind, GroupId, Lsn, Offset, PartitionId, PartitionIndex, ProducerId, TopicId, TransactionalId,
};
use thiserror::Error;

use crate::posted::Posted;
use crate::state::{Changed, Counters, Removed, ShardState};

const STATE_KEY: &[u8] = b"state";
const STATE_FORMAT_VERSION: u8 = 2;
/// Until this version another number stood before the next producer id.
const POSITION_UNTIL: u8 = 1;
const PARTITION_KEY_BYTES: usize = 20;
/// After a partition's id: its state. The shard keeps the ends of its files under another byte.
const PARTITION_STATE: u8 = 0;
/// And how far it is to be compacted, if it ever was.
const PARTITION_COMPACTION: u8 = 2;

/// Why stored state can't be read.
#[derive(Debug, Error)]
pub enum RestoreError {
    #[error(transparent)]
    Index(#[from] KvError),
    #[error("topic {topic}: {source}")]
    Topic { topic: TopicId, source: StoredTopicError },
    #[error("configs of {resource}: {source}")]
    Configs { resource: ConfigResource, source: StoredTopicError },
    #[error("partition {partition}: {source}")]
    Partition { partition: PartitionId, source: StoredPartitionError },
    #[error("group {group}: {source}")]
    Group { group: GroupId, source: StoredGroupError },
    #[error("share group {group}: {source}")]
    ShareGroup { group: GroupId, source: StoredShareError },
    #[error("transactional id {id}: {source}")]
    Transaction { id: TransactionalId, source: StoredTransactionError },
    #[error(transparent)]
    Streams(#[from] daybook_event_stream::RestoreError),
    #[error("the index store has a malformed key in the space of {space}")]
    Key { space: Space },
    #[error("partition {partition} belongs to no topic")]
    Stray { partition: PartitionId },
    #[error("the counters are malformed or of a newer format")]
    Counters,
}

impl RestoreError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Index(error) => error.kind(),
            Self::Streams(error) => error.kind(),
            _ => FaultKind::Corrupt,
        }
    }
}

impl ShardState {
    /// The state as of the last checkpoint; empty if there was none.
    pub fn restore(kv: &Arc<Store>) -> Result<Self, RestoreError> {
        let catalog = restore_catalog(kv)?;
        let groups = restore_groups(kv)?;
        let mut producers = restore_producers(kv)?;
        let mut compactions = restore_compactions(kv)?;
        let mut aborted = restore_aborted(kv)?;
        let (counters, applied) = match kv.get(Space::Meta, STATE_KEY)? {
            Some(bytes) => decode_counters(bytes).ok_or(RestoreError::Counters)?,
            None => (Counters::default(), Lsn(0)),
        };
        let streams = EventStreams::restore(kv)?;
        let (subscriptions, transactions) = (restore_subscriptions(kv)?, restore_transactions(kv)?);
        let posted = Posted::new(catalog, groups, subscriptions, transactions, Arc::clone(streams.index()), applied);
        *posted.share_groups.write() = restore_share_groups(kv)?;
        *posted.group_configs.write() = restore_group_configs(kv)?;
        let mut partitions = HashMap::new();
        for item in kv.scan(Space::Partitions, &[]) {
            let (key, value) = item?;
            let (id, which) = split_partition_key(&key).ok_or(RestoreError::Key { space: Space::Partitions })?;
            if which != [PARTITION_STATE] {
                continue;
            }
            if posted.catalog.read().topic_by_id(id.topic).is_none() {
                return Err(RestoreError::Stray { partition: id });
            }
            let stored =
                StoredPartition::decode(value).map_err(|source| RestoreError::Partition { partition: id, source })?;
            let (producers, aborted) = (producers.remove(&id), aborted.remove(&id));
            let aborted = AbortedIndex::restore(aborted.unwrap_or_default());
            let (producers, compaction) = (producers.unwrap_or_default(), compactions.remove(&id).unwrap_or_default());
            let partition = Partition::restore(id, stored, producers, compaction, aborted);
            posted.logs.write().insert(id, Arc::clone(partition.log()));
            partitions.insert(id, partition);
        }
        Ok(Self { posted: Arc::new(posted), partitions, streams, counters, applied, changed: Changed::default() })
    }

    pub(crate) fn take_checkpoint_content(&mut self) -> Content {
        let Changed { topics, configs, partitions, removed } = std::mem::take(&mut self.changed);
        let catalog = self.posted.catalog();
        let mut ops = Vec::new();
        for id in topics {
            let key = Bytes::copy_from_slice(id.as_bytes());
            ops.push(put_or_remove(Space::Topics, key, catalog.topic_by_id(id).map(|topic| topic.encode())));
        }
        for resource in configs {
            let value = catalog.dynamic_configs().encode(&resource);
            ops.push(put_or_remove(Space::Configs, config_key(&resource), value));
        }
        for (id, Removed { producers, aborted }) in &removed {
            for which in [PARTITION_STATE, PARTITION_COMPACTION] {
                ops.push(Op::Remove { space: Space::Partitions, key: partition_key(*id, &[which]) });
            }
            for producer in producers {
                ops.push(Op::Remove { space: Space::Producers, key: producer_key(*id, *producer) });
            }
            for marker in aborted {
                ops.push(Op::Remove { space: Space::Aborted, key: aborted_key(*id, *marker) });
            }
        }
        let mut appends = Vec::new();
        let mut trims = Vec::new();
        let mut published = Vec::new();
        for id in partitions {
            let Some(partition) = self.partitions.get_mut(&id) else { continue };
            let Some(changes) = partition.take_changes() else { continue };
            let PartitionChanges { stored, producers, aborted, compaction, is_trimmed } = changes;
            if is_trimmed {
                trims.push((id, stored.start));
            }
            if let Some(value) = compaction {
                ops.push(Op::Put { space: Space::Partitions, key: partition_key(id, &[PARTITION_COMPACTION]), value });
            }
            let key = partition_key(id, &[PARTITION_STATE]);
            ops.push(Op::Put { space: Space::Partitions, key, value: stored.encode() });
            for (producer, window) in producers {
                ops.push(put_or_remove(Space::Producers, producer_key(id, producer), window));
            }
            for (marker, transaction) in aborted {
                ops.push(put_or_remove(Space::Aborted, aborted_key(id, marker), transaction));
            }
            if let Some(topic) = catalog.topic_by_id(id.topic) {
                let batches: Vec<StampedBatch> =
                    partition.log().look(|tail| tail.batches.iter().filter_map(stamped).collect());
                if !batches.is_empty() {
                    appends.push(PartitionAppend { partition: id, batches, roll: roll(topic) });
                    published.push((Arc::clone(partition.log()), stored.end));
                }
            }
        }
        let mut groups = self.posted.groups.write();
        for change in groups.take_changes() {
            let value = change.offset.map(|(offset, protocol_type)| encode_offset(&offset, &protocol_type));
            ops.push(put_or_remove(Space::Groups, group_key(&change.group, change.partition), value));
        }
        for change in groups.take_pending_changes() {
            let key = pending_key(&change.group, change.partition, change.producer);
            ops.push(put_or_remove(Space::PendingOffsets, key, change.offset.as_ref().map(encode_pending)));
        }
        drop(groups);
        for (id, transactional) in self.posted.transactions.write().take_changes() {
            let key = Bytes::copy_from_slice(id.as_str().as_bytes());
            ops.push(put_or_remove(Space::Transactions, key, transactional));
        }
        for (name, body) in self.posted.subscriptions.write().take_changes() {
            ops.push(put_or_remove(Space::Subscriptions, Bytes::from(name), body));
        }
        for change in self.posted.share_groups.write().take_changes() {
            let value = change.state.as_ref().map(encode_state);
            ops.push(put_or_remove(Space::ShareGroups, group_key(&change.group, change.partition), value));
        }
        for (group, configs) in self.posted.group_configs.write().take_changes() {
            let key = Bytes::copy_from_slice(group.as_str().as_bytes());
            ops.push(put_or_remove(Space::GroupConfigs, key, configs.as_ref().map(encode_configs)));
        }
        let state = encode_counters(self.counters, self.applied);
        ops.push(Op::Put { space: Space::Meta, key: Bytes::from_static(STATE_KEY), value: state });
        let frozen = self.streams.freeze();
        let mut written = frozen.clone();
        Content {
            appends,
            ops,
            more_ops: Box::new(move |kv| written.ops(kv)),
            removed: removed.into_keys().collect(),
            trims,
            published: Box::new(move || {
                forget(published);
                frozen.let_go();
            }),
        }
    }
}

fn forget(published: Vec<(Arc<PartitionLog>, Offset)>) {
    for (log, end) in published {
        log.forget_below(end);
    }
}

fn roll(topic: &Topic) -> Roll {
    Roll {
        segment_bytes: topic.settings.segment_bytes,
        segment_ms: topic.settings.segment_ms_max(),
        index_interval_bytes: topic.settings.index_interval_bytes.into(),
    }
}

/// The batch with the offsets it got. Every batch in a tail has been read by apply, so none is left out.
fn stamped(batch: &TailBatch) -> Option<StampedBatch> {
    let mut header = BatchHeader::read(&batch.bytes).ok()?;
    header.base_offset = batch.base_offset;
    header.leader_epoch = batch.leader_epoch;
    Some(StampedBatch { head: batch.head(), header, bytes: batch.bytes.clone() })
}

fn restore_catalog(kv: &Store) -> Result<Catalog, RestoreError> {
    let mut catalog = Catalog::default();
    let mut configs = DynamicConfigs::default();
    for item in kv.scan(Space::Configs, &[]) {
        let (key, value) = item?;
        let resource = split_config_key(&key).ok_or(RestoreError::Key { space: Space::Configs })?;
        let read = configs.restore(resource.clone(), value);
        read.map_err(|source| RestoreError::Configs { resource, source })?;
    }
    catalog.restore_configs(configs);
    for item in kv.scan(Space::Topics, &[]) {
        let (key, value) = item?;
        let id = <[u8; 16]>::try_from(key.as_ref()).map_err(|_| RestoreError::Key { space: Space::Topics })?;
        let id = TopicId::from_bytes(id);
        catalog.restore(Topic::decode(id, value).map_err(|source| RestoreError::Topic { topic: id, source })?);
    }
    Ok(catalog)
}

fn restore_groups(kv: &Store) -> Result<Groups, RestoreError> {
    let mut groups = Groups::default();
    for item in kv.scan(Space::Groups, &[]) {
        let (key, value) = item?;
        let (group, partition) = split_group_key(&key).ok_or(RestoreError::Key { space: Space::Groups })?;
        let (offset, protocol_type) =
            decode_offset(value).map_err(|source| RestoreError::Group { group: group.clone(), source })?;
        groups.restore(group, partition, offset, protocol_type);
    }
    for item in kv.scan(Space::PendingOffsets, &[]) {
        let (key, value) = item?;
        let malformed = || RestoreError::Key { space: Space::PendingOffsets };
        let (rest, producer) = key.split_last_chunk::<8>().ok_or_else(malformed)?;
        let (group, partition) = split_group_key(rest).ok_or_else(malformed)?;
        let pending = decode_pending(value).map_err(|source| RestoreError::Group { group: group.clone(), source })?;
        groups.restore_pending(group, partition, ProducerId(i64::from_be_bytes(*producer)), pending);
    }
    Ok(groups)
}

fn restore_share_groups(kv: &Store) -> Result<ShareGroups, RestoreError> {
    let mut groups = ShareGroups::default();
    for item in kv.scan(Space::ShareGroups, &[]) {
        let (key, value) = item?;
        let (group, partition) = split_group_key(&key).ok_or(RestoreError::Key { space: Space::ShareGroups })?;
        let state = decode_state(value).map_err(|source| RestoreError::ShareGroup { group: group.clone(), source })?;
        groups.restore(group, partition, state);
    }
    Ok(groups)
}

fn restore_group_configs(kv: &Store) -> Result<GroupConfigs, RestoreError> {
    let mut all = GroupConfigs::default();
    for item in kv.scan(Space::GroupConfigs, &[]) {
        let (key, value) = item?;
        let name = std::str::from_utf8(&key).map_err(|_| RestoreError::Key { space: Space::GroupConfigs })?;
        let group = GroupId::new(name);
        let configs = decode_configs(value).map_err(|source| RestoreError::Group { group: group.clone(), source })?;
        all.restore(group, configs);
    }
    Ok(all)
}

fn restore_transactions(kv: &Store) -> Result<Transactions, RestoreError> {
    let mut transactions = Transactions::default();
    for item in kv.scan(Space::Transactions, &[]) {
        let (key, value) = item?;
        let name = std::str::from_utf8(&key).map_err(|_| RestoreError::Key { space: Space::Transactions })?;
        let id = TransactionalId::new(name);
        let transactional =
            Transactional::decode(value).map_err(|source| RestoreError::Transaction { id: id.clone(), source })?;
        transactions.restore(id, transactional);
    }
    Ok(transactions)
}

fn restore_subscriptions(kv: &Store) -> Result<Subscriptions, RestoreError> {
    let mut subscriptions = Subscriptions::default();
    for item in kv.scan(Space::Subscriptions, &[]) {
        let (key, body) = item?;
        let name = std::str::from_utf8(&key).map_err(|_| RestoreError::Key { space: Space::Subscriptions })?;
        subscriptions.restore(name.to_owned(), body);
    }
    Ok(subscriptions)
}

type Producers = HashMap<PartitionId, BTreeMap<ProducerId, ProducerWindow>>;

fn restore_producers(kv: &Store) -> Result<Producers, RestoreError> {
    let mut producers = Producers::new();
    for item in kv.scan(Space::Producers, &[]) {
        let (key, value) = item?;
        let malformed = RestoreError::Key { space: Space::Producers };
        let Some((id, producer)) = split_partition_key(&key) else { return Err(malformed) };
        let Ok(producer) = <[u8; 8]>::try_from(producer) else { return Err(malformed) };
        let window =
            ProducerWindow::decode(value).map_err(|source| RestoreError::Partition { partition: id, source })?;
        producers.entry(id).or_default().insert(ProducerId(i64::from_be_bytes(producer)), window);
    }
    Ok(producers)
}

fn restore_compactions(kv: &Store) -> Result<HashMap<PartitionId, Compaction>, RestoreError> {
    let mut compactions = HashMap::new();
    for item in kv.scan(Space::Partitions, &[]) {
        let (key, value) = item?;
        let (id, which) = split_partition_key(&key).ok_or(RestoreError::Key { space: Space::Partitions })?;
        if which == [PARTITION_COMPACTION] {
            let compaction =
                Compaction::decode(value).map_err(|source| RestoreError::Partition { partition: id, source })?;
            compactions.insert(id, compaction);
        }
    }
    Ok(compactions)
}

/// In the order of their markers, as the keys are.
fn restore_aborted(kv: &Store) -> Result<HashMap<PartitionId, Vec<AbortedTransaction>>, RestoreError> {
    let mut aborted: HashMap<PartitionId, Vec<AbortedTransaction>> = HashMap::new();
    for item in kv.scan(Space::Aborted, &[]) {
        let (key, value) = item?;
        let (id, _) = split_partition_key(&key).ok_or(RestoreError::Key { space: Space::Aborted })?;
        let transaction =
            AbortedTransaction::decode(value).map_err(|source| RestoreError::Partition { partition: id, source })?;
        aborted.entry(id).or_default().push(transaction);
    }
    Ok(aborted)
}

fn put_or_remove(space: Space, key: Bytes, value: Option<Bytes>) -> Op {
    match value {
        Some(value) => Op::Put { space, key, value },
        None => Op::Remove { space, key },
    }
}

fn partition_key(id: PartitionId, rest: &[u8]) -> Bytes {
    let mut key = BytesMut::with_capacity(PARTITION_KEY_BYTES + rest.len());
    key.put_slice(id.topic.as_bytes());
    key.put_i32(id.index.0);
    key.put_slice(rest);
    key.freeze()
}

fn producer_key(id: PartitionId, producer: ProducerId) -> Bytes {
    partition_key(id, &producer.0.to_be_bytes())
}

fn aborted_key(id: PartitionId, marker: Offset) -> Bytes {
    partition_key(id, &marker.0.to_be_bytes())
}

fn split_partition_key(key: &[u8]) -> Option<(PartitionId, &[u8])> {
    let (topic, rest) = key.split_first_chunk::<16>()?;
    let (index, rest) = rest.split_first_chunk::<4>()?;
    let index = PartitionIndex(i32::from_be_bytes(*index));
    Some((PartitionId { topic: TopicId::from_bytes(*topic), index }, rest))
}

/// A name may hold any character, so the partition stands at the end, where its length is known.
fn group_key(group: &GroupId, partition: PartitionId) -> Bytes {
    let mut key = BytesMut::new();
    key.put_slice(group.as_str().as_bytes());
    key.put_u8(0);
    key.put_slice(&partition_key(partition, &[]));
    key.freeze()
}

fn pending_key(group: &GroupId, partition: PartitionId, producer: ProducerId) -> Bytes {
    let mut key = BytesMut::from(group_key(group, partition).as_ref());
    key.put_i64(producer.0);
    key.freeze()
}

fn split_group_key(key: &[u8]) -> Option<(GroupId, PartitionId)> {
    let (name, partition) = key.split_at_checked(key.len().checked_sub(PARTITION_KEY_BYTES)?)?;
    let (&0, name) = name.split_last()? else { return None };
    let (partition, []) = split_partition_key(partition)? else { return None };
    Some((GroupId::new(std::str::from_utf8(name).ok()?), partition))
}

fn config_key(resource: &ConfigResource) -> Bytes {
    let mut key = BytesMut::with_capacity(1 + resource.name.len());
    key.put_u8(resource.kind.tag());
    key.put_slice(resource.name.as_bytes());
    key.freeze()
}

fn split_config_key(key: &[u8]) -> Option<ConfigResource> {
    let (kind, name) = key.split_first()?;
    Some(ConfigResource { kind: ResourceKind::from_tag(*kind)?, name: std::str::from_utf8(name).ok()?.to_owned() })
}

fn encode_counters(counters: Counters, applied: Lsn) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(STATE_FORMAT_VERSION);
    out.put_u64(applied.0);
    out.put_i64(counters.next_producer_id);
    out.freeze()
}

fn decode_counters(mut bytes: Bytes) -> Option<(Counters, Lsn)> {
    let version = bytes.try_get_u8().ok().filter(|version| *version <= STATE_FORMAT_VERSION)?;
    let skipped = if version <= POSITION_UNTIL { 8 } else { 0 };
    if bytes.len() != 16 + skipped {
        return None;
    }
    let applied = Lsn(bytes.get_u64());
    bytes.advance(skipped);
    Some((Counters { next_producer_id: bytes.get_i64() }, applied))
}
