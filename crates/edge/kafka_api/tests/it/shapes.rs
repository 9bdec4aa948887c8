//! Every request in every version gets an answer of that version.

use daybook_kafka_api::versions::TABLE;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, HeaderVersion, Message, Request};
use tokio::io::AsyncWriteExt;

use crate::harness::{Client, Node, options};
use crate::requests;

#[tokio::test(flavor = "multi_thread")]
async fn every_api_answers_in_every_version() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic(requests::TOPIC, 4, &[]).await;
    let mut number = 1000;
    for row in TABLE {
        for version in row.first_version..=row.last_version {
            number += 1;
            let api = ApiKey::try_from(row.key()).expect("the library knows its keys");
            client.stream.write_all(&requests::frame(api, version, number)).await.expect("the server reads");
            check_answer(&mut client, api, version, number).await;
        }
    }
    node.stop().await;
}

async fn check_answer(client: &mut Client, api: ApiKey, version: i16, number: i32) {
    macro_rules! check {
        ($($api:ident => $request:ty,)*) => {
            match api {
                $(ApiKey::$api => receive::<$request>(client, api, version, number).await,)*
                other => panic!("{other:?} is in the table and not here"),
            }
        };
    }
    check! {
        Produce => ProduceRequest,
        Fetch => FetchRequest,
        ListOffsets => ListOffsetsRequest,
        Metadata => MetadataRequest,
        OffsetCommit => OffsetCommitRequest,
        AddOffsetsToTxn => AddOffsetsToTxnRequest,
        AddPartitionsToTxn => AddPartitionsToTxnRequest,
        AlterClientQuotas => AlterClientQuotasRequest,
        AlterPartitionReassignments => AlterPartitionReassignmentsRequest,
        AlterReplicaLogDirs => AlterReplicaLogDirsRequest,
        AlterShareGroupOffsets => AlterShareGroupOffsetsRequest,
        ConsumerGroupDescribe => ConsumerGroupDescribeRequest,
        ConsumerGroupHeartbeat => ConsumerGroupHeartbeatRequest,
        DeleteRecords => DeleteRecordsRequest,
        DeleteShareGroupOffsets => DeleteShareGroupOffsetsRequest,
        DescribeClientQuotas => DescribeClientQuotasRequest,
        DescribeLogDirs => DescribeLogDirsRequest,
        DescribeProducers => DescribeProducersRequest,
        DescribeQuorum => DescribeQuorumRequest,
        DescribeShareGroupOffsets => DescribeShareGroupOffsetsRequest,
        DescribeTopicPartitions => DescribeTopicPartitionsRequest,
        DescribeTransactions => DescribeTransactionsRequest,
        ElectLeaders => ElectLeadersRequest,
        EndTxn => EndTxnRequest,
        GetTelemetrySubscriptions => GetTelemetrySubscriptionsRequest,
        ListConfigResources => ListConfigResourcesRequest,
        ListPartitionReassignments => ListPartitionReassignmentsRequest,
        ListTransactions => ListTransactionsRequest,
        OffsetDelete => OffsetDeleteRequest,
        OffsetForLeaderEpoch => OffsetForLeaderEpochRequest,
        PushTelemetry => PushTelemetryRequest,
        ShareAcknowledge => ShareAcknowledgeRequest,
        ShareFetch => ShareFetchRequest,
        ShareGroupDescribe => ShareGroupDescribeRequest,
        ShareGroupHeartbeat => ShareGroupHeartbeatRequest,
        TxnOffsetCommit => TxnOffsetCommitRequest,
        WriteTxnMarkers => WriteTxnMarkersRequest,
        OffsetFetch => OffsetFetchRequest,
        FindCoordinator => FindCoordinatorRequest,
        JoinGroup => JoinGroupRequest,
        Heartbeat => HeartbeatRequest,
        LeaveGroup => LeaveGroupRequest,
        SyncGroup => SyncGroupRequest,
        DescribeGroups => DescribeGroupsRequest,
        ListGroups => ListGroupsRequest,
        ApiVersions => ApiVersionsRequest,
        CreateTopics => CreateTopicsRequest,
        DeleteTopics => DeleteTopicsRequest,
        InitProducerId => InitProducerIdRequest,
        DescribeConfigs => DescribeConfigsRequest,
        AlterConfigs => AlterConfigsRequest,
        IncrementalAlterConfigs => IncrementalAlterConfigsRequest,
        CreatePartitions => CreatePartitionsRequest,
        DeleteGroups => DeleteGroupsRequest,
        DescribeCluster => DescribeClusterRequest,
    }
}

async fn receive<R: Request>(client: &mut Client, api: ApiKey, version: i16, number: i32) {
    let answer = client.receive_raw().await;
    let mut answer = answer.unwrap_or_else(|| panic!("{api:?} {version} got no answer"));
    let header_version = <R::Response as HeaderVersion>::header_version(version);
    let header = ResponseHeader::decode(&mut answer, header_version).expect("a header");
    assert_eq!(header.correlation_id, number, "{api:?} {version}");
    if version > R::Response::VERSIONS.max {
        // Written by hand, since the library doesn't know this version; the tests of sharing read it.
        return;
    }
    let decoded = R::Response::decode(&mut answer, version);
    assert!(
        decoded.is_ok() && answer.is_empty(),
        "{api:?} {version}: {:?}, {} bytes left",
        decoded.err(),
        answer.len()
    );
}
