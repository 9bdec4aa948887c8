//! A sample request of every API in every version: no list empty, every field set that the version has.

#[path = "administration_requests.rs"]
mod administration;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Encodable, StrBytes};
use uuid::Uuid;

#[path = "share_requests.rs"]
mod share_requests;

/// Topic that the samples name.
pub const TOPIC: &str = "sample";
pub const GROUP: &str = "sample-group";
pub const TOPIC_ID: Uuid = Uuid::from_u128(0x5a);

fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

fn topic_name() -> TopicName {
    TopicName(text(TOPIC))
}

fn group() -> GroupId {
    GroupId(text(GROUP))
}

/// A whole request, its length in front.
pub fn frame(api: ApiKey, version: i16, correlation_id: i32) -> Bytes {
    framed(api, version, correlation_id, &body(api, version))
}

/// A whole request with this body.
pub fn framed(api: ApiKey, version: i16, correlation_id: i32, body: &[u8]) -> Bytes {
    let mut request = BytesMut::new();
    RequestHeader::default()
        .with_request_api_key(api as i16)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some(text("sampler")))
        .encode(&mut request, api.request_header_version(version))
        .expect("headers encode");
    request.extend_from_slice(body);
    let mut frame = BytesMut::new();
    frame.put_i32(i32::try_from(request.len()).expect("samples are small"));
    frame.extend_from_slice(&request);
    frame.freeze()
}

