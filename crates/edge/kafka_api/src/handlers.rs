//! One file an API: what is answered to a request of that API.
//!
//! The pattern: `pub(super) async fn handle(broker: &Broker, caller: &Caller, request: XRequest) -> XResponse`. A handler never fails:
//! whatever goes wrong is a code in the answer, made in [`crate::error_code`]. Two are not of the pattern: Produce, which is
//! answered while later requests are read already ([`produce::begin`]), and Fetch, whose answer holds file ranges.

mod add_offsets_to_txn;
mod add_partitions_to_txn;
mod alter_client_quotas;
mod alter_configs;
mod alter_partition_reassignments;
mod alter_replica_log_dirs;
mod alter_share_group_offsets;
mod api_versions;
mod authorized_operations;
mod config_change;
mod config_resource;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod create_partitions;
mod create_topics;
mod delete_groups;
mod delete_records;
mod delete_share_group_offsets;
mod delete_topics;
mod describe_client_quotas;
mod describe_cluster;
mod describe_configs;
mod describe_groups;
mod describe_log_dirs;
mod describe_producers;
mod describe_quorum;
mod describe_share_group_offsets;
mod describe_topic_partitions;
mod describe_transactions;
mod elect_leaders;
mod end_txn;
mod fetch;
mod find_coordinator;
mod get_telemetry_subscriptions;
mod group_configs;
mod heartbeat;
mod incremental_alter_configs;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_config_resources;
mod list_groups;
mod list_offsets;
mod list_partition_reassignments;
mod list_transactions;
mod member_ref;
mod metadata;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offset_for_leader_epoch;
pub(crate) mod produce;
mod push_telemetry;
mod refusal;
mod share_acknowledge;
mod share_fetch;
mod share_group_describe;
mod share_group_heartbeat;
mod share_request;
mod sync_group;
mod topic_change;
mod transactional;
mod txn_offset_commit;
mod write_txn_markers;

use bytes::Bytes;
use thiserror::Error;

pub(crate) use self::refusal::Refusal;

use crate::answer::Answer;
use crate::broker::{Caller, SharedBroker};
use crate::busy::busy;
use crate::error_code::ErrorCode;
use crate::frame::{FrameError, Head, Opened, open};
use crate::wire::{self, ApiKey, BodyError, EncodeError, Request, messages, share_v2};

/// Why a request gets no answer, but its connection closed.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// Reads the body of a request of type `R`.
pub(crate) fn decode<R: Request>(head: &Head, body: Bytes) -> Result<R, FrameError> {
    wire::decode(head.version, body).map_err(|source| bad_body(head, source))
}

fn bad_body(head: &Head, source: BodyError) -> FrameError {
    FrameError::Body { row: head.row, version: head.version, source }
}

