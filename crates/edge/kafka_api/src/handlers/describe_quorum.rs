//! DescribeQuorum: the shard's log in the place of Kafka's metadata log, and this node as its only voter.

use crate::broker::{Broker, Caller, now};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::describe_quorum_response::{Listener, Node, PartitionData, ReplicaState, TopicData};
use crate::wire::messages::{DescribeQuorumRequest, DescribeQuorumResponse};
use crate::wire::text;

const TOPIC: &str = "__cluster_metadata";
/// From this version on the answer names the nodes.
const NODES_FROM: i16 = 2;
/// From this version on it says when a voter was last seen.
const SEEN_FROM: i16 = 1;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: DescribeQuorumRequest) -> DescribeQuorumResponse {
    let is_known = |topic: &crate::wire::messages::describe_quorum_request::TopicData| {
        &*topic.topic_name.0 == TOPIC && topic.partitions.iter().all(|partition| partition.partition_index == 0)
    };
    if request.topics.len() != 1 || !request.topics.iter().all(is_known) {
        let code = error_code::code(Some(ErrorCode::UnknownTopicOrPartition));
        return DescribeQuorumResponse::default().with_error_code(code);
    }
    let node = broker.advertised.node;
    let end = i64::try_from(broker.reader.applied().0 + 1).unwrap_or(i64::MAX);
    let mut this = ReplicaState::default().with_replica_id(node).with_log_end_offset(end);
    if caller.version >= SEEN_FROM {
        this = this.with_last_fetch_timestamp(now().0).with_last_caught_up_timestamp(now().0);
    }
    let partition = PartitionData::default()
        .with_leader_id(node)
        .with_leader_epoch(broker.reader.leader_epoch().0)
        .with_high_watermark(end)
        .with_current_voters(vec![this]);
    let topics = request
        .topics
        .into_iter()
        .map(|topic| TopicData::default().with_topic_name(topic.topic_name).with_partitions(vec![partition.clone()]));
    let response = DescribeQuorumResponse::default().with_topics(topics.collect());
    if caller.version < NODES_FROM {
        return response;
    }
    let listener = Listener::default()
        .with_name(text("PLAINTEXT"))
        .with_host(broker.advertised.host.clone())
        .with_port(u16::try_from(broker.advertised.port).unwrap_or(0));
    response.with_nodes(vec![Node::default().with_node_id(node).with_listeners(vec![listener])])
}
