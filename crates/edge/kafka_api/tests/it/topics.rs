//! Topics, their configs, and the offsets that groups commit for them.

use daybook_kafka_api::Options;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsResourceResult;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::{
    BrokerId, CreatePartitionsRequest, CreateTopicsRequest, DeleteGroupsRequest, DeleteTopicsRequest,
    DescribeClusterRequest, DescribeConfigsRequest, FindCoordinatorRequest, GroupId, IncrementalAlterConfigsRequest,
    MetadataRequest, OffsetCommitRequest, OffsetFetchRequest,
};
use uuid::Uuid;

use crate::harness::{Client, Node, options, text, topic_name};

const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const OFFSET_METADATA_TOO_LARGE: i16 = 12;
const INVALID_TOPIC_EXCEPTION: i16 = 17;
const TOPIC_ALREADY_EXISTS: i16 = 36;
const INVALID_PARTITIONS: i16 = 37;
const INVALID_REPLICATION_FACTOR: i16 = 38;
const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
const INVALID_CONFIG: i16 = 40;
const INVALID_REQUEST: i16 = 42;
const GROUP_ID_NOT_FOUND: i16 = 69;
const UNKNOWN_TOPIC_ID: i16 = 100;

fn topic(name: &'static str) -> CreatableTopic {
    CreatableTopic::default().with_name(topic_name(name)).with_num_partitions(-1).with_replication_factor(-1)
}

async fn create(client: &mut Client, topics: Vec<CreatableTopic>) -> Vec<i16> {
    let answer = client.call(7, &CreateTopicsRequest::default().with_topics(topics)).await;
    answer.topics.iter().map(|topic| topic.error_code).collect()
}