/// Answers any request but a Produce.
pub(crate) async fn answer(
    broker: &SharedBroker,
    caller: &Caller,
    head: &Head,
    body: Bytes,
) -> Result<Answer, RequestError> {
    macro_rules! by {
        ($handler:path) => {{
            let handled = busy($handler(broker, caller, decode(head, body)?)).await;
            let (mut response, throttle_ms) = (handled.output, broker.throttle_request(caller, handled.busy));
            response.throttle_time_ms = throttle_ms as i32;
            Answer::from(wire::encode(head.correlation_id, head.version, &response)?).throttled(throttle_ms)
        }};
    }
    // An answer that has no room for the time.
    macro_rules! by_unthrottled {
        ($handler:path) => {{
            let response = $handler(broker, caller, decode(head, body)?).await;
            Answer::from(wire::encode(head.correlation_id, head.version, &response)?)
        }};
    }
    Ok(match head.row.api {
        ApiKey::Fetch => fetch::answer(broker, caller, head.correlation_id, decode(head, body)?).await,
        ApiKey::ListOffsets => by!(list_offsets::handle),
        ApiKey::Metadata => by!(metadata::handle),
        ApiKey::OffsetCommit => by!(offset_commit::handle),
        ApiKey::OffsetFetch => by!(offset_fetch::handle),
        ApiKey::FindCoordinator => by!(find_coordinator::handle),
        ApiKey::JoinGroup => by!(join_group::handle),
        ApiKey::Heartbeat => by!(heartbeat::handle),
        ApiKey::LeaveGroup => by!(leave_group::handle),
        ApiKey::SyncGroup => by!(sync_group::handle),
        ApiKey::DescribeGroups => by!(describe_groups::handle),
        ApiKey::ListGroups => by!(list_groups::handle),
        ApiKey::ApiVersions => by!(api_versions::handle),
        ApiKey::CreateTopics => by!(create_topics::handle),
        ApiKey::DeleteTopics => by!(delete_topics::handle),
        ApiKey::InitProducerId => by!(init_producer_id::handle),
        ApiKey::DescribeConfigs => by!(describe_configs::handle),
        ApiKey::AlterConfigs => by!(alter_configs::handle),
        ApiKey::IncrementalAlterConfigs => by!(incremental_alter_configs::handle),
        ApiKey::CreatePartitions => by!(create_partitions::handle),
        ApiKey::DeleteGroups => by!(delete_groups::handle),
        ApiKey::DeleteRecords => by!(delete_records::handle),
        ApiKey::DescribeCluster => by!(describe_cluster::handle),
        ApiKey::ShareGroupHeartbeat => by!(share_group_heartbeat::handle),
        ApiKey::ShareGroupDescribe => by!(share_group_describe::handle),
        ApiKey::ShareFetch => {
            let (extras, request) =
                share_v2::decode_fetch(head.version, body).map_err(|source| bad_body(head, source))?;
            share_fetch::answer(broker, caller, head.correlation_id, request, extras).await
        }
        ApiKey::ShareAcknowledge => {
            let decoded = share_v2::decode_acknowledge(head.version, body);
            let (renews, request) = decoded.map_err(|source| bad_body(head, source))?;
            share_acknowledge::answer(broker, caller, head.correlation_id, request, renews).await?.into()
        }
        ApiKey::DescribeShareGroupOffsets => {
            let request = share_v2::decode_describe_offsets(body).map_err(|source| bad_body(head, source))?;
            describe_share_group_offsets::answer(broker, caller, head.correlation_id, &request).into()
        }
        ApiKey::AlterShareGroupOffsets => by!(alter_share_group_offsets::handle),
        ApiKey::DeleteShareGroupOffsets => by!(delete_share_group_offsets::handle),
        ApiKey::OffsetForLeaderEpoch => by!(offset_for_leader_epoch::handle),
        ApiKey::AlterReplicaLogDirs => by!(alter_replica_log_dirs::handle),
        ApiKey::DescribeLogDirs => by!(describe_log_dirs::handle),
        ApiKey::ElectLeaders => by!(elect_leaders::handle),
        ApiKey::AlterPartitionReassignments => by!(alter_partition_reassignments::handle),
        ApiKey::ListPartitionReassignments => by!(list_partition_reassignments::handle),
        ApiKey::DescribeClientQuotas => by!(describe_client_quotas::handle),
        ApiKey::AlterClientQuotas => by!(alter_client_quotas::handle),
        ApiKey::DescribeQuorum => by_unthrottled!(describe_quorum::handle),
        ApiKey::GetTelemetrySubscriptions => by!(get_telemetry_subscriptions::handle),
        ApiKey::PushTelemetry => by!(push_telemetry::handle),
        ApiKey::ListConfigResources => by!(list_config_resources::handle),
        ApiKey::DescribeTopicPartitions => by!(describe_topic_partitions::handle),
        ApiKey::OffsetDelete => by!(offset_delete::handle),
        ApiKey::ConsumerGroupHeartbeat => by!(consumer_group_heartbeat::handle),
        ApiKey::ConsumerGroupDescribe => by!(consumer_group_describe::handle),
        ApiKey::AddPartitionsToTxn => by!(add_partitions_to_txn::handle),
        ApiKey::AddOffsetsToTxn => by!(add_offsets_to_txn::handle),
        ApiKey::EndTxn => by!(end_txn::handle),
        ApiKey::WriteTxnMarkers => by_unthrottled!(write_txn_markers::handle),
        ApiKey::TxnOffsetCommit => by!(txn_offset_commit::handle),
        ApiKey::DescribeProducers => by!(describe_producers::handle),
        ApiKey::DescribeTransactions => by!(describe_transactions::handle),
        ApiKey::ListTransactions => by!(list_transactions::handle),
        // Produce is the session's; the table of versions has no others.
        _ => return Err(FrameError::UnknownApi { key: head.row.key() }.into()),
    })
}

