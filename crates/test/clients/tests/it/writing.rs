//! Records on their way in.

use rdkafka::error::KafkaError;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::future_producer::{Delivery, DeliveryFuture};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::types::RDKafkaErrorCode;

use crate::broker::{block_on, client};

/// What a record carries, but for its timestamp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Content {
    pub fn value(value: impl Into<Vec<u8>>) -> Self {
        Self { value: Some(value.into()), ..Self::default() }
    }

    /// A record that says its number.
    pub fn number(number: usize) -> Self {
        Self::value(number.to_string())
    }
}

pub fn producer(bootstrap: &str, settings: &[(&str, &str)]) -> FutureProducer {
    let mut config = client(bootstrap);
    config.set("message.timeout.ms", "120000").set("queue.buffering.max.messages", "1000000");
    for (key, value) in settings {
        config.set(*key, *value);
    }
    config.create().unwrap()
}

/// Hands a record to librdkafka.
pub fn send(
    producer: &FutureProducer,
    topic: &str,
    partition: i32,
    content: &Content,
    timestamp: Option<i64>,
) -> Result<DeliveryFuture, KafkaError> {
    let mut record: FutureRecord<'_, [u8], [u8]> = FutureRecord::to(topic).partition(partition);
    (record.key, record.payload, record.timestamp) = (content.key.as_deref(), content.value.as_deref(), timestamp);
    if !content.headers.is_empty() {
        let add = |headers: OwnedHeaders, (key, value): &(String, Option<Vec<u8>>)| {
            headers.insert(Header { key, value: value.as_ref() })
        };
        record.headers = Some(content.headers.iter().fold(OwnedHeaders::new(), add));
    }
    producer.send_result(record).map_err(|(error, _)| error)
}

/// What became of a record.
pub fn outcome(delivery: DeliveryFuture) -> Result<Delivery, KafkaError> {
    block_on(delivery).expect("the producer lives").map_err(|(error, _)| error)
}

/// Writes records to one partition and waits until all are acknowledged; their offsets.
pub fn write(producer: &FutureProducer, topic: &str, partition: i32, contents: &[Content]) -> Vec<i64> {
    let sent: Vec<_> =
        contents.iter().map(|content| send(producer, topic, partition, content, None).unwrap()).collect();
    sent.into_iter().map(|delivery| outcome(delivery).unwrap().offset).collect()
}

/// Writes records with timestamps.
pub fn write_at(producer: &FutureProducer, topic: &str, partition: i32, records: &[(i64, Content)]) -> Vec<Delivery> {
    let sent: Vec<_> =
        records.iter().map(|(at, content)| send(producer, topic, partition, content, Some(*at)).unwrap()).collect();
    sent.into_iter().map(|delivery| outcome(delivery).unwrap()).collect()
}

/// Writes one record and tells what the broker, or librdkafka before it, said.
pub fn try_write(
    producer: &FutureProducer,
    topic: &str,
    partition: i32,
    content: &Content,
) -> Result<i64, RDKafkaErrorCode> {
    let result = send(producer, topic, partition, content, None).and_then(outcome);
    result.map(|delivery| delivery.offset).map_err(|error| error.rdkafka_error_code().expect("it has a code"))
}
