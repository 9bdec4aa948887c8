use super::{TABLE, find};
use crate::wire::{ApiKey, Request, messages};

/// The library's own word for which versions it can read and write.
fn library_versions(api: ApiKey) -> (i16, i16) {
    use kafka_protocol::protocol::Message;
    fn of<R: Request>() -> (i16, i16) {
        let shared = R::VERSIONS.intersect(&<R::Response as Message>::VERSIONS);
        (shared.min, shared.max)
    }
    match api {
        ApiKey::Produce => of::<messages::ProduceRequest>(),
        ApiKey::Fetch => of::<messages::FetchRequest>(),
        ApiKey::ListOffsets => of::<messages::ListOffsetsRequest>(),
        ApiKey::Metadata => of::<messages::MetadataRequest>(),
        ApiKey::OffsetCommit => of::<messages::OffsetCommitRequest>(),
        ApiKey::OffsetFetch => of::<messages::OffsetFetchRequest>(),
        ApiKey::FindCoordinator => of::<messages::FindCoordinatorRequest>(),
        ApiKey::JoinGroup => of::<messages::JoinGroupRequest>(),
        ApiKey::Heartbeat => of::<messages::HeartbeatRequest>(),
        ApiKey::LeaveGroup => of::<messages::LeaveGroupRequest>(),
        ApiKey::SyncGroup => of::<messages::SyncGroupRequest>(),
        ApiKey::DescribeGroups => of::<messages::DescribeGroupsRequest>(),
        ApiKey::ListGroups => of::<messages::ListGroupsRequest>(),
        ApiKey::ApiVersions => of::<messages::ApiVersionsRequest>(),
        ApiKey::CreateTopics => of::<messages::CreateTopicsRequest>(),
        ApiKey::DeleteTopics => of::<messages::DeleteTopicsRequest>(),
        ApiKey::InitProducerId => of::<messages::InitProducerIdRequest>(),
        ApiKey::DescribeConfigs => of::<messages::DescribeConfigsRequest>(),
        ApiKey::AlterConfigs => of::<messages::AlterConfigsRequest>(),
        ApiKey::IncrementalAlterConfigs => of::<messages::IncrementalAlterConfigsRequest>(),
        ApiKey::CreatePartitions => of::<messages::CreatePartitionsRequest>(),
        ApiKey::DeleteRecords => of::<messages::DeleteRecordsRequest>(),
        ApiKey::DeleteGroups => of::<messages::DeleteGroupsRequest>(),
        ApiKey::DescribeCluster => of::<messages::DescribeClusterRequest>(),
        ApiKey::OffsetDelete => of::<messages::OffsetDeleteRequest>(),
        ApiKey::ConsumerGroupHeartbeat => of::<messages::ConsumerGroupHeartbeatRequest>(),
        ApiKey::ConsumerGroupDescribe => of::<messages::ConsumerGroupDescribeRequest>(),
        ApiKey::ShareGroupHeartbeat => of::<messages::ShareGroupHeartbeatRequest>(),
        ApiKey::ShareGroupDescribe => of::<messages::ShareGroupDescribeRequest>(),
        ApiKey::AlterShareGroupOffsets => of::<messages::AlterShareGroupOffsetsRequest>(),
        ApiKey::DeleteShareGroupOffsets => of::<messages::DeleteShareGroupOffsetsRequest>(),
        // One more than the library has: read and written by `wire::share_v2` and by hand.
        ApiKey::ShareFetch | ApiKey::ShareAcknowledge => (1, 2),
        ApiKey::DescribeShareGroupOffsets => (0, 1),
        ApiKey::OffsetForLeaderEpoch => of::<messages::OffsetForLeaderEpochRequest>(),
        ApiKey::AlterReplicaLogDirs => of::<messages::AlterReplicaLogDirsRequest>(),
        ApiKey::DescribeLogDirs => of::<messages::DescribeLogDirsRequest>(),
        ApiKey::ElectLeaders => of::<messages::ElectLeadersRequest>(),
        ApiKey::AlterPartitionReassignments => of::<messages::AlterPartitionReassignmentsRequest>(),
        ApiKey::ListPartitionReassignments => of::<messages::ListPartitionReassignmentsRequest>(),
        ApiKey::DescribeClientQuotas => of::<messages::DescribeClientQuotasRequest>(),
        ApiKey::AlterClientQuotas => of::<messages::AlterClientQuotasRequest>(),
        ApiKey::DescribeQuorum => of::<messages::DescribeQuorumRequest>(),
        ApiKey::GetTelemetrySubscriptions => of::<messages::GetTelemetrySubscriptionsRequest>(),
        ApiKey::PushTelemetry => of::<messages::PushTelemetryRequest>(),
        ApiKey::ListConfigResources => of::<messages::ListConfigResourcesRequest>(),
        ApiKey::DescribeTopicPartitions => of::<messages::DescribeTopicPartitionsRequest>(),
        ApiKey::AddPartitionsToTxn => of::<messages::AddPartitionsToTxnRequest>(),
        ApiKey::AddOffsetsToTxn => of::<messages::AddOffsetsToTxnRequest>(),
        ApiKey::EndTxn => of::<messages::EndTxnRequest>(),
        ApiKey::WriteTxnMarkers => of::<messages::WriteTxnMarkersRequest>(),
        ApiKey::TxnOffsetCommit => of::<messages::TxnOffsetCommitRequest>(),
        ApiKey::DescribeProducers => of::<messages::DescribeProducersRequest>(),
        ApiKey::DescribeTransactions => of::<messages::DescribeTransactionsRequest>(),
        ApiKey::ListTransactions => of::<messages::ListTransactionsRequest>(),
        other => panic!("{other:?} is in the table and not here"),
    }
}

#[test]
fn no_version_is_answered_that_the_library_cannot_read_or_write() {
    for row in TABLE {
        let (first, last) = library_versions(row.api);
        assert!(
            first <= row.first_version && row.last_version <= last,
            "{}: the library has {first} to {last}",
            row.name
        );
    }
}

#[test]
fn rows_stand_by_key_and_once() {
    assert!(TABLE.is_sorted_by(|one, next| one.key() < next.key()));
}

#[test]
fn only_produce_is_advertised_older_than_it_is_answered() {
    for row in TABLE {
        let advertised = if row.api == ApiKey::Produce { 0 } else { row.first_version };
        assert_eq!(row.advertised_first_version, advertised, "{}", row.name);
        assert!(row.first_version <= row.last_version, "{}", row.name);
    }
}

#[test]
fn finds_by_key() {
    assert_eq!(find(18).map(|row| row.api), Some(ApiKey::ApiVersions));
    assert_eq!(find(-1), None);
    assert_eq!(find(4), None);
}