/// The answer to an ApiVersions request of a version that isn't known here.
pub(crate) fn unsupported_api_versions(correlation_id: i32) -> Result<Answer, RequestError> {
    let response = api_versions::refusal(ErrorCode::UnsupportedVersion);
    Ok(wire::encode(correlation_id, 0, &response)?.into())
}

/// Reads a whole request, without its length, as a connection would, and drops it: for fuzzing.
pub fn decode_request(request: &[u8]) -> Result<(), FrameError> {
    let Opened::Request { head, body } = open(Bytes::copy_from_slice(request))? else { return Ok(()) };
    let head = &head;
    match head.row.api {
        ApiKey::Produce => decode::<messages::ProduceRequest>(head, body).map(drop),
        ApiKey::Fetch => decode::<messages::FetchRequest>(head, body).map(drop),
        ApiKey::ListOffsets => decode::<messages::ListOffsetsRequest>(head, body).map(drop),
        ApiKey::Metadata => decode::<messages::MetadataRequest>(head, body).map(drop),
        ApiKey::OffsetCommit => decode::<messages::OffsetCommitRequest>(head, body).map(drop),
        ApiKey::OffsetFetch => decode::<messages::OffsetFetchRequest>(head, body).map(drop),
        ApiKey::FindCoordinator => decode::<messages::FindCoordinatorRequest>(head, body).map(drop),
        ApiKey::JoinGroup => decode::<messages::JoinGroupRequest>(head, body).map(drop),
        ApiKey::Heartbeat => decode::<messages::HeartbeatRequest>(head, body).map(drop),
        ApiKey::LeaveGroup => decode::<messages::LeaveGroupRequest>(head, body).map(drop),
        ApiKey::SyncGroup => decode::<messages::SyncGroupRequest>(head, body).map(drop),
        ApiKey::DescribeGroups => decode::<messages::DescribeGroupsRequest>(head, body).map(drop),
        ApiKey::ListGroups => decode::<messages::ListGroupsRequest>(head, body).map(drop),
        ApiKey::ApiVersions => decode::<messages::ApiVersionsRequest>(head, body).map(drop),
        ApiKey::CreateTopics => decode::<messages::CreateTopicsRequest>(head, body).map(drop),
        ApiKey::DeleteTopics => decode::<messages::DeleteTopicsRequest>(head, body).map(drop),
        ApiKey::InitProducerId => decode::<messages::InitProducerIdRequest>(head, body).map(drop),
        ApiKey::DescribeConfigs => decode::<messages::DescribeConfigsRequest>(head, body).map(drop),
        ApiKey::AlterConfigs => decode::<messages::AlterConfigsRequest>(head, body).map(drop),
        ApiKey::IncrementalAlterConfigs => decode::<messages::IncrementalAlterConfigsRequest>(head, body).map(drop),
        ApiKey::CreatePartitions => decode::<messages::CreatePartitionsRequest>(head, body).map(drop),
        ApiKey::DeleteGroups => decode::<messages::DeleteGroupsRequest>(head, body).map(drop),
        ApiKey::DeleteRecords => decode::<messages::DeleteRecordsRequest>(head, body).map(drop),
        ApiKey::DescribeCluster => decode::<messages::DescribeClusterRequest>(head, body).map(drop),
        ApiKey::ShareGroupHeartbeat => decode::<messages::ShareGroupHeartbeatRequest>(head, body).map(drop),
        ApiKey::ShareGroupDescribe => decode::<messages::ShareGroupDescribeRequest>(head, body).map(drop),
        ApiKey::ShareFetch => {
            share_v2::decode_fetch(head.version, body).map(drop).map_err(|source| bad_body(head, source))
        }
        ApiKey::ShareAcknowledge => {
            share_v2::decode_acknowledge(head.version, body).map(drop).map_err(|source| bad_body(head, source))
        }
        ApiKey::DescribeShareGroupOffsets => {
            share_v2::decode_describe_offsets(body).map(drop).map_err(|source| bad_body(head, source))
        }
        ApiKey::AlterShareGroupOffsets => decode::<messages::AlterShareGroupOffsetsRequest>(head, body).map(drop),
        ApiKey::DeleteShareGroupOffsets => decode::<messages::DeleteShareGroupOffsetsRequest>(head, body).map(drop),
        ApiKey::OffsetForLeaderEpoch => decode::<messages::OffsetForLeaderEpochRequest>(head, body).map(drop),
        ApiKey::AlterReplicaLogDirs => decode::<messages::AlterReplicaLogDirsRequest>(head, body).map(drop),
        ApiKey::DescribeLogDirs => decode::<messages::DescribeLogDirsRequest>(head, body).map(drop),
        ApiKey::ElectLeaders => decode::<messages::ElectLeadersRequest>(head, body).map(drop),
        ApiKey::AlterPartitionReassignments => {
            decode::<messages::AlterPartitionReassignmentsRequest>(head, body).map(drop)
        }
        ApiKey::ListPartitionReassignments => {
            decode::<messages::ListPartitionReassignmentsRequest>(head, body).map(drop)
        }
        ApiKey::DescribeClientQuotas => decode::<messages::DescribeClientQuotasRequest>(head, body).map(drop),
        ApiKey::AlterClientQuotas => decode::<messages::AlterClientQuotasRequest>(head, body).map(drop),
        ApiKey::DescribeQuorum => decode::<messages::DescribeQuorumRequest>(head, body).map(drop),
        ApiKey::GetTelemetrySubscriptions => decode::<messages::GetTelemetrySubscriptionsRequest>(head, body).map(drop),
        ApiKey::PushTelemetry => decode::<messages::PushTelemetryRequest>(head, body).map(drop),
        ApiKey::ListConfigResources => decode::<messages::ListConfigResourcesRequest>(head, body).map(drop),
        ApiKey::DescribeTopicPartitions => decode::<messages::DescribeTopicPartitionsRequest>(head, body).map(drop),
        ApiKey::OffsetDelete => decode::<messages::OffsetDeleteRequest>(head, body).map(drop),
        ApiKey::ConsumerGroupHeartbeat => decode::<messages::ConsumerGroupHeartbeatRequest>(head, body).map(drop),
        ApiKey::ConsumerGroupDescribe => decode::<messages::ConsumerGroupDescribeRequest>(head, body).map(drop),
        ApiKey::AddPartitionsToTxn => decode::<messages::AddPartitionsToTxnRequest>(head, body).map(drop),
        ApiKey::AddOffsetsToTxn => decode::<messages::AddOffsetsToTxnRequest>(head, body).map(drop),
        ApiKey::EndTxn => decode::<messages::EndTxnRequest>(head, body).map(drop),
        ApiKey::WriteTxnMarkers => decode::<messages::WriteTxnMarkersRequest>(head, body).map(drop),
        ApiKey::TxnOffsetCommit => decode::<messages::TxnOffsetCommitRequest>(head, body).map(drop),
        ApiKey::DescribeProducers => decode::<messages::DescribeProducersRequest>(head, body).map(drop),
        ApiKey::DescribeTransactions => decode::<messages::DescribeTransactionsRequest>(head, body).map(drop),
        ApiKey::ListTransactions => decode::<messages::ListTransactionsRequest>(head, body).map(drop),
        _ => Err(FrameError::UnknownApi { key: head.row.key() }),
    }
}
