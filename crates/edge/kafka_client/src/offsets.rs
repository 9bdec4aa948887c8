//! Offsets: where a partition starts and ends, what stands at a time, and what a group has committed.

use std::collections::BTreeMap;

use crate::wire::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use crate::wire::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use crate::wire::messages::offset_fetch_request::OffsetFetchRequestGroup;
use crate::wire::messages::{GroupId, ListOffsetsRequest, OffsetCommitRequest, OffsetFetchRequest, TopicName};
use daybook_types::{LeaderEpoch, NodeId, Offset, PartitionIndex, TimestampMs};

use crate::cluster::Cluster;
use crate::error::{ClientError, KafkaCode};
use crate::retry::Retry;
use crate::topics::text;

/// A partition by its topic's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    pub topic: String,
    pub partition: PartitionIndex,
}

impl TopicPartition {
    pub fn new(topic: &str, partition: PartitionIndex) -> Self {
        Self { topic: topic.to_owned(), partition }
    }
}

/// Which offset is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetQuery {
    Earliest,
    /// The offset that the next record will get.
    Latest,
    /// The first record at or after the time.
    AtOrAfter(TimestampMs),
    /// The record with the largest timestamp.
    MaxTimestamp,
}

impl OffsetQuery {
    fn timestamp(self) -> i64 {
        match self {
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::MaxTimestamp => -3,
            Self::AtOrAfter(time) => time.0.max(0),
        }
    }
}

/// `offset` is `None` where no record matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundOffset {
    pub offset: Option<Offset>,
    pub timestamp: TimestampMs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    pub offset: Offset,
    pub leader_epoch: LeaderEpoch,
    pub metadata: String,
}

impl Cluster {
    /// One offset for each partition named; asked of the leaders, again where they moved.
    pub async fn list_offsets(
        &mut self,
        wanted: &BTreeMap<TopicPartition, OffsetQuery>,
    ) -> Result<BTreeMap<TopicPartition, FoundOffset>, ClientError> {
        let mut found = BTreeMap::new();
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        loop {
            let mut by_leader: BTreeMap<NodeId, Vec<(&TopicPartition, OffsetQuery)>> = BTreeMap::new();
            for (partition, query) in wanted.iter().filter(|(partition, _)| !found.contains_key(*partition)) {
                let leader = self.leader(&partition.topic, partition.partition).await?;
                by_leader.entry(leader).or_default().push((partition, *query));
            }
            let mut last = None;
            for (leader, queries) in by_leader {
                for (partition, result) in self.list_offsets_of(leader, &queries).await? {
                    match result {
                        Ok(offset) => drop(found.insert(partition, offset)),
                        Err(code) => last = Some((partition, code)),
                    }
                }
            }
            let Some((TopicPartition { topic, partition }, code)) = last else { return Ok(found) };
            if !code.is_retriable() || !retry.again().await {
                return Err(ClientError::Partition { topic, partition, code, message: None });
            }
            self.forget_topic(&topic);
        }
    }

    async fn list_offsets_of(
        &mut self,
        leader: NodeId,
        queries: &[(&TopicPartition, OffsetQuery)],
    ) -> Result<Vec<(TopicPartition, Result<FoundOffset, KafkaCode>)>, ClientError> {
        let topics = queries.chunk_by(|a, b| a.0.topic == b.0.topic).map(|of_topic| {
            let partition = |(partition, query): &(&TopicPartition, OffsetQuery)| {
                ListOffsetsPartition::default()
                    .with_partition_index(partition.partition.0)
                    .with_current_leader_epoch(-1)
                    .with_timestamp(query.timestamp())
            };
            ListOffsetsTopic::default()
                .with_name(TopicName(text(&of_topic[0].0.topic)))
                .with_partitions(of_topic.iter().map(partition).collect())
        });
        let request = ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(topics.collect());
        let answer = self.call_node(leader, &request).await?;
        let mut results = Vec::with_capacity(queries.len());
        for topic in answer.topics {
            for row in topic.partitions {
                let partition = TopicPartition::new(&topic.name, PartitionIndex(row.partition_index));
                let offset = FoundOffset {
                    offset: (row.offset >= 0).then_some(Offset(row.offset)),
                    timestamp: TimestampMs(row.timestamp),
                };
                results.push((partition, KafkaCode::check(row.error_code).map(|()| offset)));
            }
        }
        match queries.iter().find(|(asked, _)| !results.iter().any(|(answered, _)| answered == *asked)) {
            Some((missing, _)) => Err(ClientError::Incomplete {
                api: "ListOffsets",
                what: format!("partition {} of {}", missing.partition, missing.topic),
            }),
            None => Ok(results),
        }
    }