/// The body of a sample request.
pub fn body(api: ApiKey, version: i16) -> Bytes {
    match api {
        ApiKey::Produce => encode(version, &produce(version, Bytes::from_static(b"no batch"))),
        ApiKey::Fetch => encode(version, &fetch(version)),
        ApiKey::ListOffsets => encode(version, &list_offsets(version)),
        ApiKey::Metadata => encode(version, &metadata(version)),
        ApiKey::OffsetCommit => encode(version, &offset_commit(version)),
        ApiKey::OffsetFetch => encode(version, &offset_fetch(version)),
        ApiKey::FindCoordinator => encode(version, &find_coordinator(version)),
        ApiKey::JoinGroup => encode(version, &join_group(version)),
        ApiKey::Heartbeat => {
            let request = HeartbeatRequest::default().with_group_id(group()).with_member_id(text("m"));
            encode(version, &request.with_group_instance_id((version >= 3).then(|| text("i"))))
        }
        ApiKey::LeaveGroup => encode(version, &leave_group(version)),
        ApiKey::SyncGroup => encode(version, &sync_group(version)),
        ApiKey::DescribeGroups => {
            let request = DescribeGroupsRequest::default().with_groups(vec![group(), group()]);
            encode(version, &request.with_include_authorized_operations(version >= 3))
        }
        ApiKey::ListGroups => {
            let states = if version >= 4 { vec![text("Stable"), text("Empty")] } else { Vec::new() };
            let types = if version >= 5 { vec![text("classic")] } else { Vec::new() };
            encode(version, &ListGroupsRequest::default().with_states_filter(states).with_types_filter(types))
        }
        ApiKey::ApiVersions => encode(version, &api_versions(version)),
        ApiKey::CreateTopics => encode(version, &create_topics()),
        ApiKey::DeleteTopics => encode(version, &delete_topics(version)),
        ApiKey::InitProducerId => encode(
            version,
            &InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(1000),
        ),
        ApiKey::DescribeConfigs => encode(version, &describe_configs(version)),
        ApiKey::AlterConfigs => encode(version, &alter_configs()),
        ApiKey::IncrementalAlterConfigs => encode(version, &incremental_alter_configs()),
        ApiKey::CreatePartitions => encode(version, &create_partitions()),
        ApiKey::DeleteRecords => encode(version, &administration::delete_records(version)),
        ApiKey::DeleteGroups => encode(version, &DeleteGroupsRequest::default().with_groups_names(vec![group()])),
        ApiKey::DescribeCluster => {
            encode(version, &DescribeClusterRequest::default().with_include_cluster_authorized_operations(true))
        }
        ApiKey::OffsetDelete => {
            let partition = offset_delete_request::OffsetDeleteRequestPartition::default().with_partition_index(1);
            let topic = offset_delete_request::OffsetDeleteRequestTopic::default()
                .with_name(topic_name())
                .with_partitions(vec![partition]);
            encode(version, &OffsetDeleteRequest::default().with_group_id(group()).with_topics(vec![topic]))
        }
        ApiKey::ConsumerGroupHeartbeat => {
            let owned = consumer_group_heartbeat_request::TopicPartitions::default()
                .with_topic_id(TOPIC_ID)
                .with_partitions(vec![0, 1]);
            let request = ConsumerGroupHeartbeatRequest::default()
                .with_group_id(group())
                .with_member_id(text("member"))
                .with_instance_id(Some(text("instance")))
                .with_rebalance_timeout_ms(1000)
                .with_subscribed_topic_names(Some(vec![topic_name()]))
                .with_server_assignor(Some(text("range")))
                .with_topic_partitions(Some(vec![owned]));
            let regex = (version >= 1).then(|| text("s.*"));
            encode(version, &if version >= 1 { request.with_subscribed_topic_regex(regex) } else { request })
        }
        ApiKey::ConsumerGroupDescribe => encode(
            version,
            &ConsumerGroupDescribeRequest::default()
                .with_group_ids(vec![group(), GroupId(text("other"))])
                .with_include_authorized_operations(true),
        ),
        ApiKey::ShareGroupHeartbeat
        | ApiKey::ShareGroupDescribe
        | ApiKey::ShareFetch
        | ApiKey::ShareAcknowledge
        | ApiKey::DescribeShareGroupOffsets
        | ApiKey::AlterShareGroupOffsets
        | ApiKey::DeleteShareGroupOffsets => share_requests::body(api, version),
        ApiKey::OffsetForLeaderEpoch => encode(version, &administration::offset_for_leader_epoch(version)),
        ApiKey::AlterReplicaLogDirs => encode(version, &administration::alter_replica_log_dirs(version)),
        ApiKey::DescribeLogDirs => encode(version, &administration::describe_log_dirs(version)),
        ApiKey::ElectLeaders => encode(version, &administration::elect_leaders(version)),
        ApiKey::AlterPartitionReassignments => encode(version, &administration::alter_partition_reassignments(version)),
        ApiKey::ListPartitionReassignments => encode(version, &administration::list_partition_reassignments(version)),
        ApiKey::DescribeClientQuotas => encode(version, &administration::describe_client_quotas(version)),
        ApiKey::AlterClientQuotas => encode(version, &administration::alter_client_quotas(version)),
        ApiKey::DescribeQuorum => encode(version, &administration::describe_quorum(version)),
        ApiKey::GetTelemetrySubscriptions => encode(version, &administration::get_telemetry_subscriptions(version)),
        ApiKey::PushTelemetry => encode(version, &administration::push_telemetry(version)),
        ApiKey::ListConfigResources => encode(version, &administration::list_config_resources(version)),
        ApiKey::DescribeTopicPartitions => encode(version, &administration::describe_topic_partitions(version)),
        ApiKey::AddPartitionsToTxn => encode(version, &add_partitions_to_txn(version)),
        ApiKey::AddOffsetsToTxn => {
            let request = AddOffsetsToTxnRequest::default().with_transactional_id(transactional_id());
            encode(version, &request.with_producer_id(ProducerId(7)).with_group_id(group()))
        }
        ApiKey::EndTxn => {
            let request = EndTxnRequest::default().with_transactional_id(transactional_id());
            encode(version, &request.with_producer_id(ProducerId(7)).with_committed(true))
        }
        ApiKey::WriteTxnMarkers => encode(version, &write_txn_markers()),
        ApiKey::TxnOffsetCommit => encode(version, &txn_offset_commit(version)),
        ApiKey::DescribeProducers => {
            use describe_producers_request::TopicRequest;
            let topic = TopicRequest::default().with_name(topic_name()).with_partition_indexes(vec![0, 9]);
            encode(version, &DescribeProducersRequest::default().with_topics(vec![topic]))
        }
        ApiKey::DescribeTransactions => {
            let ids = vec![transactional_id(), TransactionalId(text(""))];
            encode(version, &DescribeTransactionsRequest::default().with_transactional_ids(ids))
        }
        ApiKey::ListTransactions => {
            let request = ListTransactionsRequest::default()
                .with_state_filters(vec![text("Ongoing"), text("Unheard of")])
                .with_producer_id_filters(vec![ProducerId(7), ProducerId(8)]);
            let request = if version >= 1 { request.with_duration_filter(5) } else { request };
            let pattern = (version >= 2).then(|| text("s.*"));
            encode(version, &if version >= 2 { request.with_transactional_id_pattern(pattern) } else { request })
        }
        other => panic!("there is no sample of {other:?}"),
    }
}

