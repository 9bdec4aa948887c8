//! Share groups by raw messages: heartbeats, sessions, acquisition, acknowledgement, locks, and what a restart leaves.

use daybook_kafka_api::Options;
use kafka_protocol::messages::alter_share_group_offsets_request::{
    AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use kafka_protocol::messages::delete_share_group_offsets_request::DeleteShareGroupOffsetsRequestTopic;
use kafka_protocol::messages::describe_share_group_offsets_request::DescribeShareGroupOffsetsRequestGroup;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::share_acknowledge_request::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch as Acknowledged,
};
use kafka_protocol::messages::share_fetch_request::{AcknowledgementBatch, FetchPartition, FetchTopic};
use kafka_protocol::messages::share_fetch_response::PartitionData;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use crate::harness::{Client, Node, batch, options, text, topic_name, values};

const GROUP_ID_NOT_FOUND: i16 = 69;
const NON_EMPTY_GROUP: i16 = 68;
const UNKNOWN_MEMBER_ID: i16 = 25;
const INVALID_CONFIG: i16 = 40;
const INVALID_REQUEST: i16 = 42;
const FENCED_MEMBER_EPOCH: i16 = 110;
const INVALID_RECORD_STATE: i16 = 121;
const SHARE_SESSION_NOT_FOUND: i16 = 122;
const INVALID_SHARE_SESSION_EPOCH: i16 = 123;

const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;

const TOPIC: &str = "shared";

/// Acquired runs: first, last, delivery count.
type Runs = Vec<(i64, i64, i16)>;

fn group(name: &'static str) -> GroupId {
    GroupId(text(name))
}

/// What a member says: first and last offset, and the type of all of them.
type Said = (i64, i64, i8);

struct Member {
    client: Client,
    group: &'static str,
    id: &'static str,
    topic: Uuid,
    epoch: i32,
}

impl Member {
    async fn new(node: &Node, group: &'static str, id: &'static str, topic: Uuid) -> Self {
        Self { client: node.connect().await, group, id, topic, epoch: 0 }
    }

    fn request(&mut self, said: &[Said], wait_ms: i32) -> ShareFetchRequest {
        let batches = said.iter().map(|(first, last, kind)| {
            AcknowledgementBatch::default()
                .with_first_offset(*first)
                .with_last_offset(*last)
                .with_acknowledge_types(vec![*kind])
        });
        let partition = FetchPartition::default().with_acknowledgement_batches(batches.collect());
        let topic = FetchTopic::default().with_topic_id(self.topic).with_partitions(vec![partition]);
        let epoch = self.epoch;
        self.epoch += 1;
        ShareFetchRequest::default()
            .with_group_id(Some(group(self.group)))
            .with_member_id(Some(text(self.id)))
            .with_share_session_epoch(epoch)
            .with_max_wait_ms(wait_ms)
            .with_min_bytes(1)
            .with_max_bytes(1 << 20)
            .with_max_records(100)
            .with_batch_size(100)
            .with_topics(vec![topic])
    }

    async fn fetch_with(&mut self, said: &[Said], wait_ms: i32) -> Option<PartitionData> {
        let request = self.request(said, wait_ms);
        let answer = self.client.call(1, &request).await;
        assert_eq!(answer.error_code, 0, "{:?}", answer.error_message);
        answer.responses.into_iter().next().map(|mut topic| topic.partitions.remove(0))
    }

    /// Fetches without waiting: what was acquired, and the offsets of the records that came.
    async fn fetch(&mut self, said: &[Said]) -> (Runs, Vec<i64>) {
        match self.fetch_with(said, 0).await {
            Some(partition) => {
                assert_eq!((partition.error_code, partition.acknowledge_error_code), (0, 0));
                acquired(partition)
            }
            None => (Vec::new(), Vec::new()),
        }
    }