    /// Every offset that a group has committed.
    pub async fn committed_offsets(
        &mut self,
        group: &str,
    ) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        loop {
            let coordinator = self.coordinator(group).await?;
            let version = self.wire_to(coordinator).await?.version_of::<OffsetFetchRequest>()?;
            let group_id = GroupId(text(group));
            let request = if version >= 8 {
                let of_group = OffsetFetchRequestGroup::default().with_group_id(group_id).with_topics(None);
                OffsetFetchRequest::default().with_groups(vec![of_group])
            } else {
                OffsetFetchRequest::default().with_group_id(group_id).with_topics(None)
            };
            let answer = self.call_node(coordinator, &request).await?;
            let mut committed = BTreeMap::new();
            let mut note = |topic: &str, partition: i32, offset: i64, epoch: i32, metadata: Option<String>| {
                if offset >= 0 {
                    let offset = CommittedOffset {
                        offset: Offset(offset),
                        leader_epoch: LeaderEpoch(epoch),
                        metadata: metadata.unwrap_or_default(),
                    };
                    committed.insert(TopicPartition::new(topic, PartitionIndex(partition)), offset);
                }
            };
            let mut code = answer.error_code;
            for of_group in &answer.groups {
                code = of_group.error_code;
                for topic in &of_group.topics {
                    for p in &topic.partitions {
                        let metadata = p.metadata.as_ref().map(|text| text.to_string());
                        note(&topic.name, p.partition_index, p.committed_offset, p.committed_leader_epoch, metadata);
                    }
                }
            }
            for topic in &answer.topics {
                for p in &topic.partitions {
                    let metadata = p.metadata.as_ref().map(|text| text.to_string());
                    note(&topic.name, p.partition_index, p.committed_offset, p.committed_leader_epoch, metadata);
                }
            }
            match KafkaCode::check(code) {
                Ok(()) => return Ok(committed),
                Err(code) if code.is_retriable() && retry.again().await => self.forget_coordinator(group),
                Err(code) => return Err(ClientError::Group { group: group.to_owned(), code, message: None }),
            }
        }
    }

    /// Commits for a group that has no members, as a member would be told to do it itself.
    pub async fn commit_offsets(
        &mut self,
        group: &str,
        offsets: &BTreeMap<TopicPartition, Offset>,
    ) -> Result<(), ClientError> {
        let pairs: Vec<_> = offsets.iter().collect();
        let topics = pairs.chunk_by(|a, b| a.0.topic == b.0.topic).map(|of_topic| {
            let partition = |(partition, offset): &(&TopicPartition, &Offset)| {
                OffsetCommitRequestPartition::default()
                    .with_partition_index(partition.partition.0)
                    .with_committed_offset(offset.0)
                    .with_committed_leader_epoch(-1)
                    .with_committed_metadata(Some(text("")))
            };
            OffsetCommitRequestTopic::default()
                .with_name(TopicName(text(&of_topic[0].0.topic)))
                .with_partitions(of_topic.iter().map(partition).collect())
        });
        let request = OffsetCommitRequest::default()
            .with_group_id(GroupId(text(group)))
            .with_generation_id_or_member_epoch(-1)
            .with_topics(topics.collect());
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        loop {
            let coordinator = self.coordinator(group).await?;
            let answer = self.call_node(coordinator, &request).await?;
            let mut rows = answer.topics.iter().flat_map(|topic| &topic.partitions);
            match KafkaCode::check(rows.find(|row| row.error_code != 0).map_or(0, |row| row.error_code)) {
                Ok(()) => return Ok(()),
                Err(code) if code.is_retriable() && retry.again().await => self.forget_coordinator(group),
                Err(code) => return Err(ClientError::Group { group: group.to_owned(), code, message: None }),
            }
        }
    }
}