fn encode(version: i16, message: &impl Encodable) -> Bytes {
    let mut out = BytesMut::new();
    message.encode(&mut out, version).expect("samples have what their version has");
    out.freeze()
}

pub fn produce(version: i16, records: Bytes) -> ProduceRequest {
    use produce_request::{PartitionProduceData, TopicProduceData};
    let partition = PartitionProduceData::default().with_index(0).with_records(Some(records));
    let topic = TopicProduceData::default().with_partition_data(vec![partition.clone(), partition.with_index(7)]);
    let topic = if version >= 13 { topic.with_topic_id(TOPIC_ID) } else { topic.with_name(topic_name()) };
    ProduceRequest::default().with_acks(-1).with_timeout_ms(1000).with_topic_data(vec![topic])
}

pub fn fetch(version: i16) -> FetchRequest {
    use fetch_request::{FetchPartition, FetchTopic, ForgottenTopic, ReplicaState};
    let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
    let partition = if version >= 17 { partition.with_replica_directory_id(Uuid::from_u128(1)) } else { partition };
    let topic = FetchTopic::default().with_partitions(vec![partition.clone(), partition.with_partition(3)]);
    let topic = if version >= 13 { topic.with_topic_id(TOPIC_ID) } else { topic.with_topic(topic_name()) };
    let forgotten = ForgottenTopic::default().with_partitions(vec![1, 2]);
    let forgotten = if version >= 13 { forgotten.with_topic_id(TOPIC_ID) } else { forgotten.with_topic(topic_name()) };
    let request = FetchRequest::default()
        .with_max_wait_ms(0)
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_isolation_level(1)
        .with_topics(vec![topic]);
    let request = if version >= 7 { request.with_forgotten_topics_data(vec![forgotten]) } else { request };
    let request = if version >= 11 { request.with_rack_id(text("r1")) } else { request };
    let request = if version >= 12 { request.with_cluster_id(Some(text("cluster"))) } else { request };
    if version >= 15 {
        let state = ReplicaState::default().with_replica_id(BrokerId(-1)).with_replica_epoch(5);
        request.with_replica_state(state)
    } else {
        request
    }
}

fn list_offsets(version: i16) -> ListOffsetsRequest {
    use list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
    let partition = |index, timestamp| {
        let partition = ListOffsetsPartition::default().with_partition_index(index).with_timestamp(timestamp);
        if version >= 4 { partition.with_current_leader_epoch(-1) } else { partition }
    };
    let partitions = vec![partition(0, -1), partition(1, -2), partition(2, 0), partition(3, -3)];
    let topic = ListOffsetsTopic::default().with_name(topic_name()).with_partitions(partitions);
    ListOffsetsRequest::default().with_replica_id(BrokerId(-1)).with_topics(vec![topic])
}

fn metadata(version: i16) -> MetadataRequest {
    use metadata_request::MetadataRequestTopic;
    let topic = |name| MetadataRequestTopic::default().with_name(Some(TopicName(text(name))));
    MetadataRequest::default()
        .with_topics(Some(vec![topic(TOPIC), topic("not a legal name"), topic("unknown")]))
        .with_allow_auto_topic_creation(version < 4)
        .with_include_topic_authorized_operations(version >= 8)
        .with_include_cluster_authorized_operations((8..=10).contains(&version))
}

fn offset_commit(version: i16) -> OffsetCommitRequest {
    use offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
    let partition = |index| {
        OffsetCommitRequestPartition::default()
            .with_partition_index(index)
            .with_committed_offset(5)
            .with_committed_metadata(Some(text("so far")))
    };
    let topic =
        OffsetCommitRequestTopic::default().with_name(topic_name()).with_partitions(vec![partition(0), partition(9)]);
    OffsetCommitRequest::default()
        .with_group_id(group())
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![topic])
        .with_group_instance_id((version >= 7).then(|| text("i")))
}

