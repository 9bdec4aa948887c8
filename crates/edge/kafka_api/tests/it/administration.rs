//! What administrators ask for: configs of everything, quotas that hold clients back, sizes, elections, reassignments, client metrics.

use bytes::Bytes;
use daybook_kafka_api::Options;
use kafka_protocol::messages::alter_client_quotas_request::{EntityData, EntryData, OpData};
use kafka_protocol::messages::alter_configs_request::{
    AlterConfigsResource as ReplacedResource, AlterableConfig as ReplacedConfig,
};
use kafka_protocol::messages::alter_partition_reassignments_request::{ReassignablePartition, ReassignableTopic};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::*;
use uuid::Uuid;

use crate::harness::{Client, Node, batch, options, produce_request, text, topic_name};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const MESSAGE_TOO_LARGE: i16 = 10;
const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
const INVALID_CONFIG: i16 = 40;
const INVALID_REQUEST: i16 = 42;
const LOG_DIR_NOT_FOUND: i16 = 57;
const ELECTION_NOT_NEEDED: i16 = 84;
const NO_REASSIGNMENT_IN_PROGRESS: i16 = 85;
const THROTTLING_QUOTA_EXCEEDED: i16 = 89;

/// Source of a value.
const OF_BROKER: i8 = 2;
const OF_ALL_BROKERS: i8 = 3;
const OF_DEFAULT: i8 = 5;

