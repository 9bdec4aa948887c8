//! Sample requests of the APIs that administrators use: no list empty, every field set that the version has.

use bytes::Bytes;
use kafka_protocol::messages::*;
use uuid::Uuid;

use super::{TOPIC, text};

fn topic_name() -> TopicName {
    TopicName(text(TOPIC))
}

pub fn offset_for_leader_epoch(version: i16) -> OffsetForLeaderEpochRequest {
    use offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
    let partition = OffsetForLeaderPartition::default().with_partition(0).with_current_leader_epoch(-1);
    let topic = OffsetForLeaderTopic::default().with_topic(topic_name());
    let topics = vec![topic.with_partitions(vec![partition.with_leader_epoch(1)])];
    let request = OffsetForLeaderEpochRequest::default().with_topics(topics);
    if version >= 3 { request.with_replica_id(BrokerId(-1)) } else { request }
}

pub fn alter_replica_log_dirs(_version: i16) -> AlterReplicaLogDirsRequest {
    use alter_replica_log_dirs_request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
    let topic = AlterReplicaLogDirTopic::default().with_name(topic_name()).with_partitions(vec![0, 99]);
    let dir = AlterReplicaLogDir::default().with_path(text("/elsewhere")).with_topics(vec![topic]);
    AlterReplicaLogDirsRequest::default().with_dirs(vec![dir])
}

pub fn describe_log_dirs(_version: i16) -> DescribeLogDirsRequest {
    use describe_log_dirs_request::DescribableLogDirTopic;
    let topic = DescribableLogDirTopic::default().with_topic(topic_name()).with_partitions(vec![0, 99]);
    DescribeLogDirsRequest::default().with_topics(Some(vec![topic]))
}

pub fn elect_leaders(version: i16) -> ElectLeadersRequest {
    use elect_leaders_request::TopicPartitions;
    let partitions = TopicPartitions::default().with_topic(topic_name()).with_partitions(vec![0, 99]);
    ElectLeadersRequest::default()
        .with_election_type(if version >= 1 { 1 } else { 0 })
        .with_topic_partitions(Some(vec![partitions]))
        .with_timeout_ms(1000)
}

pub fn alter_partition_reassignments(version: i16) -> AlterPartitionReassignmentsRequest {
    use alter_partition_reassignments_request::{ReassignablePartition, ReassignableTopic};
    let partition =
        ReassignablePartition::default().with_partition_index(0).with_replicas(Some(vec![BrokerId(0), BrokerId(1)]));
    let topic = ReassignableTopic::default().with_name(topic_name()).with_partitions(vec![partition]);
    let request = AlterPartitionReassignmentsRequest::default().with_timeout_ms(1000).with_topics(vec![topic]);
    if version >= 1 { request.with_allow_replication_factor_change(false) } else { request }
}

pub fn list_partition_reassignments(_version: i16) -> ListPartitionReassignmentsRequest {
    use list_partition_reassignments_request::ListPartitionReassignmentsTopics;
    let topic = ListPartitionReassignmentsTopics::default().with_name(topic_name()).with_partition_indexes(vec![0]);
    ListPartitionReassignmentsRequest::default().with_timeout_ms(1000).with_topics(Some(vec![topic]))
}

pub fn describe_client_quotas(_version: i16) -> DescribeClientQuotasRequest {
    use describe_client_quotas_request::ComponentData;
    let component = ComponentData::default().with_entity_type(text("user")).with_match(Some(text("u")));
    DescribeClientQuotasRequest::default().with_components(vec![component]).with_strict(true)
}

pub fn alter_client_quotas(_version: i16) -> AlterClientQuotasRequest {
    use alter_client_quotas_request::{EntityData, EntryData, OpData};
    let entity = EntityData::default().with_entity_type(text("user")).with_entity_name(Some(text("u")));
    let op = OpData::default().with_key(text("producer_byte_rate")).with_value(1e9).with_remove(false);
    let entry = EntryData::default().with_entity(vec![entity]).with_ops(vec![op]);
    AlterClientQuotasRequest::default().with_entries(vec![entry]).with_validate_only(true)
}

pub fn describe_quorum(_version: i16) -> DescribeQuorumRequest {
    use describe_quorum_request::{PartitionData, TopicData};
    let partition = PartitionData::default().with_partition_index(0);
    let topic = TopicData::default().with_topic_name(TopicName(text("__cluster_metadata")));
    DescribeQuorumRequest::default().with_topics(vec![topic.with_partitions(vec![partition])])
}

pub fn get_telemetry_subscriptions(_version: i16) -> GetTelemetrySubscriptionsRequest {
    GetTelemetrySubscriptionsRequest::default().with_client_instance_id(Uuid::from_u128(9))
}

pub fn push_telemetry(_version: i16) -> PushTelemetryRequest {
    PushTelemetryRequest::default()
        .with_client_instance_id(Uuid::from_u128(10))
        .with_subscription_id(1)
        .with_compression_type(0)
        .with_metrics(Bytes::from_static(b"metrics"))
}

pub fn list_config_resources(version: i16) -> ListConfigResourcesRequest {
    let types = if version >= 1 { vec![2, 4, 16] } else { Vec::new() };
    ListConfigResourcesRequest::default().with_resource_types(types)
}

pub fn describe_topic_partitions(_version: i16) -> DescribeTopicPartitionsRequest {
    use describe_topic_partitions_request::{Cursor, TopicRequest};
    let cursor = Cursor::default().with_topic_name(topic_name()).with_partition_index(0);
    DescribeTopicPartitionsRequest::default()
        .with_topics(vec![TopicRequest::default().with_name(topic_name())])
        .with_response_partition_limit(5)
        .with_cursor(Some(cursor))
}

pub fn delete_records(_version: i16) -> DeleteRecordsRequest {
    use delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
    let partition = DeleteRecordsPartition::default().with_partition_index(0).with_offset(0);
    let topic = DeleteRecordsTopic::default().with_name(topic_name()).with_partitions(vec![partition]);
    DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(1000)
}
