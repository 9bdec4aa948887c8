//! Timestamps, and offsets found by them.

use std::time::{SystemTime, UNIX_EPOCH};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, Timestamp, TopicPartitionList};

use crate::broker::{PATIENCE, new_topic, shared};
use crate::reading::{consumer, read_all};
use crate::writing::{Content, producer, write_at};

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

/// The first offset at or after a time, as a broker answers; `None` where there is none.
fn offset_at(asker: &BaseConsumer, topic: &str, time_ms: i64) -> Option<i64> {
    let mut asked = TopicPartitionList::new();
    asked.add_partition_offset(topic, 0, Offset::Offset(time_ms)).unwrap();
    let answer = asker.offsets_for_times(asked, PATIENCE).unwrap();
    match answer.find_partition(topic, 0).unwrap().offset() {
        Offset::Offset(offset) => Some(offset),
        Offset::End => None,
        other => panic!("no answer but {other:?}"),
    }
}

#[test]
fn the_producers_time_is_kept() {
    let topic = new_topic(shared(), "create-time", 1, &[]);
    let base = now_ms() - 100_000;
    // Neither ascending nor distinct.
    let times = [0, 5, 3, 3, 90_000, 1].map(|delta| base + delta);
    let records: Vec<_> = times.iter().map(|time| (*time, Content::number(*time as usize))).collect();
    let deliveries = write_at(&producer(shared(), &[("linger.ms", "20")]), &topic, 0, &records);
    assert!(deliveries.iter().zip(times).all(|(delivery, time)| delivery.timestamp == Timestamp::CreateTime(time)));
    let seen: Vec<_> = read_all(shared(), &topic, 0).into_iter().map(|seen| seen.timestamp).collect();
    assert_eq!(seen, times.map(Timestamp::CreateTime));
}

#[test]
fn the_brokers_time_replaces_it() {
    let topic = new_topic(shared(), "log-append-time", 1, &[("message.timestamp.type", "LogAppendTime")]);
    for codec in ["none", "lz4"] {
        let before = now_ms();
        let records: Vec<_> = (0..20).map(|number| (1_000_000 + number, Content::number(number as usize))).collect();
        let producer = producer(shared(), &[("compression.type", codec), ("linger.ms", "20")]);
        let deliveries = write_at(&producer, &topic, 0, &records);
        let after = now_ms();
        // One clock, but another reading of it.
        let is_between = |time: i64| (before - 1..=after + 1).contains(&time);
        let seen = read_all(shared(), &topic, 0);
        for delivery in deliveries {
            let Timestamp::LogAppendTime(time) = seen[delivery.offset as usize].timestamp else {
                panic!("not the broker's: {:?}", seen[delivery.offset as usize])
            };
            assert!(is_between(time), "{codec}: {before} <= {time} <= {after}");
        }
    }
}

#[test]
fn offsets_are_found_by_time() {
    let topic = new_topic(shared(), "offsets-for-times", 1, &[]);
    let asker = consumer(shared(), &[]);
    assert_eq!(offset_at(&asker, &topic, 0), None, "of an empty partition");
    let base = now_ms() - 1_000_000;
    // Several batches, one of them with a time that goes back.
    let deltas = [&[0, 10, 20][..], &[30, 30, 40], &[35, 50, 45], &[60]];
    let mut written = Vec::new();
    for batch in deltas {
        let records: Vec<_> = batch.iter().map(|delta| (base + delta, Content::value("x"))).collect();
        write_at(&producer(shared(), &[("linger.ms", "50")]), &topic, 0, &records);
        written.extend_from_slice(batch);
    }
    for asked in -5..70 {
        let expected = written.iter().position(|delta| *delta >= asked);
        assert_eq!(offset_at(&asker, &topic, base + asked), expected.map(|at| at as i64), "at {asked} of {written:?}");
    }
}

#[test]
fn offsets_are_found_by_time_in_compressed_batches() {
    let topic = new_topic(shared(), "offsets-for-times-zstd", 1, &[]);
    let asker = consumer(shared(), &[]);
    let base = now_ms() - 1_000_000;
    let producer = producer(shared(), &[("compression.type", "zstd"), ("linger.ms", "50")]);
    let records: Vec<_> =
        (0..300_usize).map(|number| (base + number as i64 * 10, Content::value(vec![b'z'; 200]))).collect();
    write_at(&producer, &topic, 0, &records);
    for number in (0..300).step_by(23) {
        assert_eq!(offset_at(&asker, &topic, base + number * 10), Some(number));
        assert_eq!(offset_at(&asker, &topic, base + number * 10 - 9), Some(number));
    }
    assert_eq!(offset_at(&asker, &topic, base + 300 * 10), None);
}