async fn alter(
    client: &mut Client,
    (kind, name): (i8, &'static str),
    changes: &[(&'static str, i8, Option<&'static str>)],
) -> i16 {
    let config = |(name, operation, value): &(&'static str, i8, Option<&'static str>)| {
        AlterableConfig::default().with_name(text(name)).with_config_operation(*operation).with_value(value.map(text))
    };
    let resource = AlterConfigsResource::default().with_resource_type(kind).with_resource_name(text(name));
    let resource = resource.with_configs(changes.iter().map(config).collect());
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    client.call(1, &request).await.responses[0].error_code
}

/// Value, source, and the sources of all synonyms; none if there is no such config.
async fn config(
    client: &mut Client,
    (kind, name): (i8, &'static str),
    key: &str,
) -> Option<(Option<String>, i8, Vec<i8>)> {
    let resource = DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(text(name));
    let request = DescribeConfigsRequest::default()
        .with_resources(vec![resource.with_configuration_keys(None)])
        .with_include_synonyms(true);
    let mut answer = client.call(4, &request).await;
    assert_eq!(answer.results[0].error_code, 0);
    let found = answer.results.remove(0).configs.into_iter().find(|config| &*config.name == key)?;
    let sources = found.synonyms.iter().map(|synonym| synonym.source).collect();
    Some((found.value.map(|value| value.to_string()), found.config_source, sources))
}

fn told(value: &str, source: i8, sources: &[i8]) -> Option<(Option<String>, i8, Vec<i8>)> {
    Some((Some(value.to_owned()), source, sources.to_vec()))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_brokers_are_told_holds_for_topics_and_outlives_a_restart() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let (one, all) = ((BROKER, "0"), (BROKER, ""));
    assert_eq!(alter(&mut client, all, &[("message.max.bytes", SET, Some("100"))]).await, 0);
    let big = batch(&[&[7; 100]]);
    assert_eq!(client.produce("t", 0, big.clone()).await.error_code, MESSAGE_TOO_LARGE);
    assert_eq!(config(&mut client, all, "message.max.bytes").await, told("100", OF_ALL_BROKERS, &[OF_ALL_BROKERS]));
    assert_eq!(alter(&mut client, one, &[("message.max.bytes", SET, Some("500"))]).await, 0);
    assert_eq!(client.produce("t", 0, big.clone()).await.error_code, 0);
    let sources = [OF_BROKER, OF_ALL_BROKERS, OF_DEFAULT];
    assert_eq!(config(&mut client, one, "message.max.bytes").await, told("500", OF_BROKER, &sources));
    assert_eq!(config(&mut client, (TOPIC, "t"), "max.message.bytes").await, told("500", OF_BROKER, &sources));

    let node = node.restart(options()).await;
    let mut client = node.connect().await;
    assert_eq!(config(&mut client, one, "message.max.bytes").await, told("500", OF_BROKER, &sources));
    assert_eq!(alter(&mut client, one, &[("message.max.bytes", DELETE, None)]).await, 0);
    assert_eq!(client.produce("t", 0, big).await.error_code, MESSAGE_TOO_LARGE);
}

#[tokio::test(flavor = "multi_thread")]
async fn brokers_are_told_only_what_can_change() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let cases = [
        ((BROKER, "0"), ("node.id", SET, Some("3")), INVALID_REQUEST),
        ((BROKER, ""), ("num.partitions", SET, Some("3")), INVALID_REQUEST),
        ((BROKER, "1"), ("message.max.bytes", SET, Some("3")), INVALID_REQUEST),
        ((BROKER, "one"), ("message.max.bytes", SET, Some("3")), INVALID_REQUEST),
        ((BROKER, "0"), ("message.max.bytes", SET, Some("-3")), INVALID_REQUEST),
        ((BROKER, "0"), ("message.max.bytes", APPEND, Some("3")), INVALID_CONFIG),
        ((BROKER, "0"), ("log.cleanup.policy", APPEND, Some("compact")), 0),
        ((BROKER, "0"), ("log.cleanup.policy", SUBTRACT, Some("delete")), 0),
        ((BROKER, "0"), ("the.setter.knows", SET, Some("secret")), 0),
        ((8, "0"), ("root", SET, Some("DEBUG")), INVALID_REQUEST),
        ((3, "0"), ("message.max.bytes", SET, Some("3")), INVALID_REQUEST),
    ];
    for (resource, change, code) in cases {
        assert_eq!(alter(&mut client, resource, &[change]).await, code, "{resource:?} {change:?}");
    }
    assert_eq!(config(&mut client, (BROKER, "0"), "the.setter.knows").await, Some((None, OF_BROKER, Vec::new())));
    let policy = config(&mut client, (BROKER, "0"), "log.cleanup.policy").await;
    assert_eq!(policy, told("compact", OF_BROKER, &[OF_BROKER, OF_DEFAULT]));
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_and_subscriptions_of_client_metrics_have_configs() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let cases = [
        ((GROUP, "g"), ("consumer.session.timeout.ms", SET, Some("50000")), 0),
        ((GROUP, "g"), ("consumer.session.timeout.ms", SET, Some("5")), INVALID_CONFIG),
        ((GROUP, "g"), ("no.such", SET, Some("5")), INVALID_CONFIG),
        ((GROUP, ""), ("consumer.session.timeout.ms", SET, Some("50000")), INVALID_REQUEST),
        ((CLIENT_METRICS, "m"), ("interval.ms", SET, Some("1000")), 0),
        ((CLIENT_METRICS, "m"), ("metrics", APPEND, Some("a.")), 0),
        ((CLIENT_METRICS, "m"), ("interval.ms", SET, Some("1")), INVALID_CONFIG),
        ((CLIENT_METRICS, ""), ("interval.ms", SET, Some("1000")), INVALID_REQUEST),
    ];
    for (resource, change, code) in cases {
        assert_eq!(alter(&mut client, resource, &[change]).await, code, "{resource:?} {change:?}");
    }
    assert_eq!(config(&mut client, (GROUP, "g"), "consumer.session.timeout.ms").await, told("50000", 8, &[8, 5]));
    assert_eq!(config(&mut client, (CLIENT_METRICS, "m"), "metrics").await, told("a.", 7, &[7, 5]));
    let resources = |types: Vec<i8>| ListConfigResourcesRequest::default().with_resource_types(types);
    let listed = client.call(1, &resources(vec![GROUP, CLIENT_METRICS, BROKER])).await.config_resources;
    let names: Vec<_> = listed.iter().map(|found| (found.resource_type, &*found.resource_name)).collect();
    assert_eq!(names, [(BROKER, "0"), (CLIENT_METRICS, "m"), (GROUP, "g")]);
    let old = client.call(0, &resources(Vec::new())).await.config_resources;
    assert_eq!(old.iter().map(|found| &*found.resource_name).collect::<Vec<_>>(), ["m"]);
    assert_eq!(client.call(1, &resources(vec![3])).await.error_code, 35);
}

#[tokio::test(flavor = "multi_thread")]
async fn replacing_configs_and_checking_only() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[("retention.ms", "5"), ("segment.ms", "9")]).await;
    let replaced = |configs: Vec<(&'static str, Option<&'static str>)>, validate_only| {
        let config = |(name, value): (&'static str, Option<&'static str>)| {
            ReplacedConfig::default().with_name(text(name)).with_value(value.map(text))
        };
        let resource = ReplacedResource::default().with_resource_type(TOPIC).with_resource_name(text("t"));
        let resource = resource.with_configs(configs.into_iter().map(config).collect());
        AlterConfigsRequest::default().with_resources(vec![resource]).with_validate_only(validate_only)
    };
    let only_checked = replaced(vec![("retention.ms", Some("7"))], true);
    assert_eq!(client.call(2, &only_checked).await.responses[0].error_code, 0);
    assert_eq!(config(&mut client, (TOPIC, "t"), "retention.ms").await, told("5", 1, &[1, 5]));
    assert_eq!(client.call(2, &replaced(vec![("retention.ms", None)], false)).await.responses[0].error_code, 42);
    let done = replaced(vec![("retention.ms", Some("7"))], false);
    assert_eq!(client.call(2, &done).await.responses[0].error_code, 0);
    assert_eq!(config(&mut client, (TOPIC, "t"), "retention.ms").await, told("7", 1, &[1, 5]));
    assert_eq!(config(&mut client, (TOPIC, "t"), "segment.ms").await, told("604800000", 5, &[5]));
}

