//! Offsets that groups commit.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use daybook_test_server::eventually;
use rdkafka::client::ClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext};
use rdkafka::statistics::Statistics;
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};

use crate::broker::{PATIENCE, admin, admin_options, block_on, client, new_topic, shared, unique};
use crate::reading::{consumer, numbers, take};
use crate::writing::{Content, producer, write};

fn member(group: &str, settings: &[(&str, &str)]) -> BaseConsumer {
    let settings = [&[("group.id", group), ("session.timeout.ms", "10000")], settings].concat();
    consumer(shared(), &settings)
}

fn list(topic: &str, offsets: &[(i32, i64, &str)]) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for (partition, offset, metadata) in offsets {
        let mut element = list.add_partition(topic, *partition);
        element.set_offset(Offset::Offset(*offset)).unwrap();
        element.set_metadata(*metadata);
    }
    list
}

/// Offset and metadata of each partition of 0..`partitions`, as a consumer started anew is told.
fn committed(group: &str, topic: &str, partitions: i32) -> Vec<(Offset, String)> {
    let mut asked = TopicPartitionList::new();
    asked.add_partition_range(topic, 0, partitions - 1);
    let answer = member(group, &[]).committed_offsets(asked, PATIENCE).unwrap();
    let of = |partition| {
        let found = answer.find_partition(topic, partition).unwrap();
        found.error().unwrap();
        (found.offset(), found.metadata().to_owned())
    };
    (0..partitions).map(of).collect()
}

#[test]
fn offsets_and_metadata_are_read_back() {
    let topic = new_topic(shared(), "commit", 4, &[]);
    let group = unique("commit");
    let none = (Offset::Invalid, String::new());
    assert_eq!(committed(&group, &topic, 4), vec![none.clone(); 4]);

    let consumer = member(&group, &[]);
    let long = "m".repeat(4_000);
    consumer
        .commit(&list(&topic, &[(0, 10, "first"), (1, 0, ""), (3, 5_000_000_000, &long)]), CommitMode::Sync)
        .unwrap();
    let third = (Offset::Offset(5_000_000_000), long);
    let first = (Offset::Offset(10), "first".to_owned());
    let zero = (Offset::Offset(0), String::new());
    assert_eq!(committed(&group, &topic, 4), [first, zero.clone(), none.clone(), third.clone()]);

    // Replaced, backwards too; the others stay.
    consumer.commit(&list(&topic, &[(0, 3, "größer")]), CommitMode::Sync).unwrap();
    let replaced = (Offset::Offset(3), "größer".to_owned());
    assert_eq!(committed(&group, &topic, 4), [replaced, zero, none.clone(), third]);
    assert_eq!(committed(&unique("other-group"), &topic, 4), vec![none; 4]);
}

#[test]
fn metadata_that_is_too_long() {
    let topic = new_topic(shared(), "commit-metadata", 1, &[]);
    let group = unique("commit-metadata");
    let too_long = "m".repeat(4_097);
    let refused = member(&group, &[]).commit(&list(&topic, &[(0, 1, &too_long)]), CommitMode::Sync).unwrap_err();
    assert_eq!(refused.rdkafka_error_code(), Some(RDKafkaErrorCode::OffsetMetadataTooLarge), "{refused}");
    assert_eq!(committed(&group, &topic, 1), [(Offset::Invalid, String::new())]);
}

#[test]
fn a_successor_goes_on_where_the_group_stopped() {
    let topic = new_topic(shared(), "successor", 1, &[]);
    let group = unique("successor");
    write(&producer(shared(), &[]), &topic, 0, &(0..100).map(Content::number).collect::<Vec<_>>());
    for round in 0..4 {
        let consumer = member(&group, &[("auto.offset.reset", "earliest")]);
        consumer.subscribe(&[&topic]).unwrap();
        let seen = take(&consumer, 25);
        assert_eq!(numbers(&seen), (round * 25..round * 25 + 25).collect::<Vec<_>>());
        let next = seen.last().unwrap().offset + 1;
        consumer.commit(&list(&topic, &[(0, next, "")]), CommitMode::Sync).unwrap();
    }
}

#[test]
fn who_is_no_member_may_not_commit_beside_members() {
    let topic = new_topic(shared(), "intruder", 1, &[]);
    let group = unique("intruder");
    write(&producer(shared(), &[]), &topic, 0, &[Content::number(0)]);
    let inside = member(&group, &[("auto.offset.reset", "earliest")]);
    inside.subscribe(&[&topic]).unwrap();
    take(&inside, 1);
    let refused = member(&group, &[]).commit(&list(&topic, &[(0, 1, "")]), CommitMode::Sync).unwrap_err();
    assert_eq!(refused.rdkafka_error_code(), Some(RDKafkaErrorCode::UnknownMemberId), "{refused}");
    assert_eq!(committed(&group, &topic, 1), [(Offset::Invalid, String::new())]);
}

