//! Topics by the hundred.

use std::collections::{HashMap, HashSet};

use daybook_test_server::eventually;
use rdkafka::Offset;
use rdkafka::admin::{NewTopic, TopicReplication};
use rdkafka::consumer::Consumer;
use rdkafka::message::Message;

use crate::broker::{PATIENCE, admin, admin_options, await_topic, block_on, shared, topic_names, unique};
use crate::reading::consumer;
use crate::writing::{Content, outcome, producer, send};

const TOPICS: usize = 300;
const PARTITIONS: i32 = 2;

#[test]
fn topics_by_the_hundred() {
    let prefix = unique("many");
    let names: Vec<_> = (0..TOPICS).map(|number| format!("{prefix}-{number}")).collect();
    let admin = admin(shared());
    for some in names.chunks(100) {
        let topics: Vec<_> =
            some.iter().map(|name| NewTopic::new(name, PARTITIONS, TopicReplication::Fixed(1))).collect();
        let results = block_on(admin.create_topics(&topics, &admin_options())).unwrap();
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    }
    let expected: HashSet<_> = names.iter().cloned().collect();
    eventually("all are listed", PATIENCE, || {
        let listed: HashSet<_> = topic_names(shared()).into_iter().filter(|name| name.starts_with(&prefix)).collect();
        if listed == expected { Ok(()) } else { Err(format!("{} are, of {TOPICS}", listed.len())) }
    });
    await_topic(shared(), &names[TOPICS - 1], PARTITIONS);

    let producer = producer(shared(), &[("enable.idempotence", "true"), ("linger.ms", "5")]);
    let mut sent = Vec::new();
    for round in 0..3 {
        for name in &names {
            for partition in 0..PARTITIONS {
                let content = Content::value(format!("{name}/{partition}/{round}"));
                sent.push(send(&producer, name, partition, &content, None).unwrap());
            }
        }
    }
    for delivery in sent {
        outcome(delivery).unwrap();
    }

    let consumer = consumer(shared(), &[]);
    let mut list = rdkafka::TopicPartitionList::new();
    for name in &names {
        for partition in 0..PARTITIONS {
            list.add_partition_offset(name, partition, Offset::Beginning).unwrap();
        }
    }
    consumer.assign(&list).unwrap();
    let total = 3 * TOPICS * PARTITIONS as usize;
    let mut read: HashMap<(String, i32), i64> = HashMap::new();
    for count in 0..total {
        let message = consumer.poll(PATIENCE).unwrap_or_else(|| panic!("{count} of {total} came")).unwrap();
        let (topic, partition) = (message.topic().to_owned(), message.partition());
        let expected = format!("{topic}/{partition}/{}", message.offset());
        assert_eq!(message.payload(), Some(expected.as_bytes()));
        let next = read.entry((topic, partition)).or_insert(0);
        assert_eq!(message.offset(), *next);
        *next += 1;
    }
    assert!(read.len() == TOPICS * PARTITIONS as usize && read.values().all(|next| *next == 3));

    let all: Vec<_> = names.iter().map(String::as_str).collect();
    for some in all.chunks(100) {
        let results = block_on(admin.delete_topics(some, &admin_options())).unwrap();
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    }
    eventually("all are gone", PATIENCE, || {
        match topic_names(shared()).iter().filter(|name| name.starts_with(&prefix)).count() {
            0 => Ok(()),
            left => Err(format!("{left} are left")),
        }
    });
}