async fn set_quota(client: &mut Client, kind: &'static str, key: &'static str, value: Option<f64>) {
    let entity = EntityData::default().with_entity_type(text(kind)).with_entity_name(None);
    let op = OpData::default().with_key(text(key)).with_value(value.unwrap_or(0.0)).with_remove(value.is_none());
    let entry = EntryData::default().with_entity(vec![entity]).with_ops(vec![op]);
    let answer = client.call(1, &AlterClientQuotasRequest::default().with_entries(vec![entry])).await;
    assert_eq!(answer.entries[0].error_code, 0, "{:?}", answer.entries[0].error_message);
}

async fn quotas(client: &mut Client) -> Vec<(String, Option<String>, Vec<(String, f64)>)> {
    let answer = client.call(1, &DescribeClientQuotasRequest::default()).await;
    let entries = answer.entries.expect("quotas are told").into_iter().map(|entry| {
        let values = entry.values.iter().map(|value| (value.key.to_string(), value.value)).collect();
        let part = &entry.entity[0];
        (part.entity_type.to_string(), part.entity_name.as_ref().map(ToString::to_string), values)
    });
    entries.collect()
}

/// The sample's rate is taken over ten whole seconds at least, so a single request of so many bytes is told a wait of at least
/// (bytes / rate − 10 s), and at most a second more.
#[tokio::test(flavor = "multi_thread")]
async fn a_producer_beyond_its_quota_is_told_to_wait_and_is_not_read_meanwhile() {
    let node = Node::start(options()).await;
    let mut admin = node.connect().await;
    admin.create_topic("t", 1, &[]).await;
    set_quota(&mut admin, "client-id", "producer_byte_rate", Some(10.0)).await;
    let expected = ("client-id".to_owned(), None, vec![("producer_byte_rate".to_owned(), 10.0)]);
    assert_eq!(quotas(&mut admin).await, [expected]);
    let mut producer = node.connect().await;
    let request = produce_request("t", 0, batch(&[&[7; 2_000]]));
    let answer = producer.call(9, &request).await;
    assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
    assert!(answer.throttle_time_ms > 190_000, "{}", answer.throttle_time_ms);
    // The record is there, and others aren't held up.
    let epoch =
        OffsetForLeaderPartition::default().with_partition(0).with_current_leader_epoch(-1).with_leader_epoch(0);
    let topic = OffsetForLeaderTopic::default().with_topic(topic_name("t")).with_partitions(vec![epoch]);
    let request_of_end = OffsetForLeaderEpochRequest::default().with_topics(vec![topic]);
    assert_eq!(admin.call(4, &request_of_end).await.topics[0].partitions[0].end_offset, 1);
    // What the muted one sends now is not read, though another's later request is answered.
    producer.send(9, &request).await;
    assert_eq!(admin.call(4, &request_of_end).await.topics[0].partitions[0].end_offset, 1);
    set_quota(&mut admin, "client-id", "producer_byte_rate", None).await;
    assert!(quotas(&mut admin).await.is_empty());
    // Without a quota nobody waits.
    let mut other = node.connect().await;
    assert_eq!(other.call(9, &request).await.throttle_time_ms, 0);
}

