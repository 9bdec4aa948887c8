//! Kafka's clients: producers that say which version they expect, and a consumer that reads everything.

use std::time::{Duration, Instant};

use daybook_linear::{Outcome, Request, TopicRecord, event_data, event_id};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

const PATIENCE: Duration = Duration::from_secs(60);
/// Long enough for a restart, so that some sit it out.
const MESSAGE_TIMEOUT_MS: &str = "5000";

fn client(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap);
    config.set("reconnect.backoff.ms", "10").set("reconnect.backoff.max.ms", "100");
    config
}

/// One that sends each record as a batch of its own, as each may be refused, and never by itself a second time.
pub fn producer(bootstrap: &str) -> FutureProducer {
    client(bootstrap)
        .set("acks", "all")
        .set("linger.ms", "0")
        .set("batch.num.messages", "1")
        .set("message.send.max.retries", "0")
        .set("message.timeout.ms", MESSAGE_TIMEOUT_MS)
        .create()
        .unwrap()
}

/// Produces a request, which has one event of one stream.
pub async fn produce(producer: &FutureProducer, number: u32, request: &Request) -> Result<Outcome, String> {
    let part = &request.streams[0];
    let (id, expected, data) = (event_id(number, 0), part.expected.text(), event_data(number, 0));
    let mut headers = OwnedHeaders::new()
        .insert(Header { key: "ce_specversion", value: Some("1.0") })
        .insert(Header { key: "ce_id", value: Some(&id) })
        .insert(Header { key: "ce_type", value: Some("noted") })
        .insert(Header { key: "content-type", value: Some("application/json") })
        .insert(Header { key: "daybook-expected-version", value: Some(&expected) });
    if let Some(tag) = &request.tag {
        headers = headers.insert(Header { key: "daybook-tag", value: Some(tag) });
    }
    let topic = daybook_linear::topic_of(Some(&part.stream));
    let record = FutureRecord::to(topic).key(&part.stream).payload(&data).headers(headers);
    match producer.send(record, PATIENCE).await {
        Ok(delivery) => Ok(Outcome::Produced { partition: delivery.partition, offset: delivery.offset }),
        Err((error, _)) => match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::InvalidRecord) => Ok(Outcome::Refused),
            // It was on its way, or wasn't: the library doesn't say.
            Some(
                RDKafkaErrorCode::MessageTimedOut
                | RDKafkaErrorCode::BrokerTransportFailure
                | RDKafkaErrorCode::AllBrokersDown
                | RDKafkaErrorCode::OperationTimedOut
                | RDKafkaErrorCode::RequestTimedOut
                | RDKafkaErrorCode::UnknownPartition
                | RDKafkaErrorCode::NotLeaderForPartition,
            ) => Ok(Outcome::Unknown),
            _ => Err(format!("{request:?} is answered {error}")),
        },
    }
}

/// Everything in all topics, as a consumer gets it.
pub fn read_all(bootstrap: &str) -> Vec<TopicRecord> {
    let consumer: BaseConsumer =
        client(bootstrap).set("group.id", "judge").set("enable.auto.commit", "false").create().unwrap();
    let metadata = consumer.fetch_metadata(None, PATIENCE).unwrap();
    let (mut assignment, mut expected) = (TopicPartitionList::new(), 0);
    for topic in metadata.topics() {
        for partition in topic.partitions() {
            let (low, high) = consumer.fetch_watermarks(topic.name(), partition.id(), PATIENCE).unwrap();
            assert_eq!(low, 0, "{} partition {} begins later", topic.name(), partition.id());
            expected += high as usize;
            assignment.add_partition_offset(topic.name(), partition.id(), Offset::Beginning).unwrap();
        }
    }
    consumer.assign(&assignment).unwrap();
    let mut records = Vec::with_capacity(expected);
    let mut deadline = Instant::now() + PATIENCE;
    while records.len() < expected {
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => {
                records.push(record(&message));
                deadline = Instant::now() + PATIENCE;
            }
            Some(Err(KafkaError::MessageConsumption(RDKafkaErrorCode::BrokerTransportFailure))) | None => {
                assert!(Instant::now() < deadline, "{} of {expected} records came", records.len());
            }
            Some(Err(error)) => panic!("{error}"),
        }
    }
    records
}

fn record(message: &impl Message) -> TopicRecord {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let id = message.headers().and_then(|headers| headers.iter().find(|header| header.key == "ce_id"));
    TopicRecord {
        topic: message.topic().to_owned(),
        partition: message.partition(),
        offset: message.offset(),
        key: message.key().map(text),
        id: id.and_then(|header| header.value).map(text).unwrap_or_default(),
        data: message.payload().unwrap_or_default().to_vec(),
    }
}