    async fn acknowledge(&mut self, said: &[Said]) -> i16 {
        let batches = said.iter().map(|(first, last, kind)| {
            Acknowledged::default()
                .with_first_offset(*first)
                .with_last_offset(*last)
                .with_acknowledge_types(vec![*kind])
        });
        let partition = AcknowledgePartition::default().with_acknowledgement_batches(batches.collect());
        let topic = AcknowledgeTopic::default().with_topic_id(self.topic).with_partitions(vec![partition]);
        let request = ShareAcknowledgeRequest::default()
            .with_group_id(Some(group(self.group)))
            .with_member_id(Some(text(self.id)))
            .with_share_session_epoch(self.epoch)
            .with_topics(vec![topic]);
        self.epoch += 1;
        let answer = self.client.call(1, &request).await;
        assert_eq!(answer.error_code, 0, "{:?}", answer.error_message);
        answer.responses[0].partitions[0].error_code
    }
}

fn acquired(partition: PartitionData) -> (Runs, Vec<i64>) {
    let runs = partition.acquired_records.iter().map(|run| (run.first_offset, run.last_offset, run.delivery_count));
    let runs = runs.collect();
    (runs, values(partition.records).into_iter().map(|(offset, _)| offset).collect())
}

async fn set(client: &mut Client, group: &'static str, name: &'static str, value: &'static str) -> i16 {
    let config = AlterableConfig::default().with_name(text(name)).with_value(Some(text(value)));
    let resource = AlterConfigsResource::default()
        .with_resource_type(32)
        .with_resource_name(text(group))
        .with_configs(vec![config]);
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    client.call(1, &request).await.responses[0].error_code
}

/// A topic with three batches of two records, and a group that reads it from the beginning.
async fn six_records(node: &Node, group: &'static str) -> (Client, Uuid) {
    let mut client = node.connect().await;
    let id = client.create_topic(TOPIC, 1, &[]).await;
    for _ in 0..3 {
        assert_eq!(client.produce(TOPIC, 0, batch(&[b"one", b"two"])).await.error_code, 0);
    }
    assert_eq!(set(&mut client, group, "share.auto.offset.reset", "earliest").await, 0);
    (client, id)
}

/// Start offset, lag unknown in this version; -1 where nothing is kept.
async fn start_offset(client: &mut Client, name: &'static str) -> Result<i64, i16> {
    let asked = DescribeShareGroupOffsetsRequestGroup::default().with_group_id(group(name)).with_topics(None);
    let answer = client.call(0, &DescribeShareGroupOffsetsRequest::default().with_groups(vec![asked])).await;
    let group = &answer.groups[0];
    match group.error_code {
        0 => Ok(group.topics.first().map_or(-1, |topic| topic.partitions[0].start_offset)),
        code => Err(code),
    }
}

#[tokio::test]
async fn each_record_is_with_one_member_until_it_is_settled() {
    let node = Node::start(options()).await;
    let (mut admin, topic) = six_records(&node, "g").await;
    let mut first = Member::new(&node, "g", "m1", topic).await;
    let mut second = Member::new(&node, "g", "m2", topic).await;
    assert_eq!(first.fetch(&[]).await, (vec![(0, 5, 1)], vec![0, 1, 2, 3, 4, 5]));
    assert_eq!(second.fetch(&[]).await, (vec![], vec![]));
    // What the first one gives back goes to the second; what comes beside it in a batch is not the second one's.
    assert_eq!(first.fetch(&[(0, 2, ACCEPT), (3, 3, RELEASE), (4, 4, REJECT)]).await, (vec![(3, 3, 2)], vec![2, 3]));
    assert_eq!(first.acknowledge(&[(3, 3, RELEASE)]).await, 0);
    assert_eq!(second.fetch(&[]).await, (vec![(3, 3, 3)], vec![2, 3]));
    assert_eq!(start_offset(&mut admin, "g").await, Ok(3));
    // Who doesn't hold a record says nothing of it.
    assert_eq!(first.acknowledge(&[(3, 3, ACCEPT)]).await, INVALID_RECORD_STATE);
    assert_eq!(first.acknowledge(&[(9, 9, ACCEPT)]).await, INVALID_REQUEST);
    assert_eq!(first.acknowledge(&[(5, 5, 9)]).await, INVALID_REQUEST);
    assert_eq!(second.acknowledge(&[(3, 3, ACCEPT)]).await, 0);
    assert_eq!(first.acknowledge(&[(5, 5, ACCEPT)]).await, 0);
    assert_eq!(start_offset(&mut admin, "g").await, Ok(6));
    // Another group has them all.
    assert_eq!(set(&mut admin, "other", "share.auto.offset.reset", "earliest").await, 0);
    let mut stranger = Member::new(&node, "other", "m1", topic).await;
    assert_eq!(stranger.fetch(&[]).await.0, [(0, 5, 1)]);
    node.stop().await;
}

