//! Reading from anywhere.

use rdkafka::Offset;
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;

use crate::broker::{PATIENCE, new_topic, shared, watermarks};
use crate::reading::{assign, consumer, numbers, take};
use crate::writing::{Content, producer, write};

/// 1,000 numbered records in batches of about a hundred.
fn thousand(name: &str, codec: &str) -> String {
    let topic = new_topic(shared(), name, 1, &[]);
    let producer = producer(
        shared(),
        &[
            ("compression.type", codec),
            ("batch.num.messages", "100"),
            ("linger.ms", "1000"),
            ("sticky.partitioning.linger.ms", "0"),
        ],
    );
    write(&producer, &topic, 0, &(0..1_000).map(Content::number).collect::<Vec<_>>());
    topic
}

fn seek_everywhere(codec: &str) {
    let topic = thousand(&format!("seek-{codec}"), codec);
    let consumer = consumer(shared(), &[]);
    for start in [0, 1, 50, 99, 100, 101, 555, 998, 999] {
        assign(&consumer, &topic, &[(0, Offset::Offset(start))]);
        let seen = take(&consumer, (1_000 - start as usize).min(150));
        let expected: Vec<_> = (start as usize..).take(seen.len()).collect();
        assert_eq!(numbers(&seen), expected, "{codec} from {start}");
    }
    // Back and forth on one assignment.
    for start in [700, 3, 350, 349] {
        consumer.seek(&topic, 0, Offset::Offset(start), PATIENCE).unwrap();
        assert_eq!(numbers(&take(&consumer, 10)), (start as usize..).take(10).collect::<Vec<_>>(), "{codec}");
    }
}

#[test]
fn seek_into_the_middle_of_batches() {
    seek_everywhere("none");
}

#[test]
fn seek_into_the_middle_of_compressed_batches() {
    seek_everywhere("gzip");
}

#[test]
fn beginning_end_and_tail() {
    let topic = thousand("tail", "none");
    assert_eq!(watermarks(shared(), &topic, 0), (0, 1_000));
    let consumer = consumer(shared(), &[]);
    assign(&consumer, &topic, &[(0, Offset::OffsetTail(7))]);
    assert_eq!(numbers(&take(&consumer, 7)), (993..1_000).collect::<Vec<_>>());
    assign(&consumer, &topic, &[(0, Offset::Beginning)]);
    assert_eq!(numbers(&take(&consumer, 1)), [0]);
    assign(&consumer, &topic, &[(0, Offset::Offset(1_000))]);
    let late = producer(shared(), &[]);
    write(&late, &topic, 0, &[Content::number(1_000)]);
    assert_eq!(numbers(&take(&consumer, 1)), [1_000]);
    assert_eq!(watermarks(shared(), &topic, 0), (0, 1_001));
}

#[test]
fn watermarks_of_every_partition() {
    let topic = new_topic(shared(), "watermarks", 4, &[]);
    let producer = producer(shared(), &[]);
    for partition in 0..4 {
        assert_eq!(watermarks(shared(), &topic, partition), (0, 0));
        write(&producer, &topic, partition, &vec![Content::value("x"); partition as usize * 3]);
        assert_eq!(watermarks(shared(), &topic, partition), (0, i64::from(partition) * 3));
    }
}

#[test]
fn the_end_of_a_partition_is_told() {
    let topic = thousand("eof", "none");
    let consumer = consumer(shared(), &[("enable.partition.eof", "true")]);
    assign(&consumer, &topic, &[(0, Offset::Offset(990))]);
    assert_eq!(take(&consumer, 10).len(), 10);
    let end = consumer.poll(PATIENCE).map(|message| message.map(drop));
    assert_eq!(end, Some(Err(KafkaError::PartitionEOF(0))));
}

#[test]
fn an_offset_out_of_range() {
    let topic = thousand("out-of-range", "none");
    let strict = consumer(shared(), &[("auto.offset.reset", "error")]);
    assign(&strict, &topic, &[(0, Offset::Offset(5_000))]);
    let error = strict.poll(PATIENCE).expect("an answer").map(drop).unwrap_err();
    assert_eq!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::AutoOffsetReset), "{error}");

    let earliest = consumer(shared(), &[("auto.offset.reset", "earliest")]);
    assign(&earliest, &topic, &[(0, Offset::Offset(5_000))]);
    assert_eq!(numbers(&take(&earliest, 1)), [0]);

    let latest = consumer(shared(), &[("auto.offset.reset", "latest"), ("enable.partition.eof", "true")]);
    assign(&latest, &topic, &[(0, Offset::Offset(5_000))]);
    let end = latest.poll(PATIENCE).map(|message| message.map(drop));
    assert_eq!(end, Some(Err(KafkaError::PartitionEOF(0))));
    write(&producer(shared(), &[]), &topic, 0, &[Content::number(1_000)]);
    assert_eq!(numbers(&take(&latest, 1)), [1_000]);
}

#[test]
fn a_partition_that_is_not_there() {
    let topic = new_topic(shared(), "one-partition", 1, &[]);
    let consumer = consumer(shared(), &[]);
    let error = consumer.fetch_watermarks(&topic, 7, PATIENCE).unwrap_err();
    assert_eq!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::UnknownPartition), "{error}");
}

#[test]
fn paused_partitions_give_nothing_until_resumed() {
    let topic = new_topic(shared(), "paused", 2, &[]);
    let writer = producer(shared(), &[]);
    let consumer = consumer(shared(), &[]);
    assign(&consumer, &topic, &[(0, Offset::Beginning), (1, Offset::Beginning)]);
    let mut first = rdkafka::TopicPartitionList::new();
    first.add_partition(&topic, 0);
    consumer.pause(&first).unwrap();
    for partition in 0..2 {
        write(&writer, &topic, partition, &(0..50).map(Content::number).collect::<Vec<_>>());
    }
    assert!(take(&consumer, 50).iter().all(|seen| seen.partition == 1));
    consumer.resume(&first).unwrap();
    assert!(take(&consumer, 50).iter().all(|seen| seen.partition == 0));
}