fn fetch(max_bytes: i32) -> FetchRequest {
    let partition = FetchPartition::default().with_partition(0).with_fetch_offset(0).with_partition_max_bytes(1 << 20);
    let topic = FetchTopic::default().with_topic(topic_name("t")).with_partitions(vec![partition]);
    FetchRequest::default().with_max_bytes(max_bytes).with_session_epoch(-1).with_topics(vec![topic])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_beyond_its_quota_gets_nothing_but_the_time_to_wait() {
    let node = Node::start(options()).await;
    let mut admin = node.connect().await;
    admin.create_topic("t", 1, &[]).await;
    admin.produce("t", 0, batch(&[&[7; 2_000]])).await;
    set_quota(&mut admin, "client-id", "consumer_byte_rate", Some(1.0)).await;
    let answer = node.connect().await.call(12, &fetch(1 << 20)).await;
    assert!(answer.throttle_time_ms > 1_900_000, "{}", answer.throttle_time_ms);
    assert!(answer.responses.is_empty());
    set_quota(&mut admin, "client-id", "consumer_byte_rate", Some(1_000_000.0)).await;
    let answer = node.connect().await.call(12, &fetch(1 << 20)).await;
    assert_eq!(answer.throttle_time_ms, 0);
    let records = answer.responses[0].partitions[0].records.as_ref().map_or(0, Bytes::len);
    assert!(records > 2_000, "{records}");
}

#[tokio::test(flavor = "multi_thread")]
async fn time_of_requests_has_a_quota_too() {
    let node = Node::start(options()).await;
    let mut admin = node.connect().await;
    set_quota(&mut admin, "user", "request_percentage", Some(0.000_000_1)).await;
    let answer = node.connect().await.call(12, &MetadataRequest::default().with_topics(None)).await;
    assert_eq!(answer.throttle_time_ms, 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_data_directory_is_described_with_what_each_partition_takes() {
    let dir = tempfile::tempdir().unwrap();
    let log_dir = dir.path().display().to_string();
    let options = Options { log_dir: log_dir.clone(), ..options() };
    let node = Node::start(options.clone()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 2, &[]).await;
    let first = batch(&[&[7; 1_000]]);
    client.produce("t", 1, first.clone()).await;
    let node = node.restart(options).await;
    let mut client = node.connect().await;
    // One batch is in a file now, the other in memory.
    client.produce("t", 1, first.clone()).await;
    let answer = client.call(4, &DescribeLogDirsRequest::default().with_topics(None)).await;
    let found = &answer.results[0];
    assert_eq!((&*found.log_dir, found.error_code), (&*log_dir, 0));
    assert!(found.total_bytes > 0 && found.usable_bytes > 0);
    let sizes: Vec<_> = found.topics[0].partitions.iter().map(|p| (p.partition_index, p.partition_size)).collect();
    assert_eq!(sizes, [(0, 0), (1, 2 * first.len() as i64)]);

    use alter_replica_log_dirs_request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
    let moved = |path: &str, partition| {
        let topic = AlterReplicaLogDirTopic::default().with_name(topic_name("t")).with_partitions(vec![partition]);
        let path = kafka_protocol::protocol::StrBytes::from_string(path.to_owned());
        AlterReplicaLogDir::default().with_path(path).with_topics(vec![topic])
    };
    let dirs = vec![moved(&log_dir, 0), moved("/elsewhere", 0), moved(&log_dir, 9)];
    let answer = client.call(2, &AlterReplicaLogDirsRequest::default().with_dirs(dirs)).await;
    let codes: Vec<_> = answer.results.iter().map(|topic| topic.partitions[0].error_code).collect();
    assert_eq!(codes, [0, LOG_DIR_NOT_FOUND, UNKNOWN_TOPIC_OR_PARTITION]);
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_described_a_page_at_a_time() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    for (name, partitions) in [("a", 2), ("b", 3), ("c", 1)] {
        client.create_topic(name, partitions, &[]).await;
    }
    let mut pages = Vec::new();
    let mut cursor: Option<Cursor> = None;
    loop {
        let request = DescribeTopicPartitionsRequest::default().with_response_partition_limit(2).with_cursor(cursor);
        let answer = client.call(0, &request).await;
        let page: Vec<String> = (answer.topics.iter())
            .flat_map(|topic| topic.partitions.iter().map(move |partition| (topic, partition)))
            .map(|(topic, p)| format!("{}-{}", &*topic.name.as_ref().unwrap().0, p.partition_index))
            .collect();
        pages.push(page.join(" "));
        match answer.next_cursor {
            Some(next) => {
                cursor =
                    Some(Cursor::default().with_topic_name(next.topic_name).with_partition_index(next.partition_index));
            }
            None => break,
        }
    }
    assert_eq!(pages, ["a-0 a-1", "b-0 b-1", "b-2 c-0"]);
    let asked =
        vec![TopicRequest::default().with_name(topic_name("b")), TopicRequest::default().with_name(topic_name("x"))];
    let request = DescribeTopicPartitionsRequest::default().with_topics(asked).with_response_partition_limit(100);
    let answer = client.call(0, &request).await;
    let found: Vec<_> = answer.topics.iter().map(|topic| (topic.error_code, topic.partitions.len())).collect();
    assert_eq!(found, [(0, 3), (UNKNOWN_TOPIC_OR_PARTITION, 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_has_nothing_to_elect_or_to_move() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let partitions = TopicPartitions::default().with_topic(topic_name("t")).with_partitions(vec![0, 1]);
    let named = ElectLeadersRequest::default().with_topic_partitions(Some(vec![partitions]));
    let answer = client.call(2, &named).await;
    let codes: Vec<_> =
        answer.replica_election_results[0].partition_result.iter().map(|result| result.error_code).collect();
    assert_eq!((answer.error_code, codes), (0, vec![ELECTION_NOT_NEEDED, UNKNOWN_TOPIC_OR_PARTITION]));
    let all = client.call(2, &ElectLeadersRequest::default().with_topic_partitions(None)).await;
    assert!(all.error_code == 0 && all.replica_election_results.is_empty());

    let moved = |partition, replicas: Option<Vec<i32>>| {
        let replicas = replicas.map(|replicas| replicas.into_iter().map(BrokerId).collect());
        ReassignablePartition::default().with_partition_index(partition).with_replicas(replicas)
    };
    let asked = [moved(0, Some(vec![0])), moved(0, Some(vec![1])), moved(0, Some(vec![0, 1])), moved(0, None)];
    let asked = [&asked[..], &[moved(0, Some(Vec::new())), moved(5, Some(vec![0]))]].concat();
    let topic = ReassignableTopic::default().with_name(topic_name("t")).with_partitions(asked);
    let answer = client.call(1, &AlterPartitionReassignmentsRequest::default().with_topics(vec![topic])).await;
    let codes: Vec<_> = answer.responses[0].partitions.iter().map(|partition| partition.error_code).collect();
    let bad = INVALID_REPLICA_ASSIGNMENT;
    assert_eq!(codes, [0, bad, bad, NO_REASSIGNMENT_IN_PROGRESS, bad, UNKNOWN_TOPIC_OR_PARTITION]);
    let ongoing = client.call(0, &ListPartitionReassignmentsRequest::default().with_topics(None)).await;
    assert!(ongoing.error_code == 0 && ongoing.topics.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quorum_is_this_node() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let asked = |name| {
        use describe_quorum_request::{PartitionData, TopicData};
        let topic = TopicData::default().with_topic_name(topic_name(name));
        DescribeQuorumRequest::default().with_topics(vec![topic.with_partitions(vec![PartitionData::default()])])
    };
    let answer = client.call(2, &asked("__cluster_metadata")).await;
    let partition = &answer.topics[0].partitions[0];
    assert_eq!((partition.leader_id, partition.current_voters[0].replica_id), (BrokerId(0), BrokerId(0)));
    assert!(partition.high_watermark > 0 && partition.high_watermark == partition.current_voters[0].log_end_offset);
    assert_eq!(answer.nodes[0].listeners[0].port, node.port);
    assert_eq!(client.call(2, &asked("t")).await.error_code, UNKNOWN_TOPIC_OR_PARTITION);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_asked_for_their_metrics_and_may_push_them() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let of = (CLIENT_METRICS, "m");
    assert_eq!(
        alter(&mut client, of, &[("metrics", SET, Some("a.,b.")), ("match", SET, Some("client_id=.*"))]).await,
        0
    );
    let asked = client.call(0, &GetTelemetrySubscriptionsRequest::default()).await;
    let metrics: Vec<_> = asked.requested_metrics.iter().map(|name| &**name).collect();
    assert_eq!((asked.error_code, metrics, asked.push_interval_ms), (0, vec!["a.", "b."], 300_000));
    assert_ne!(asked.client_instance_id, Uuid::nil());
    let push = PushTelemetryRequest::default()
        .with_client_instance_id(asked.client_instance_id)
        .with_subscription_id(asked.subscription_id)
        .with_metrics(Bytes::from_static(b"otlp"));
    assert_eq!(client.call(0, &push).await.error_code, 0);
    assert_eq!(client.call(0, &push).await.error_code, THROTTLING_QUOTA_EXCEEDED);
}