#[tokio::test]
async fn a_record_is_delivered_as_often_as_the_limit_says() {
    let node = Node::start(options()).await;
    let (mut admin, topic) = six_records(&node, "g").await;
    assert_eq!(set(&mut admin, "g", "share.delivery.count.limit", "2").await, 0);
    let mut member = Member::new(&node, "g", "m", topic).await;
    assert_eq!(member.fetch(&[]).await.0, [(0, 5, 1)]);
    assert_eq!(member.fetch(&[(0, 5, RELEASE)]).await.0, [(0, 5, 2)]);
    assert_eq!(member.fetch(&[(0, 5, RELEASE)]).await.0, []);
    assert_eq!(start_offset(&mut admin, "g").await, Ok(6));
    node.stop().await;
}

#[tokio::test]
async fn a_fetch_waits_for_records_and_for_what_others_give_back() {
    let node = Node::start(options()).await;
    let (mut admin, topic) = six_records(&node, "g").await;
    let mut holder = Member::new(&node, "g", "holder", topic).await;
    let mut waiter = Member::new(&node, "g", "waiter", topic).await;
    assert_eq!(holder.fetch(&[]).await.0, [(0, 5, 1)]);
    let request = waiter.request(&[], 60_000);
    let number = waiter.client.send(1, &request).await;
    // The holder's connection goes, and with it its session.
    drop(holder);
    let answer = waiter.client.receive::<ShareFetchRequest>(1, number).await;
    let partition = answer.responses.into_iter().next().unwrap().partitions.remove(0);
    assert_eq!(acquired(partition).0, [(0, 5, 2)]);
    let request = waiter.request(&[], 60_000);
    let number = waiter.client.send(1, &request).await;
    admin.produce(TOPIC, 0, batch(&[b"three"])).await;
    let answer = waiter.client.receive::<ShareFetchRequest>(1, number).await;
    let partition = answer.responses.into_iter().next().unwrap().partitions.remove(0);
    assert_eq!(acquired(partition), (vec![(6, 6, 1)], vec![6]));
    node.stop().await;
}

#[tokio::test]
async fn what_is_held_too_long_goes_to_another() {
    let mut options: Options = options();
    (options.share.lock_ms, options.share.lock_ms_min) = (300, 1);
    let node = Node::start(options).await;
    let (_, topic) = six_records(&node, "g").await;
    let mut slow = Member::new(&node, "g", "slow", topic).await;
    let mut quick = Member::new(&node, "g", "quick", topic).await;
    assert_eq!(slow.fetch(&[]).await.0, [(0, 5, 1)]);
    let partition = quick.fetch_with(&[], 60_000).await.unwrap();
    assert_eq!(acquired(partition).0, [(0, 5, 2)]);
    assert_eq!(slow.acknowledge(&[(0, 5, ACCEPT)]).await, INVALID_RECORD_STATE);
    node.stop().await;
}

#[tokio::test]
async fn a_restart_keeps_what_was_acknowledged_and_forgets_who_held_what() {
    let node = Node::start(options()).await;
    let (_, topic) = six_records(&node, "g").await;
    let mut member = Member::new(&node, "g", "m", topic).await;
    assert_eq!(member.fetch(&[]).await.0, [(0, 5, 1)]);
    assert_eq!(member.acknowledge(&[(0, 0, ACCEPT), (2, 2, RELEASE), (3, 3, REJECT)]).await, 0);
    // Stopped while the rest is in hand; the end of its connection doesn't come before that of the server.
    let node = node.restart(options()).await;
    let mut admin = node.connect().await;
    assert_eq!(start_offset(&mut admin, "g").await, Ok(1));
    member.client = node.connect().await;
    let late = member.request(&[], 0);
    assert_eq!(member.client.call(1, &late).await.error_code, SHARE_SESSION_NOT_FOUND);
    let mut again = Member::new(&node, "g", "m", topic).await;
    // 3 is settled; 2 is delivered for the second time; the others as if they had never been.
    assert_eq!(again.fetch(&[]).await, (vec![(1, 1, 1), (2, 2, 2), (4, 5, 1)], vec![0, 1, 2, 3, 4, 5]));
    assert_eq!(again.acknowledge(&[(1, 2, ACCEPT), (4, 5, ACCEPT)]).await, 0);
    assert_eq!(start_offset(&mut admin, "g").await, Ok(6));
    node.stop().await;
}

