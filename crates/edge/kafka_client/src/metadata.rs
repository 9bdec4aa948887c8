//! What a cluster says of itself: brokers, topics, leaders.

use crate::wire::messages::MetadataResponse;
use crate::wire::messages::metadata_response::{MetadataResponsePartition, MetadataResponseTopic};
use daybook_types::{LeaderEpoch, NodeId, PartitionIndex, TopicId};

use crate::error::KafkaCode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    pub node: NodeId,
    pub host: String,
    pub port: u16,
    pub rack: Option<String>,
}

impl Broker {
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

#[derive(Clone, Debug)]
pub struct PartitionView {
    pub partition: PartitionIndex,
    pub code: KafkaCode,
    /// `None` while there is none.
    pub leader: Option<NodeId>,
    pub leader_epoch: LeaderEpoch,
    pub replicas: Vec<NodeId>,
    pub in_sync: Vec<NodeId>,
}

#[derive(Clone, Debug)]
pub struct TopicView {
    pub name: String,
    pub id: TopicId,
    pub code: KafkaCode,
    pub is_internal: bool,
    /// By number, ascending.
    pub partitions: Vec<PartitionView>,
}

/// An answer to Metadata.
#[derive(Clone, Debug, Default)]
pub struct ClusterView {
    pub cluster_id: Option<String>,
    pub controller: Option<NodeId>,
    pub brokers: Vec<Broker>,
    /// By name, ascending.
    pub topics: Vec<TopicView>,
}

impl ClusterView {
    pub(crate) fn new(answer: MetadataResponse) -> Self {
        let brokers = answer.brokers.into_iter().filter_map(|broker| {
            Some(Broker {
                node: node(broker.node_id.0)?,
                host: broker.host.to_string(),
                port: u16::try_from(broker.port).ok()?,
                rack: broker.rack.map(|rack| rack.to_string()),
            })
        });
        let mut topics: Vec<_> = answer.topics.into_iter().map(topic_view).collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            cluster_id: answer.cluster_id.map(|id| id.to_string()),
            controller: node(answer.controller_id.0),
            brokers: brokers.collect(),
            topics,
        }
    }

    pub fn topic(&self, name: &str) -> Option<&TopicView> {
        self.topics.iter().find(|topic| topic.name == name)
    }

    pub fn broker(&self, node: NodeId) -> Option<&Broker> {
        self.brokers.iter().find(|broker| broker.node == node)
    }
}

fn topic_view(topic: MetadataResponseTopic) -> TopicView {
    let mut partitions: Vec<_> = topic.partitions.into_iter().map(partition_view).collect();
    partitions.sort_by_key(|partition| partition.partition);
    TopicView {
        name: topic.name.map(|name| name.to_string()).unwrap_or_default(),
        id: TopicId(topic.topic_id),
        code: KafkaCode(topic.error_code),
        is_internal: topic.is_internal,
        partitions,
    }
}

fn partition_view(partition: MetadataResponsePartition) -> PartitionView {
    let nodes = |ids: Vec<crate::wire::messages::BrokerId>| ids.into_iter().filter_map(|id| node(id.0)).collect();
    PartitionView {
        partition: PartitionIndex(partition.partition_index),
        code: KafkaCode(partition.error_code),
        leader: node(partition.leader_id.0),
        leader_epoch: LeaderEpoch(partition.leader_epoch),
        replicas: nodes(partition.replica_nodes),
        in_sync: nodes(partition.isr_nodes),
    }
}

/// Kafka writes "none" as -1.
pub(crate) fn node(id: i32) -> Option<NodeId> {
    u32::try_from(id).ok().map(NodeId)
}
