//! OffsetFetch: how far groups have come.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use daybook_catalog::Catalog;
use daybook_command::CommittedOffset;
use daybook_group_coordinator::Generation;
use daybook_read::GroupOffsets;
use daybook_types::{GroupId, PartitionId};

use super::member_ref::member_id;
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::topic_ref::TopicRef;
use crate::wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use crate::wire::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use crate::wire::messages::{OffsetFetchRequest, OffsetFetchResponse, TopicName};
use crate::wire::{StrBytes, text};

/// From this version on several groups are asked at once (KIP-709).
const BATCHED_FROM: i16 = 8;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: OffsetFetchRequest) -> OffsetFetchResponse {
    let require_stable = request.require_stable;
    if caller.version >= BATCHED_FROM {
        let group = |asked: OffsetFetchRequestGroup| {
            match error_of(broker, &asked) {
                Some(error) => OffsetFetchResponseGroup::default().with_error_code(error_code::code(Some(error))),
                None => {
                    let found = topics(broker, &asked.group_id.0, require_stable, asked.topics);
                    OffsetFetchResponseGroup::default().with_topics(found)
                }
            }
            .with_group_id(asked.group_id)
        };
        // All that a group has is told once: the answer can't be made larger by asking for it again.
        let mut told_whole = HashSet::new();
        let mut groups = request.groups;
        groups.retain(|asked| asked.topics.is_some() || told_whole.insert(asked.group_id.clone()));
        return OffsetFetchResponse::default().with_groups(groups.into_iter().map(group).collect());
    }
    let asked = request.topics.map(|topics| {
        let topic = |topic: OffsetFetchRequestTopic| {
            OffsetFetchRequestTopics::default().with_name(topic.name).with_partition_indexes(topic.partition_indexes)
        };
        topics.into_iter().map(topic).collect()
    });
    let found = topics(broker, &request.group_id.0, require_stable, asked);
    OffsetFetchResponse::default().with_topics(found.into_iter().map(as_of_one_group).collect())
}

/// A member of a consumer group (KIP-848) names itself and its epoch, so that it isn't told of offsets that have been committed
/// by who has its partitions by now.
fn error_of(broker: &Broker, asked: &OffsetFetchRequestGroup) -> Option<ErrorCode> {
    let member = asked.member_id.as_ref().filter(|_| asked.member_epoch >= 0)?;
    let group = GroupId::new(&asked.group_id.0);
    match broker.coordinator.check_fetch(&group, &member_id(member), Generation(asked.member_epoch)) {
        Err(error) => Some(error_code::of_group(error)),
        Ok(Some(())) => None,
        Ok(None) => broker.reader.group_offsets(&group).is_none().then_some(ErrorCode::GroupIdNotFound),
    }
}

fn topics(
    broker: &Broker,
    group: &StrBytes,
    require_stable: bool,
    asked: Option<Vec<OffsetFetchRequestTopics>>,
) -> Vec<OffsetFetchResponseTopics> {
    let group = GroupId::new(group);
    // Looked at first: what a transaction commits between the two looks is then told as committed, never as if it weren't there.
    let unstable = if require_stable { broker.reader.unstable_offsets(&group) } else { BTreeSet::new() };
    let offsets = broker.reader.group_offsets(&group).unwrap_or_default();
    let committed = Told { offsets, unstable };
    let catalog = broker.reader.catalog();
    match asked {
        Some(asked) => asked.into_iter().map(|topic| some(&catalog, &committed, topic)).collect(),
        None => all(&catalog, &committed),
    }
}

/// What there is to tell of a group.
struct Told {
    offsets: GroupOffsets,
    /// Where an open transaction may change it, for whoever asks for stable ones.
    unstable: BTreeSet<PartitionId>,
}

impl Told {
    fn partition(&self, index: i32, id: Option<PartitionId>) -> OffsetFetchResponsePartitions {
        match id {
            Some(id) if self.unstable.contains(&id) => {
                partition(index, None).with_error_code(error_code::code(Some(ErrorCode::UnstableOffsetCommit)))
            }
            _ => partition(index, id.and_then(|id| self.offsets.offsets.get(&id))),
        }
    }
}

fn some(catalog: &Catalog, committed: &Told, asked: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics {
    let topic = TopicRef::Name(asked.name.0.clone()).find(catalog).ok();
    let of = |index: &i32| {
        let id = topic.and_then(|topic| topic.partition(*index));
        committed.partition(*index, id)
    };
    let partitions = asked.partition_indexes.iter().map(of).collect();
    OffsetFetchResponseTopics::default().with_name(asked.name).with_partitions(partitions)
}

fn all(catalog: &Catalog, committed: &Told) -> Vec<OffsetFetchResponseTopics> {
    let mut by_topic: BTreeMap<&str, Vec<OffsetFetchResponsePartitions>> = BTreeMap::new();
    for id in committed.offsets.offsets.keys() {
        // Offsets of a topic that was deleted go with it.
        if let Some(topic) = catalog.topic_by_id(id.topic) {
            by_topic.entry(topic.name.as_str()).or_default().push(committed.partition(id.index.0, Some(*id)));
        }
    }
    let topic = |(name, partitions)| {
        OffsetFetchResponseTopics::default().with_name(TopicName(text(name))).with_partitions(partitions)
    };
    by_topic.into_iter().map(topic).collect()
}

/// Where nothing is committed, offset and epoch are -1 and there is no error, as in Kafka.
fn partition(index: i32, committed: Option<&CommittedOffset>) -> OffsetFetchResponsePartitions {
    let response = OffsetFetchResponsePartitions::default().with_partition_index(index);
    match committed {
        Some(committed) => response
            .with_committed_offset(committed.offset.0)
            .with_committed_leader_epoch(committed.leader_epoch)
            .with_metadata(Some(text(committed.metadata.as_str()))),
        None => {
            response.with_committed_offset(-1).with_committed_leader_epoch(-1).with_metadata(Some(StrBytes::default()))
        }
    }
}

fn as_of_one_group(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic {
    let partition = |partition: OffsetFetchResponsePartitions| {
        OffsetFetchResponsePartition::default()
            .with_partition_index(partition.partition_index)
            .with_committed_offset(partition.committed_offset)
            .with_committed_leader_epoch(partition.committed_leader_epoch)
            .with_metadata(partition.metadata)
            .with_error_code(partition.error_code)
    };
    let partitions = topic.partitions.into_iter().map(partition).collect();
    OffsetFetchResponseTopic::default().with_name(topic.name).with_partitions(partitions)
}
