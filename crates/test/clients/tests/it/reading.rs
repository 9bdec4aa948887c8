//! Records on their way out.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, Timestamp, TopicPartitionList};

use crate::broker::{PATIENCE, client, unique};
use crate::writing::Content;

/// A record that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub partition: i32,
    pub offset: i64,
    pub timestamp: Timestamp,
    pub content: Content,
}

impl Seen {
    pub fn of(message: &BorrowedMessage<'_>) -> Self {
        let headers = message.headers().map(|headers| {
            let owned =
                |header: rdkafka::message::Header<'_, &[u8]>| (header.key.to_owned(), header.value.map(<[u8]>::to_vec));
            headers.iter().map(owned).collect()
        });
        Self {
            partition: message.partition(),
            offset: message.offset(),
            timestamp: message.timestamp(),
            content: Content {
                key: message.key().map(<[u8]>::to_vec),
                value: message.payload().map(<[u8]>::to_vec),
                headers: headers.unwrap_or_default(),
            },
        }
    }
}

/// A consumer of a group that nobody else is in, which commits nothing by itself.
pub fn consumer(bootstrap: &str, settings: &[(&str, &str)]) -> BaseConsumer {
    let mut config = client(bootstrap);
    config.set("group.id", unique("reader")).set("enable.auto.commit", "false");
    config.set("auto.offset.reset", "error").set("fetch.wait.max.ms", "100");
    for (key, value) in settings {
        config.set(*key, *value);
    }
    config.create().unwrap()
}

pub fn assign(consumer: &BaseConsumer, topic: &str, partitions: &[(i32, Offset)]) {
    let mut list = TopicPartitionList::new();
    for (partition, offset) in partitions {
        list.add_partition_offset(topic, *partition, *offset).unwrap();
    }
    consumer.assign(&list).unwrap();
}

/// The next `count` records.
pub fn take(consumer: &BaseConsumer, count: usize) -> Vec<Seen> {
    let deadline = Instant::now() + PATIENCE;
    let mut seen = Vec::with_capacity(count);
    while seen.len() < count {
        assert!(Instant::now() < deadline, "only {} of {count} records came within {PATIENCE:?}", seen.len());
        match consumer.poll(Duration::from_millis(100)) {
            None => {}
            Some(Ok(message)) => seen.push(Seen::of(&message)),
            // librdkafka tells of a broker that is away, and connects again.
            Some(Err(error)) if is_away(&error) => {}
            Some(Err(error)) => panic!("after {} of {count} records: {error}", seen.len()),
        }
    }
    seen
}

fn is_away(error: &KafkaError) -> bool {
    use RDKafkaErrorCode::{AllBrokersDown, BrokerTransportFailure};
    matches!(error.rdkafka_error_code(), Some(AllBrokersDown | BrokerTransportFailure))
}

/// Everything in a partition, which must start at offset 0.
pub fn read_all(bootstrap: &str, topic: &str, partition: i32) -> Vec<Seen> {
    read_all_with(bootstrap, topic, partition, &[])
}

pub fn read_all_with(bootstrap: &str, topic: &str, partition: i32, settings: &[(&str, &str)]) -> Vec<Seen> {
    let consumer = consumer(bootstrap, settings);
    let (low, high) = consumer.fetch_watermarks(topic, partition, PATIENCE).unwrap();
    assert_eq!(low, 0);
    assign(&consumer, topic, &[(partition, Offset::Beginning)]);
    let seen = take(&consumer, high as usize);
    let offsets: Vec<_> = seen.iter().map(|seen| seen.offset).collect();
    assert_eq!(offsets, (0..high).collect::<Vec<_>>(), "offsets have no gap");
    seen
}

pub fn contents(seen: Vec<Seen>) -> Vec<Content> {
    seen.into_iter().map(|seen| seen.content).collect()
}

/// The numbers that records written with [`Content::number`] say.
pub fn numbers(seen: &[Seen]) -> Vec<usize> {
    let number = |seen: &Seen| std::str::from_utf8(seen.content.value.as_ref()?).ok()?.parse().ok();
    seen.iter().map(|seen| number(seen).expect("it says a number")).collect()
}
