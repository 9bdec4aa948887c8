//! Compacted topics and deleted records, as a consumer finds them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use daybook_test_server::eventually;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};
use tempfile::TempDir;

use crate::broker::{PATIENCE, admin, admin_options, block_on, launch, new_topic, shared, watermarks};
use crate::reading::{Seen, assign, consumer, numbers, take};
use crate::writing::{Content, producer, write, write_at};

const KEYS: usize = 50;
const TOMBSTONE: usize = 7;

fn keyed(key: usize, value: Option<&str>) -> Content {
    let value = value.map(|value| value.as_bytes().to_vec());
    Content { key: Some(format!("key-{key}").into_bytes()), value, headers: Vec::new() }
}

/// Everything from `from` to the end, which has to be reached.
fn to_the_end(consumer: &BaseConsumer, topic: &str, from: i64) -> Vec<Seen> {
    assign(consumer, topic, &[(0, Offset::Offset(from))]);
    let deadline = Instant::now() + PATIENCE;
    let mut seen = Vec::new();
    loop {
        assert!(Instant::now() < deadline, "the end was not reached after {} records", seen.len());
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => seen.push(Seen::of(&message)),
            Some(Err(KafkaError::PartitionEOF(_))) => return seen,
            Some(Err(error)) => panic!("{error}"),
            None => {}
        }
    }
}

/// Three rounds of all keys, each in segments of its own, and then others which keep the last segment.
#[test]
fn a_compacted_topic_keeps_the_latest_of_each_key() {
    let data = TempDir::new().unwrap();
    let configured = launch(&data).set("cleaner.compaction_interval_ms", "50").set("checkpoint.interval_ms", "100");
    let server = configured.remove_data().start().unwrap();
    let bootstrap = server.kafka();
    let configs = [("cleanup.policy", "compact"), ("segment.ms", "1000"), ("min.cleanable.dirty.ratio", "0.01")];
    for codec in ["none", "zstd"] {
        let topic = new_topic(bootstrap, &format!("ledger-{codec}"), 1, &configs);
        let producer = producer(bootstrap, &[("compression.type", codec), ("enable.idempotence", "true")]);
        let begin = 1_700_000_000_000_i64;
        for round in 0..3_i64 {
            let value = format!("round {round}");
            let content = |key| keyed(key, (round < 2 || key != TOMBSTONE).then_some(value.as_str()));
            let records: Vec<_> = (0..KEYS).map(|key| (begin + round * 10_000, content(key))).collect();
            write_at(&producer, &topic, 0, &records);
        }
        write_at(&producer, &topic, 0, &[(begin + 90_000, keyed(1_000, Some("last")))]);
        let end = 3 * KEYS as i64 + 1;
        let consumer = consumer(bootstrap, &[("enable.partition.eof", "true")]);
        eventually("only the latest are left", PATIENCE, || match to_the_end(&consumer, &topic, 0).len() {
            count if count == KEYS + 1 => Ok(()),
            count => Err(format!("{count} records are there")),
        });
        let seen = to_the_end(&consumer, &topic, 0);
        let offsets: Vec<i64> = seen.iter().map(|seen| seen.offset).collect();
        assert_eq!(offsets, (2 * KEYS as i64..end).collect::<Vec<_>>(), "offsets never change");
        let latest: BTreeMap<_, _> = seen.iter().map(|seen| (seen.content.key.clone(), &seen.content)).collect();
        assert_eq!(latest.len(), KEYS + 1);
        let tombstone = keyed(TOMBSTONE, None);
        assert_eq!(latest[&tombstone.key], &tombstone, "a tombstone stays for its time of grace");
        assert_eq!(latest[&keyed(8, None).key], &keyed(8, Some("round 2")));
        // The start of a compacted partition doesn't move; whoever comes for an offset that is gone gets the next that is there.
        assert_eq!(watermarks(bootstrap, &topic, 0), (0, end));
        for from in [1, 49, 50, 77, 2 * KEYS as i64 - 1, 2 * KEYS as i64, end - 1] {
            let found = to_the_end(&consumer, &topic, from);
            assert_eq!(found.first().map(|seen| seen.offset), Some(from.max(2 * KEYS as i64)), "from {from}");
        }
        let mut at = TopicPartitionList::new();
        at.add_partition_offset(&topic, 0, Offset::Offset(begin + 5_000)).unwrap();
        let found = consumer.offsets_for_times(at, PATIENCE).unwrap();
        assert_eq!(found.elements()[0].offset(), Offset::Offset(2 * KEYS as i64));
    }
}

#[test]
fn deleted_records_are_gone_and_a_consumer_resets() {
    let topic = new_topic(shared(), "deleted", 1, &[]);
    let producer = producer(shared(), &[]);
    write(&producer, &topic, 0, &(0..100).map(Content::number).collect::<Vec<_>>());
    let mut before = TopicPartitionList::new();
    before.add_partition_offset(&topic, 0, Offset::Offset(40)).unwrap();
    let deleted = block_on(admin(shared()).delete_records(&before, &admin_options())).unwrap();
    assert_eq!(deleted.elements()[0].offset(), Offset::Offset(40));
    assert_eq!(watermarks(shared(), &topic, 0), (40, 100));
    for (reset, first) in [("earliest", 40), ("latest", 100)] {
        let consumer = consumer(shared(), &[("auto.offset.reset", reset)]);
        assign(&consumer, &topic, &[(0, Offset::Offset(10))]);
        if first == 100 {
            // When it has found out that its offset is gone, it waits for what comes at the end.
            eventually("the consumer reads what is new", PATIENCE, || {
                write(&producer, &topic, 0, &[Content::number(100)]);
                match consumer.poll(Duration::from_millis(200)) {
                    Some(Ok(message)) => {
                        assert!(message.offset() >= 100, "it reads offset {}", message.offset());
                        Ok(())
                    }
                    other => Err(format!("it got {:?}", other.map(|message| message.map(drop)))),
                }
            });
        } else {
            assert_eq!(numbers(&take(&consumer, 60)), (40..100).collect::<Vec<_>>());
        }
    }
}