fn offset_fetch(version: i16) -> OffsetFetchRequest {
    use offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics};
    if version >= 8 {
        let topic = OffsetFetchRequestTopics::default().with_name(topic_name()).with_partition_indexes(vec![0, 9]);
        let some = OffsetFetchRequestGroup::default().with_group_id(group()).with_topics(Some(vec![topic]));
        let all = OffsetFetchRequestGroup::default().with_group_id(group()).with_topics(None);
        return OffsetFetchRequest::default().with_groups(vec![some, all]);
    }
    let topic = OffsetFetchRequestTopic::default().with_name(topic_name()).with_partition_indexes(vec![0, 9]);
    OffsetFetchRequest::default().with_group_id(group()).with_topics(Some(vec![topic]))
}

fn find_coordinator(version: i16) -> FindCoordinatorRequest {
    match version {
        4.. => FindCoordinatorRequest::default().with_coordinator_keys(vec![text(GROUP), text("other")]),
        _ => FindCoordinatorRequest::default().with_key(text(GROUP)),
    }
}

fn join_group(version: i16) -> JoinGroupRequest {
    use join_group_request::JoinGroupRequestProtocol;
    let protocol =
        |name| JoinGroupRequestProtocol::default().with_name(text(name)).with_metadata(Bytes::from_static(b"topics"));
    JoinGroupRequest::default()
        .with_group_id(group())
        .with_session_timeout_ms(10_000)
        .with_rebalance_timeout_ms(10_000)
        // Unknown, so that the answer doesn't wait for a rebalance.
        .with_member_id(text("unknown-member"))
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol("range"), protocol("roundrobin")])
        .with_group_instance_id((version >= 5).then(|| text("i")))
        .with_reason((version >= 8).then(|| text("why")))
}

fn leave_group(version: i16) -> LeaveGroupRequest {
    use leave_group_request::MemberIdentity;
    let request = LeaveGroupRequest::default().with_group_id(group());
    if version >= 3 {
        let member = MemberIdentity::default().with_member_id(text("m")).with_group_instance_id(Some(text("i")));
        request.with_members(vec![member.with_reason((version >= 5).then(|| text("why")))])
    } else {
        request.with_member_id(text("m"))
    }
}

fn sync_group(version: i16) -> SyncGroupRequest {
    use sync_group_request::SyncGroupRequestAssignment;
    let assignment =
        SyncGroupRequestAssignment::default().with_member_id(text("m")).with_assignment(Bytes::from_static(b"work"));
    SyncGroupRequest::default()
        .with_group_id(group())
        .with_member_id(text("m"))
        .with_group_instance_id((version >= 3).then(|| text("i")))
        .with_protocol_type((version >= 5).then(|| text("consumer")))
        .with_protocol_name((version >= 5).then(|| text("range")))
        .with_assignments(vec![assignment])
}

fn api_versions(version: i16) -> ApiVersionsRequest {
    match version {
        3.. => ApiVersionsRequest::default()
            .with_client_software_name(text("sampler"))
            .with_client_software_version(text("1.0")),
        _ => ApiVersionsRequest::default(),
    }
}

fn create_topics() -> CreateTopicsRequest {
    use create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
    let config = |name, value| CreatableTopicConfig::default().with_name(text(name)).with_value(Some(text(value)));
    let by_count = CreatableTopic::default()
        .with_name(TopicName(text("made-by-count")))
        .with_num_partitions(2)
        .with_replication_factor(1)
        .with_configs(vec![config("retention.ms", "1000")]);
    let by_hand = CreatableTopic::default()
        .with_name(TopicName(text("made-by-hand")))
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_assignments(vec![CreatableReplicaAssignment::default().with_broker_ids(vec![BrokerId(0)])]);
    let refused = CreatableTopic::default()
        .with_name(TopicName(text("refused")))
        .with_num_partitions(1)
        .with_replication_factor(1)
        .with_configs(vec![config("no.such.config", "1")]);
    CreateTopicsRequest::default().with_topics(vec![by_count, by_hand, refused]).with_timeout_ms(1000)
}

fn delete_topics(version: i16) -> DeleteTopicsRequest {
    use delete_topics_request::DeleteTopicState;
    let request = DeleteTopicsRequest::default().with_timeout_ms(1000);
    if version >= 6 {
        let by_name = DeleteTopicState::default().with_name(Some(TopicName(text("unknown"))));
        let by_id = DeleteTopicState::default().with_name(None).with_topic_id(Uuid::from_u128(77));
        request.with_topics(vec![by_name, by_id])
    } else {
        request.with_topic_names(vec![TopicName(text("unknown"))])
    }
}