#[test]
fn a_deleted_group_has_no_offsets() {
    let topic = new_topic(shared(), "delete-group", 1, &[]);
    let group = unique("delete-group");
    let consumer = member(&group, &[("auto.offset.reset", "earliest")]);
    write(&producer(shared(), &[]), &topic, 0, &[Content::number(0)]);
    consumer.subscribe(&[&topic]).unwrap();
    take(&consumer, 1);
    consumer.commit_consumer_state(CommitMode::Sync).unwrap();

    let delete = || {
        let mut results = block_on(admin(shared()).delete_groups(&[&group], &admin_options())).unwrap();
        results.remove(0).map(drop).map_err(|(_, code)| code)
    };
    assert_eq!(delete(), Err(RDKafkaErrorCode::NonEmptyGroup));
    assert_eq!(committed(&group, &topic, 1), [(Offset::Offset(1), String::new())]);
    // Leaves as it closes.
    drop(consumer);
    assert_eq!(delete(), Ok(()));
    assert_eq!(committed(&group, &topic, 1), [(Offset::Invalid, String::new())]);
    assert_eq!(delete(), Err(RDKafkaErrorCode::GroupIdNotFound));
}

#[test]
fn groups_are_listed_and_described() {
    let topic = new_topic(shared(), "described", 2, &[]);
    let group = unique("described");
    let member = member(&group, &[("client.id", "the-client"), ("partition.assignment.strategy", "roundrobin")]);
    write(&producer(shared(), &[]), &topic, 0, &[Content::number(0)]);
    member.subscribe(&[&topic]).unwrap();
    eventually("the group is stable", PATIENCE, || {
        member.poll(Duration::from_millis(50));
        let groups = member.fetch_group_list(Some(&group), PATIENCE).map_err(|error| error.to_string())?;
        match groups.groups() {
            [found] if found.state() == "Stable" && found.members().len() == 1 => {
                let member = &found.members()[0];
                assert_eq!(
                    (found.name(), found.protocol(), found.protocol_type()),
                    (&*group, "roundrobin", "consumer")
                );
                assert_eq!(member.client_id(), "the-client");
                assert!(member.id().starts_with("the-client-"), "{}", member.id());
                assert!(member.client_host().contains("127.0.0.1"), "{}", member.client_host());
                Ok(())
            }
            others => Err(format!("{others:?}")),
        }
    });
    let all = member.fetch_group_list(None, PATIENCE).unwrap();
    assert!(all.groups().iter().any(|found| found.name() == group), "it is in the list of all");
}

/// Keeps the last lag that librdkafka worked out from the broker's answers.
#[derive(Clone, Default)]
struct LagWatcher {
    lag: Arc<Mutex<Option<i64>>>,
}

impl ClientContext for LagWatcher {
    fn stats(&self, statistics: Statistics) {
        let partitions = statistics.topics.values().filter_map(|topic| topic.partitions.get(&0));
        if let Some(partition) = partitions.last() {
            *self.lag.lock().unwrap() = Some(partition.consumer_lag);
        }
    }
}

impl ConsumerContext for LagWatcher {}

#[test]
fn a_consumers_lag() {
    let topic = new_topic(shared(), "lag", 1, &[]);
    let group = unique("lag");
    let watcher = LagWatcher::default();
    let mut config = client(shared());
    config.set("group.id", &group).set("auto.offset.reset", "earliest").set("enable.auto.commit", "false");
    config.set("statistics.interval.ms", "50").set("session.timeout.ms", "10000").set("fetch.wait.max.ms", "50");
    let consumer: BaseConsumer<LagWatcher> = config.create_with_context(watcher.clone()).unwrap();
    consumer.subscribe(&[&topic]).unwrap();

    let writer = producer(shared(), &[]);
    let mut written = 0;
    let mut read = 0;
    for (more, commit) in [(100, 30), (50, 150), (7, 151)] {
        write(&writer, &topic, 0, &vec![Content::value("x"); more]);
        written += more as i64;
        eventually("all is read", PATIENCE, || {
            while let Some(message) = consumer.poll(Duration::from_millis(20)) {
                message.unwrap();
                read += 1;
            }
            if read == written { Ok(()) } else { Err(format!("{read} of {written}")) }
        });
        consumer.commit(&list(&topic, &[(0, commit, "")]), CommitMode::Sync).unwrap();
        eventually("the lag is right", PATIENCE, || {
            consumer.poll(Duration::from_millis(20));
            match *watcher.lag.lock().unwrap() {
                Some(lag) if lag == written - commit => Ok(()),
                other => Err(format!("{other:?} where {written} are written and {commit} committed")),
            }
        });
    }
}