#[tokio::test]
async fn a_session_goes_by_its_epochs() {
    let node = Node::start(options()).await;
    let (_, topic) = six_records(&node, "g").await;
    let mut member = Member::new(&node, "g", "m", topic).await;
    member.epoch = 5;
    let early = member.request(&[], 0);
    assert_eq!(member.client.call(1, &early).await.error_code, SHARE_SESSION_NOT_FOUND);
    member.epoch = 0;
    let with_acknowledgements = member.request(&[(0, 0, ACCEPT)], 0);
    assert_eq!(member.client.call(1, &with_acknowledgements).await.error_code, INVALID_REQUEST);
    member.epoch = 0;
    assert_eq!(member.fetch(&[]).await.0, [(0, 5, 1)]);
    member.epoch = 7;
    let wrong = member.request(&[], 0);
    assert_eq!(member.client.call(1, &wrong).await.error_code, INVALID_SHARE_SESSION_EPOCH);
    // Closing it gives back what was in hand.
    member.epoch = -1;
    assert_eq!(member.acknowledge(&[(0, 0, ACCEPT)]).await, 0);
    member.epoch = 0;
    assert_eq!(member.fetch(&[]).await.0, [(1, 5, 2)]);
    let unknown = Member { topic: Uuid::from_u128(9), epoch: 1, ..member }.fetch_with(&[], 0).await.unwrap();
    assert_eq!(unknown.error_code, 100);
    node.stop().await;
}

async fn beat(client: &mut Client, member: &'static str, epoch: i32, topics: bool) -> ShareGroupHeartbeatResponse {
    let request = ShareGroupHeartbeatRequest::default()
        .with_group_id(group("g"))
        .with_member_id(text(member))
        .with_member_epoch(epoch)
        .with_subscribed_topic_names(topics.then(|| vec![topic_name(TOPIC)]));
    client.call(1, &request).await
}

fn partitions(answer: &ShareGroupHeartbeatResponse) -> Option<usize> {
    answer.assignment.as_ref().map(|all| all.topic_partitions.iter().map(|topic| topic.partitions.len()).sum())
}

#[tokio::test]
async fn members_join_share_and_leave() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic(TOPIC, 4, &[]).await;
    assert_eq!(beat(&mut client, "", 0, true).await.error_code, INVALID_REQUEST);
    assert_eq!(beat(&mut client, "a", 0, false).await.error_code, INVALID_REQUEST);
    assert_eq!(beat(&mut client, "a", 3, false).await.error_code, UNKNOWN_MEMBER_ID);
    let joined = beat(&mut client, "a", 0, true).await;
    assert_eq!((joined.error_code, joined.member_epoch, partitions(&joined)), (0, 1, Some(4)));
    assert_eq!(joined.heartbeat_interval_ms, 5_000);
    assert_eq!(partitions(&beat(&mut client, "b", 0, true).await), Some(2));
    let told = beat(&mut client, "a", 1, false).await;
    assert_eq!((told.member_epoch, partitions(&told)), (2, Some(2)));
    assert_eq!(beat(&mut client, "a", 9, false).await.error_code, FENCED_MEMBER_EPOCH);

    let request = ShareGroupDescribeRequest::default().with_group_ids(vec![group("g"), group("none")]);
    let described = client.call(1, &request).await.groups;
    assert_eq!((&*described[0].group_state, &*described[0].assignor_name), ("Stable", "simple"));
    assert_eq!(described[0].members.len(), 2);
    assert_eq!(&*described[0].members[0].assignment.topic_partitions[0].topic_name.0, TOPIC);
    assert_eq!(described[1].error_code, GROUP_ID_NOT_FOUND);

    let of_type = |name: &'static str| ListGroupsRequest::default().with_types_filter(vec![text(name)]);
    let listed = client.call(5, &of_type("share")).await.groups;
    assert_eq!(
        listed.iter().map(|group| (&*group.group_id.0, &*group.group_type)).collect::<Vec<_>>(),
        [("g", "share")]
    );
    assert_eq!(client.call(5, &of_type("classic")).await.groups.len(), 0);

    for member in ["a", "b"] {
        assert_eq!(beat(&mut client, member, -1, false).await.error_code, 0);
    }
    let gone = client.call(1, &ShareGroupDescribeRequest::default().with_group_ids(vec![group("g")])).await;
    assert_eq!(gone.groups[0].error_code, GROUP_ID_NOT_FOUND);
    node.stop().await;
}