fn describe_configs(version: i16) -> DescribeConfigsRequest {
    use describe_configs_request::DescribeConfigsResource;
    let resource =
        |kind, name| DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(text(name));
    let keys = Some(vec![text("retention.ms"), text("cleanup.policy")]);
    let resources = vec![
        resource(2, TOPIC).with_configuration_keys(keys),
        resource(2, "unknown").with_configuration_keys(None),
        resource(4, "0").with_configuration_keys(None),
        resource(32, "group").with_configuration_keys(None),
    ];
    DescribeConfigsRequest::default()
        .with_resources(resources)
        .with_include_synonyms(true)
        .with_include_documentation(version >= 3)
}

fn alter_configs() -> AlterConfigsRequest {
    use alter_configs_request::{AlterConfigsResource, AlterableConfig};
    let config = AlterableConfig::default().with_name(text("retention.ms")).with_value(Some(text("1000")));
    let resource = AlterConfigsResource::default().with_resource_type(2).with_resource_name(text(TOPIC));
    AlterConfigsRequest::default().with_resources(vec![resource.with_configs(vec![config])])
}

fn incremental_alter_configs() -> IncrementalAlterConfigsRequest {
    use incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
    let config = |name, operation| {
        AlterableConfig::default().with_name(text(name)).with_config_operation(operation).with_value(Some(text("1000")))
    };
    let resource = AlterConfigsResource::default().with_resource_type(2).with_resource_name(text(TOPIC));
    let resource = resource.with_configs(vec![config("retention.ms", 0), config("segment.ms", 1)]);
    IncrementalAlterConfigsRequest::default().with_resources(vec![resource])
}

fn create_partitions() -> CreatePartitionsRequest {
    use create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsTopic};
    let assignment = CreatePartitionsAssignment::default().with_broker_ids(vec![BrokerId(0)]);
    let topic = CreatePartitionsTopic::default().with_name(TopicName(text("unknown"))).with_count(2);
    CreatePartitionsRequest::default()
        .with_topics(vec![topic.with_assignments(Some(vec![assignment]))])
        .with_timeout_ms(1000)
}

fn transactional_id() -> TransactionalId {
    TransactionalId(text("sample-transactions"))
}

fn add_partitions_to_txn(version: i16) -> AddPartitionsToTxnRequest {
    use add_partitions_to_txn_request::{AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction};
    let topic = AddPartitionsToTxnTopic::default().with_name(topic_name()).with_partitions(vec![0, 9]);
    if version >= 4 {
        let transaction = AddPartitionsToTxnTransaction::default()
            .with_transactional_id(transactional_id())
            .with_producer_id(ProducerId(7))
            .with_verify_only(true)
            .with_topics(vec![topic]);
        return AddPartitionsToTxnRequest::default().with_transactions(vec![transaction.clone(), transaction]);
    }
    AddPartitionsToTxnRequest::default()
        .with_v3_and_below_transactional_id(transactional_id())
        .with_v3_and_below_producer_id(ProducerId(7))
        .with_v3_and_below_topics(vec![topic])
}

fn write_txn_markers() -> WriteTxnMarkersRequest {
    use write_txn_markers_request::{WritableTxnMarker, WritableTxnMarkerTopic};
    let topic = WritableTxnMarkerTopic::default().with_name(topic_name()).with_partition_indexes(vec![0, 9]);
    let marker = WritableTxnMarker::default().with_producer_id(ProducerId(7)).with_topics(vec![topic]);
    WriteTxnMarkersRequest::default().with_markers(vec![marker.clone(), marker.with_transaction_result(true)])
}

fn txn_offset_commit(version: i16) -> TxnOffsetCommitRequest {
    use txn_offset_commit_request::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
    let partition = |index| {
        TxnOffsetCommitRequestPartition::default()
            .with_partition_index(index)
            .with_committed_offset(5)
            .with_committed_metadata(Some(text("so far")))
    };
    let topic = TxnOffsetCommitRequestTopic::default()
        .with_name(topic_name())
        .with_partitions(vec![partition(0), partition(9)]);
    let request = TxnOffsetCommitRequest::default()
        .with_transactional_id(transactional_id())
        .with_group_id(group())
        .with_producer_id(ProducerId(7))
        .with_topics(vec![topic]);
    if version >= 3 { request.with_member_id(text("m")).with_group_instance_id(Some(text("i"))) } else { request }
}
