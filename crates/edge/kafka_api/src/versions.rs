//! Which requests are answered, and in which versions. The one table: what ApiVersions tells and what is let in both come from it.

use crate::wire::ApiKey;

/// One API and the versions of it that are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub(crate) api: ApiKey,
    pub name: &'static str,
    pub first_version: i16,
    pub last_version: i16,
    /// Where ApiVersions names an older one than is answered.
    pub advertised_first_version: i16,
}

const fn row(api: ApiKey, name: &'static str, first_version: i16, last_version: i16) -> Row {
    Row { api, name, first_version, last_version, advertised_first_version: first_version }
}

/// Versions as Apache Kafka 4.x and kafka-protocol share them, and those that `wire::share_v2` adds; by key.
pub const TABLE: &[Row] = &[
    // librdkafka takes a broker that doesn't list Produce 0 for one without record batches (KAFKA-18659).
    Row { advertised_first_version: 0, ..row(ApiKey::Produce, "produce", 3, 13) },
    row(ApiKey::Fetch, "fetch", 4, 18),
    row(ApiKey::ListOffsets, "list_offsets", 1, 10),
    row(ApiKey::Metadata, "metadata", 0, 13),
    row(ApiKey::OffsetCommit, "offset_commit", 2, 9),
    row(ApiKey::OffsetFetch, "offset_fetch", 1, 9),
    row(ApiKey::FindCoordinator, "find_coordinator", 0, 6),
    row(ApiKey::JoinGroup, "join_group", 0, 9),
    row(ApiKey::Heartbeat, "heartbeat", 0, 4),
    row(ApiKey::LeaveGroup, "leave_group", 0, 5),
    row(ApiKey::SyncGroup, "sync_group", 0, 5),
    row(ApiKey::DescribeGroups, "describe_groups", 0, 6),
    row(ApiKey::ListGroups, "list_groups", 0, 5),
    row(ApiKey::ApiVersions, "api_versions", 0, 4),
    row(ApiKey::CreateTopics, "create_topics", 2, 7),
    row(ApiKey::DeleteTopics, "delete_topics", 1, 6),
    row(ApiKey::DeleteRecords, "delete_records", 0, 2),
    row(ApiKey::InitProducerId, "init_producer_id", 0, 5),
    row(ApiKey::OffsetForLeaderEpoch, "offset_for_leader_epoch", 2, 4),
    row(ApiKey::AddPartitionsToTxn, "add_partitions_to_txn", 0, 5),
    row(ApiKey::AddOffsetsToTxn, "add_offsets_to_txn", 0, 4),
    row(ApiKey::EndTxn, "end_txn", 0, 5),
    row(ApiKey::WriteTxnMarkers, "write_txn_markers", 1, 1),
    row(ApiKey::TxnOffsetCommit, "txn_offset_commit", 0, 5),
    row(ApiKey::DescribeConfigs, "describe_configs", 1, 4),
    row(ApiKey::AlterConfigs, "alter_configs", 0, 2),
    row(ApiKey::AlterReplicaLogDirs, "alter_replica_log_dirs", 1, 2),
    row(ApiKey::DescribeLogDirs, "describe_log_dirs", 1, 4),
    row(ApiKey::CreatePartitions, "create_partitions", 0, 3),
    row(ApiKey::DeleteGroups, "delete_groups", 0, 2),
    row(ApiKey::ElectLeaders, "elect_leaders", 0, 2),
    row(ApiKey::IncrementalAlterConfigs, "incremental_alter_configs", 0, 1),
    row(ApiKey::AlterPartitionReassignments, "alter_partition_reassignments", 0, 1),
    row(ApiKey::ListPartitionReassignments, "list_partition_reassignments", 0, 0),
    row(ApiKey::OffsetDelete, "offset_delete", 0, 0),
    row(ApiKey::DescribeClientQuotas, "describe_client_quotas", 0, 1),
    row(ApiKey::AlterClientQuotas, "alter_client_quotas", 0, 1),
    row(ApiKey::DescribeQuorum, "describe_quorum", 0, 2),
    row(ApiKey::DescribeCluster, "describe_cluster", 0, 2),
    row(ApiKey::DescribeProducers, "describe_producers", 0, 0),
    row(ApiKey::DescribeTransactions, "describe_transactions", 0, 0),
    row(ApiKey::ListTransactions, "list_transactions", 0, 2),
    row(ApiKey::ConsumerGroupHeartbeat, "consumer_group_heartbeat", 0, 1),
    row(ApiKey::ConsumerGroupDescribe, "consumer_group_describe", 0, 1),
    row(ApiKey::GetTelemetrySubscriptions, "get_telemetry_subscriptions", 0, 0),
    row(ApiKey::PushTelemetry, "push_telemetry", 0, 0),
    row(ApiKey::ListConfigResources, "list_config_resources", 0, 1),
    row(ApiKey::DescribeTopicPartitions, "describe_topic_partitions", 0, 0),
    row(ApiKey::ShareGroupHeartbeat, "share_group_heartbeat", 1, 1),
    row(ApiKey::ShareGroupDescribe, "share_group_describe", 1, 1),
    row(ApiKey::ShareFetch, "share_fetch", 1, 2),
    row(ApiKey::ShareAcknowledge, "share_acknowledge", 1, 2),
    row(ApiKey::DescribeShareGroupOffsets, "describe_share_group_offsets", 0, 1),
    row(ApiKey::AlterShareGroupOffsets, "alter_share_group_offsets", 0, 0),
    row(ApiKey::DeleteShareGroupOffsets, "delete_share_group_offsets", 0, 0),
];

impl Row {
    pub fn key(&self) -> i16 {
        self.api as i16
    }

    pub fn answers(&self, version: i16) -> bool {
        (self.first_version..=self.last_version).contains(&version)
    }

    /// From which version on integers are varints and structs end in tagged fields.
    pub(crate) fn is_flexible(&self, version: i16) -> bool {
        self.api.request_header_version(version) >= 2
    }
}

/// The API with this key, if it is answered at all.
pub fn find(key: i16) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.key() == key)
}

#[cfg(test)]
mod tests;