#[tokio::test]
async fn administrators_set_and_forget_start_offsets() {
    let node = Node::start(options()).await;
    let (mut client, topic) = six_records(&node, "g").await;
    assert_eq!(start_offset(&mut client, "g").await, Err(GROUP_ID_NOT_FOUND));
    let mut member = Member::new(&node, "g", "m", topic).await;
    assert_eq!(member.fetch(&[]).await.0, [(0, 5, 1)]);
    assert_eq!(member.acknowledge(&[(0, 5, ACCEPT)]).await, 0);

    let alter = |start| {
        let partition = AlterShareGroupOffsetsRequestPartition::default().with_start_offset(start);
        let topic = AlterShareGroupOffsetsRequestTopic::default()
            .with_topic_name(topic_name(TOPIC))
            .with_partitions(vec![partition]);
        AlterShareGroupOffsetsRequest::default().with_group_id(group("g")).with_topics(vec![topic])
    };
    assert_eq!(beat(&mut client, "m", 0, true).await.error_code, 0);
    assert_eq!(client.call(0, &alter(2)).await.error_code, NON_EMPTY_GROUP);
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![group("g")]);
    assert_eq!(client.call(2, &delete).await.results[0].error_code, NON_EMPTY_GROUP);
    assert_eq!(beat(&mut client, "m", -1, false).await.error_code, 0);

    let altered = client.call(0, &alter(2)).await;
    assert_eq!((altered.error_code, altered.responses[0].partitions[0].error_code), (0, 0));
    assert_eq!(start_offset(&mut client, "g").await, Ok(2));
    let mut member = Member::new(&node, "g", "m", topic).await;
    assert_eq!(member.fetch(&[]).await.0, [(2, 5, 1)]);
    assert_eq!(member.acknowledge(&[(2, 5, ACCEPT)]).await, 0);

    let topic_to_delete = DeleteShareGroupOffsetsRequestTopic::default().with_topic_name(topic_name(TOPIC));
    let request =
        DeleteShareGroupOffsetsRequest::default().with_group_id(group("g")).with_topics(vec![topic_to_delete]);
    assert_eq!(client.call(0, &request).await.responses[0].error_code, 0);
    let mut member = Member::new(&node, "g", "m", topic).await;
    assert_eq!(member.fetch(&[]).await.0, [(0, 5, 1)]);
    drop(member);
    assert_eq!(client.call(2, &delete).await.results[0].error_code, 0);
    assert_eq!(start_offset(&mut client, "g").await, Err(GROUP_ID_NOT_FOUND));
    node.stop().await;
}

#[tokio::test]
async fn configs_of_groups_are_checked_kept_and_described() {
    use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    assert_eq!(set(&mut client, "g", "share.record.lock.duration.ms", "14999").await, INVALID_CONFIG);
    assert_eq!(set(&mut client, "g", "share.no.such.thing", "1").await, INVALID_CONFIG);
    assert_eq!(set(&mut client, "g", "share.record.lock.duration.ms", "20000").await, 0);
    let node = node.restart(options()).await;
    let mut client = node.connect().await;
    let resource = DescribeConfigsResource::default()
        .with_resource_type(32)
        .with_resource_name(StrBytes::from_static_str("g"))
        .with_configuration_keys(None);
    let answer = client.call(4, &DescribeConfigsRequest::default().with_resources(vec![resource])).await;
    let configs = &answer.results[0].configs;
    let value = |name: &str| {
        let config = configs.iter().find(|config| *config.name == *name).expect("it is described");
        (config.value.as_ref().map(|value| value.to_string()).unwrap_or_default(), config.config_source)
    };
    assert_eq!(value("share.record.lock.duration.ms"), ("20000".into(), 8));
    assert_eq!(value("share.delivery.count.limit"), ("5".into(), 5));
    node.stop().await;
}