fn assigned(partitions: &[(i32, i32)]) -> Vec<CreatableReplicaAssignment> {
    let assignment = |(partition, broker): &(i32, i32)| {
        CreatableReplicaAssignment::default().with_partition_index(*partition).with_broker_ids(vec![BrokerId(*broker)])
    };
    partitions.iter().map(assignment).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_are_made_as_asked_or_refused_with_the_cause() {
    let node = Node::start(Options { default_partitions: 3, topic_partitions_max: 100, ..options() }).await;
    let mut client = node.connect().await;
    let config = |name, value| vec![CreatableTopicConfig::default().with_name(text(name)).with_value(value)];
    let cases = [
        (topic("plain"), 0),
        (topic("plain"), TOPIC_ALREADY_EXISTS),
        (topic("not legal"), INVALID_TOPIC_EXCEPTION),
        (topic(""), INVALID_TOPIC_EXCEPTION),
        (topic("a.b"), 0),
        (topic("a_b"), INVALID_TOPIC_EXCEPTION),
        (topic("replicated").with_replication_factor(3), INVALID_REPLICATION_FACTOR),
        (topic("replicated").with_replication_factor(0), INVALID_REPLICATION_FACTOR),
        (topic("none").with_num_partitions(0), INVALID_PARTITIONS),
        (topic("many").with_num_partitions(101), INVALID_PARTITIONS),
        (topic("config").with_configs(config("no.such", Some(text("1")))), INVALID_CONFIG),
        (topic("config").with_configs(config("retention.ms", Some(text("soon")))), INVALID_CONFIG),
        (topic("config").with_configs(config("retention.ms", None)), INVALID_CONFIG),
        (topic("config").with_configs(config("retention.ms", Some(text("5")))), 0),
        (topic("by-hand").with_assignments(assigned(&[(1, 0), (0, 0)])), 0),
        (topic("gap").with_assignments(assigned(&[(0, 0), (2, 0)])), INVALID_REPLICA_ASSIGNMENT),
        (topic("elsewhere").with_assignments(assigned(&[(0, 1)])), INVALID_REPLICA_ASSIGNMENT),
        (topic("both").with_num_partitions(1).with_assignments(assigned(&[(0, 0)])), INVALID_REQUEST),
    ];
    for (topic, code) in cases {
        assert_eq!(create(&mut client, vec![topic.clone()]).await, [code], "{topic:?}");
    }
    assert_eq!(client.topic_names().await, ["a.b", "by-hand", "config", "plain"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_makes_several_topics_and_tells_duplicates_once() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let codes = create(&mut client, vec![topic("a"), topic("twice"), topic("b.c"), topic("twice"), topic("b_c")]).await;
    assert_eq!(codes, [0, INVALID_REQUEST, 0, INVALID_TOPIC_EXCEPTION]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_tells_what_the_topic_came_to_be() {
    let node = Node::start(Options { default_partitions: 3, ..options() }).await;
    let mut client = node.connect().await;
    let configs = vec![CreatableTopicConfig::default().with_name(text("retention.ms")).with_value(Some(text("5")))];
    let request = CreateTopicsRequest::default().with_topics(vec![topic("t").with_configs(configs)]);
    let only_checked = client.call(7, &request.clone().with_validate_only(true)).await;
    assert_eq!((only_checked.topics[0].error_code, only_checked.topics[0].topic_id), (0, Uuid::nil()));
    assert!(client.topic_names().await.is_empty());
    let made = client.call(7, &request).await.topics.remove(0);
    assert_eq!((made.num_partitions, made.replication_factor), (3, 1));
    let configs = made.configs.expect("configs");
    let of = |name: &str| {
        configs
            .iter()
            .find(|config| &*config.name == name)
            .map(|config| (config.value.as_deref(), config.config_source))
    };
    assert_eq!(of("retention.ms"), Some((Some("5"), 1)));
    assert_eq!(of("cleanup.policy"), Some((Some("delete"), 5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_go_by_name_or_by_id() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("a", 1, &[]).await;
    let id = client.create_topic("b", 1, &[]).await;
    client.create_topic("c", 1, &[]).await;
    let by_name = |name| DeleteTopicState::default().with_name(Some(topic_name(name)));
    let by_id = |id| DeleteTopicState::default().with_name(None).with_topic_id(id);
    let topics = vec![
        by_name("a"),
        by_id(id),
        by_name("unknown"),
        by_id(Uuid::from_u128(3)),
        by_name("c").with_topic_id(id),
        DeleteTopicState::default().with_name(None),
        by_name("a"),
    ];
    let answer = client.call(6, &DeleteTopicsRequest::default().with_topics(topics)).await;
    let codes: Vec<_> = answer.responses.iter().map(|topic| topic.error_code).collect();
    let unknown = [UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID];
    assert_eq!(codes, [0, 0, unknown[0], unknown[1], INVALID_REQUEST, INVALID_REQUEST, INVALID_REQUEST]);
    assert_eq!(answer.responses[1].name, Some(topic_name("b")));
    let old = client.call(3, &DeleteTopicsRequest::default().with_topic_names(vec![topic_name("c")])).await;
    assert_eq!(old.responses[0].error_code, 0);
    assert!(client.topic_names().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_made_again_under_its_name_is_another() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let first = client.create_topic("t", 1, &[]).await;
    client.produce("t", 0, crate::harness::batch(&[b"old"])).await;
    client.call(3, &DeleteTopicsRequest::default().with_topic_names(vec![topic_name("t")])).await;
    let second = client.create_topic("t", 1, &[]).await;
    assert_ne!(first, second);
    assert_eq!(client.produce("t", 0, crate::harness::batch(&[b"new"])).await.base_offset, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_only_grow() {
    let node = Node::start(Options { topic_partitions_max: 10, ..options() }).await;
    let mut client = node.connect().await;
    client.create_topic("t", 2, &[]).await;
    let to =
        |count| CreatePartitionsTopic::default().with_name(topic_name("t")).with_count(count).with_assignments(None);
    for (count, code) in [(2, INVALID_PARTITIONS), (1, INVALID_PARTITIONS), (11, INVALID_PARTITIONS), (5, 0)] {
        let answer = client.call(3, &CreatePartitionsRequest::default().with_topics(vec![to(count)])).await;
        assert_eq!(answer.results[0].error_code, code, "{count}");
    }
    let metadata = client.call(12, &MetadataRequest::default().with_topics(None)).await;
    assert_eq!(metadata.topics[0].partitions.len(), 5);
    let produced = client.produce("t", 4, crate::harness::batch(&[b"a"])).await;
    assert_eq!(produced.error_code, 0);
}

async fn described(
    client: &mut Client,
    name: &'static str,
    keys: Option<Vec<&'static str>>,
) -> Vec<DescribeConfigsResourceResult> {
    let keys = keys.map(|keys| keys.into_iter().map(text).collect());
    let resource = DescribeConfigsResource::default().with_resource_type(2).with_resource_name(text(name));
    let request = DescribeConfigsRequest::default()
        .with_resources(vec![resource.with_configuration_keys(keys)])
        .with_include_synonyms(true)
        .with_include_documentation(true);
    let mut answer = client.call(4, &request).await;
    assert_eq!(answer.results[0].error_code, 0);
    answer.results.remove(0).configs
}

#[tokio::test(flavor = "multi_thread")]
async fn configs_are_described_with_default_and_source() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[("retention.ms", "5")]).await;
    let all = described(&mut client, "t", None).await;
    assert_eq!(all.len(), daybook_catalog::topic_config::definitions().len());
    assert!(
        all.iter()
            .all(|config| config.documentation.is_some() && config.config_type != 0 && !config.synonyms.is_empty())
    );
    let some = described(&mut client, "t", Some(vec!["retention.ms"])).await;
    assert_eq!((some.len(), some[0].value.as_deref(), some[0].config_source), (1, Some("5"), 1));
    let synonyms: Vec<_> =
        some[0].synonyms.iter().map(|synonym| (&*synonym.name, synonym.value.as_deref(), synonym.source)).collect();
    assert_eq!(synonyms, [("retention.ms", Some("5"), 1), ("log.retention.ms", Some("604800000"), 5)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn configs_change_one_by_one() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[("retention.ms", "5")]).await;
    let change = |name, operation, value| {
        AlterableConfig::default().with_name(text(name)).with_config_operation(operation).with_value(value)
    };
    let cases = [
        (vec![change("segment.bytes", 0, Some(text("2000000"))), change("retention.ms", 1, None)], 0),
        (vec![change("cleanup.policy", 2, Some(text("compact")))], 0),
        (vec![change("segment.bytes", 2, Some(text("1")))], INVALID_CONFIG),
        (vec![change("segment.bytes", 0, Some(text("many")))], INVALID_CONFIG),
        (vec![change("no.such", 0, Some(text("1")))], INVALID_CONFIG),
        (vec![change("no.such", 1, None)], 0),
        (vec![change("segment.bytes", 0, Some(text("2000000"))), change("segment.bytes", 1, None)], INVALID_REQUEST),
        (
            vec![
                change("min.compaction.lag.ms", 0, Some(text("9"))),
                change("max.compaction.lag.ms", 0, Some(text("5"))),
            ],
            INVALID_CONFIG,
        ),
        (vec![change("segment.bytes", 0, None)], INVALID_REQUEST),
        (vec![change("segment.bytes", 7, Some(text("1")))], INVALID_REQUEST),
    ];
    for (configs, code) in cases {
        let resource = AlterConfigsResource::default().with_resource_type(2).with_resource_name(text("t"));
        let resource = resource.with_configs(configs.clone());
        let answer = client.call(1, &IncrementalAlterConfigsRequest::default().with_resources(vec![resource])).await;
        assert_eq!(answer.responses[0].error_code, code, "{configs:?}");
    }
    let keys = vec!["segment.bytes", "retention.ms", "cleanup.policy"];
    let found = described(&mut client, "t", Some(keys)).await;
    let of = |name: &str| {
        found.iter().find(|config| &*config.name == name).map(|config| (config.value.as_deref(), config.config_source))
    };
    assert_eq!(of("segment.bytes"), Some((Some("2000000"), 1)));
    assert_eq!(of("retention.ms"), Some((Some("604800000"), 5)));
    assert_eq!(of("cleanup.policy"), Some((Some("delete,compact"), 1)));
}

async fn metadata_of(client: &mut Client, name: &'static str, may_create: bool) -> (i16, usize) {
    let topic = MetadataRequestTopic::default().with_name(Some(topic_name(name)));
    let request = MetadataRequest::default().with_topics(Some(vec![topic])).with_allow_auto_topic_creation(may_create);
    let answer = client.call(12, &request).await;
    (answer.topics[0].error_code, answer.topics[0].partitions.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_is_made_by_asking_if_client_and_server_agree() {
    let node = Node::start(Options { auto_create_topics: true, default_partitions: 2, ..options() }).await;
    let mut client = node.connect().await;
    assert_eq!(metadata_of(&mut client, "t", false).await, (UNKNOWN_TOPIC_OR_PARTITION, 0));
    assert_eq!(metadata_of(&mut client, "t", true).await, (0, 2));
    assert_eq!(metadata_of(&mut client, "not legal", true).await, (INVALID_TOPIC_EXCEPTION, 0));
    let unwilling = Node::start(options()).await;
    let mut client = unwilling.connect().await;
    assert_eq!(metadata_of(&mut client, "t", true).await, (UNKNOWN_TOPIC_OR_PARTITION, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_is_asked_by_id_too() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let id = client.create_topic("t", 1, &[]).await;
    let by_id = |id| MetadataRequestTopic::default().with_name(None).with_topic_id(id);
    let request = MetadataRequest::default().with_topics(Some(vec![by_id(id), by_id(Uuid::from_u128(4))]));
    let answer = client.call(13, &request).await;
    let mut topics: Vec<_> =
        answer.topics.into_iter().map(|topic| (topic.error_code, topic.name, topic.topic_id)).collect();
    topics.sort_by_key(|topic| topic.0);
    assert_eq!(topics[0], (0, Some(topic_name("t")), id));
    assert_eq!(topics[1], (UNKNOWN_TOPIC_ID, None, Uuid::from_u128(4)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_is_this_node() {
    let options = Options {
        advertised_host: "log.example".into(),
        advertised_port: Some(9),
        cluster_id: "c".into(),
        node_id: 6,
        ..options()
    };
    let node = Node::start(options).await;
    let mut client = node.connect().await;
    let cluster = client.call(1, &DescribeClusterRequest::default()).await;
    assert_eq!((&*cluster.cluster_id, cluster.controller_id), ("c", BrokerId(6)));
    let broker = &cluster.brokers[0];
    assert_eq!((broker.broker_id, &*broker.host, broker.port), (BrokerId(6), "log.example", 9));
    assert_eq!(client.call(1, &DescribeClusterRequest::default().with_endpoint_type(2)).await.error_code, 114);
    let keys = vec![text("g1"), text("g2")];
    let found = client.call(4, &FindCoordinatorRequest::default().with_coordinator_keys(keys.clone())).await;
    let places: Vec<_> =
        found.coordinators.iter().map(|found| (&*found.key, found.node_id, found.port, found.error_code)).collect();
    assert_eq!(places, [("g1", BrokerId(6), 9, 0), ("g2", BrokerId(6), 9, 0)]);
    let other = client.call(6, &FindCoordinatorRequest::default().with_coordinator_keys(keys).with_key_type(3)).await;
    assert_eq!(other.coordinators[0].error_code, INVALID_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_kept_with_their_metadata_until_the_group_goes() {
    let node = Node::start(Options { offset_metadata_bytes_max: 10, ..options() }).await;
    let mut client = node.connect().await;
    client.create_topic("t", 3, &[]).await;
    let commit = |partition, offset, metadata| {
        OffsetCommitRequestPartition::default()
            .with_partition_index(partition)
            .with_committed_offset(offset)
            .with_committed_leader_epoch(7)
            .with_committed_metadata(metadata)
    };
    let partitions = vec![
        commit(0, 5, Some(text("so far"))),
        commit(1, 6, None),
        commit(2, 7, Some(text("longer than that"))),
        commit(9, 7, None),
    ];
    let topic = OffsetCommitRequestTopic::default().with_name(topic_name("t")).with_partitions(partitions);
    let request = OffsetCommitRequest::default()
        .with_group_id(GroupId(text("g")))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![topic]);
    let answer = client.call(8, &request).await;
    let codes: Vec<_> = answer.topics[0].partitions.iter().map(|partition| partition.error_code).collect();
    assert_eq!(codes, [0, 0, OFFSET_METADATA_TOO_LARGE, UNKNOWN_TOPIC_OR_PARTITION]);

    let asked = OffsetFetchRequestTopics::default().with_name(topic_name("t")).with_partition_indexes(vec![0, 1, 2]);
    let group =
        |name, topics| OffsetFetchRequestGroup::default().with_group_id(GroupId(text(name))).with_topics(topics);
    let groups = vec![group("g", Some(vec![asked.clone()])), group("g", None), group("other", None)];
    let request = OffsetFetchRequest::default().with_groups(groups);
    let found = client.call(8, &request).await;
    let offsets = |at: usize| -> Vec<(i32, i64, i32, String)> {
        let partitions = found.groups[at].topics.iter().flat_map(|topic| &topic.partitions);
        partitions
            .map(|p| {
                (
                    p.partition_index,
                    p.committed_offset,
                    p.committed_leader_epoch,
                    p.metadata.as_deref().unwrap_or("none").to_owned(),
                )
            })
            .collect()
    };
    let known = [(0, 5, 7, "so far".to_owned()), (1, 6, 7, String::new())];
    assert_eq!(offsets(0), [known[0].clone(), known[1].clone(), (2, -1, -1, String::new())]);
    assert_eq!(offsets(1), known);
    assert_eq!((offsets(2).len(), found.groups[2].error_code), (0, 0));

    let delete = DeleteGroupsRequest::default().with_groups_names(vec![GroupId(text("g")), GroupId(text("other"))]);
    let answer = client.call(2, &delete).await;
    let codes: Vec<_> = answer.results.iter().map(|group| group.error_code).collect();
    assert_eq!(codes, [0, GROUP_ID_NOT_FOUND]);
    let found = client.call(8, &OffsetFetchRequest::default().with_groups(vec![group("g", None)])).await;
    assert!(found.groups[0].topics.is_empty());
}
