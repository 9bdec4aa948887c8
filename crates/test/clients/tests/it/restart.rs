//! What a server that was stopped, or killed, knows when it is back.

use std::collections::BTreeMap;

use bytes::Bytes;
use daybook_kafka_client::{Acks, Cluster, ClusterOptions, ProducerIdentity};
use daybook_record::{BatchBuilder, Compression};
use daybook_test_server::{Launch, Server};
use daybook_types::{Offset, PartitionIndex, TimestampMs};
use rdkafka::admin::ResourceSpecifier;
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::{Offset as Position, Timestamp, TopicPartitionList};
use tempfile::TempDir;

use crate::broker::{
    PATIENCE, admin, admin_options, block_on, create_topic, launch, stand_in, topic_names, watermarks,
};
use crate::reading::{Seen, consumer, contents, numbers, read_all};
use crate::writing::{Content, outcome, producer, send, write, write_at};

/// How a server ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Stopped,
    Killed,
}

/// Ends the server and starts one on the same directory and addresses.
fn again(server: Server, launch: &Launch, end: End) -> Server {
    let launch = launch.clone().at(&server);
    match end {
        End::Stopped => {
            let exit = server.terminate();
            assert!(exit.status.success(), "{:?}: {}", exit.status, exit.stderr);
        }
        End::Killed => drop(server.kill()),
    }
    launch.start().unwrap()
}

const BOTH_ENDS: [End; 2] = [End::Stopped, End::Killed];

#[test]
fn topics_records_and_offsets_are_kept() {
    if stand_in().is_some() {
        return;
    }
    let data = TempDir::new().unwrap();
    let launch = launch(&data);
    let mut server = launch.start().unwrap();
    let address = server.kafka().to_owned();
    create_topic(&address, "kept", 3, &[("max.message.bytes", "123456")]).unwrap();
    create_topic(&address, "stamped", 1, &[("message.timestamp.type", "LogAppendTime")]).unwrap();
    create_topic(&address, "deleted", 1, &[]).unwrap();
    block_on(admin(&address).delete_topics(&["deleted"], &admin_options())).unwrap().remove(0).unwrap();

    let mut expected: BTreeMap<(&str, i32), Vec<Seen>> = BTreeMap::new();
    for (round, end) in [End::Stopped, End::Killed, End::Killed, End::Stopped, End::Stopped].into_iter().enumerate() {
        for codec in ["none", "zstd"] {
            let producer = producer(&address, &[("compression.type", codec), ("linger.ms", "10")]);
            for partition in 0..3 {
                let content = |number: usize| Content {
                    key: number.is_multiple_of(2).then(|| b"key".to_vec()),
                    headers: vec![("round".to_owned(), Some(vec![round as u8])), ("null".to_owned(), None)],
                    ..Content::number(number)
                };
                let records: Vec<_> =
                    (0..50_usize).map(|number| (1_700_000_000_000 + number as i64, content(number))).collect();
                let deliveries = write_at(&producer, "kept", partition, &records);
                let seen = deliveries.iter().zip(&records).map(|(delivery, (at, content))| Seen {
                    partition,
                    offset: delivery.offset,
                    timestamp: Timestamp::CreateTime(*at),
                    content: content.clone(),
                });
                expected.entry(("kept", partition)).or_default().extend(seen);
            }
            write(&producer, "stamped", 0, &[Content::value(codec)]);
        }
        // Whatever time it was given then, it keeps.
        expected.insert(("stamped", 0), read_all(&address, "stamped", 0));
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset("kept", 1, Position::Offset(round as i64 * 10 + 1)).unwrap();
        offsets.find_partition("kept", 1).unwrap().set_metadata(format!("round {round}"));
        consumer(&address, &[("group.id", "keeper")]).commit(&offsets, CommitMode::Sync).unwrap();

        server = again(server, &launch, end);

        let names: Vec<_> = topic_names(&address);
        assert_eq!(names, ["kept", "stamped"], "after {end:?}");
        for ((topic, partition), records) in &expected {
            assert!(read_all(&address, topic, *partition) == *records, "{topic}/{partition} differs after {end:?}");
        }
        let asked = [ResourceSpecifier::Topic("kept")];
        let described =
            block_on(admin(&address).describe_configs(&asked, &admin_options())).unwrap().remove(0).unwrap();
        assert_eq!(described.get("max.message.bytes").unwrap().value.as_deref(), Some("123456"));
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range("kept", 0, 1);
        let kept = consumer(&address, &[("group.id", "keeper")]).committed_offsets(asked, PATIENCE).unwrap();
        let kept = kept.find_partition("kept", 1).unwrap();
        assert_eq!(kept.offset(), Position::Offset(round as i64 * 10 + 1), "after {end:?}");
        assert_eq!(kept.metadata(), format!("round {round}"));
    }
}

#[test]
fn clients_that_were_there_go_on() {
    if stand_in().is_some() {
        return;
    }
    let data = TempDir::new().unwrap();
    let launch = launch(&data);
    let mut server = launch.start().unwrap();
    let address = server.kafka().to_owned();
    create_topic(&address, "flow", 1, &[]).unwrap();
    let settings = [("enable.idempotence", "true"), ("linger.ms", "1"), ("batch.num.messages", "20")];
    let writer = producer(&address, &settings);
    let reader = consumer(&address, &[]);
    crate::reading::assign(&reader, "flow", &[(0, Position::Beginning)]);
    let mut written = 0;
    for round in 0..6 {
        // In flight while the server goes down.
        let sent: Vec<_> =
            (written..written + 3_000).map(|n| send(&writer, "flow", 0, &Content::number(n), None).unwrap()).collect();
        written += 3_000;
        server = again(server, &launch, BOTH_ENDS[round % 2]);
        for delivery in sent {
            outcome(delivery).unwrap();
        }
        assert_eq!(watermarks(&address, "flow", 0), (0, written as i64), "after round {round}");
        let seen = crate::reading::take(&reader, 3_000);
        assert!(numbers(&seen) == (written - 3_000..written).collect::<Vec<_>>(), "in round {round}");
    }
    assert!(numbers(&read_all(&address, "flow", 0)) == (0..written).collect::<Vec<_>>());
    drop(server);
}

/// One batch of an idempotent producer: ten records from `sequence` on.
fn batch(identity: ProducerIdentity, sequence: i32) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None).producer(identity.id, identity.epoch, sequence);
    for number in sequence..sequence + 10 {
        builder.push(TimestampMs(1), None, Some(number.to_string().as_bytes()), &[]);
    }
    builder.build().unwrap()
}

fn produce(address: &str, records: &Bytes) -> Result<Option<Offset>, String> {
    block_on(async {
        let mut cluster = Cluster::connect(address, ClusterOptions::default()).await.unwrap();
        let result = cluster.produce("resent", PartitionIndex(0), Acks::All, records).await;
        result.map_err(|error| error.code().map_or_else(|| error.to_string(), |code| code.to_string()))
    })
}

#[test]
fn a_batch_sent_again_after_a_restart_is_known() {
    if stand_in().is_some() {
        return;
    }
    let data = TempDir::new().unwrap();
    let launch = launch(&data);
    let mut server = launch.start().unwrap();
    let address = server.kafka().to_owned();
    create_topic(&address, "resent", 1, &[]).unwrap();
    let identity = || {
        block_on(async {
            let mut cluster = Cluster::connect(&address, ClusterOptions::default()).await.unwrap();
            cluster.init_producer().await.unwrap()
        })
    };
    let first = identity();
    let mut identities = vec![first];
    let mut next = 0;
    for end in [End::Stopped, End::Killed, End::Stopped, End::Killed] {
        for _ in 0..6 {
            assert_eq!(produce(&address, &batch(first, next)), Ok(Some(Offset(next.into()))));
            next += 10;
        }
        server = again(server, &launch, end);
        // The last five are answered as when they were written; the one before is no longer known, so it is refused.
        for sequence in (next - 50..next).step_by(10) {
            let sent_again = produce(&address, &batch(first, sequence));
            assert_eq!(sent_again, Ok(Some(Offset(sequence.into()))), "sequence {sequence} after {end:?}");
        }
        let forgotten = produce(&address, &batch(first, next - 60));
        assert!(forgotten == Ok(None) || forgotten == Err("OUT_OF_ORDER_SEQUENCE_NUMBER".to_owned()), "{forgotten:?}");
        let gap = produce(&address, &batch(first, next + 10));
        assert_eq!(gap, Err("OUT_OF_ORDER_SEQUENCE_NUMBER".to_owned()));
        assert_eq!(watermarks(&address, "resent", 0), (0, next.into()));
        identities.push(identity());
    }
    let distinct: std::collections::HashSet<_> = identities.iter().map(|identity| identity.id.0).collect();
    assert_eq!(distinct.len(), identities.len(), "no producer id is given twice: {identities:?}");
    let expected: Vec<_> = (0..next).map(|number| Content::value(number.to_string())).collect();
    assert!(contents(read_all(&address, "resent", 0)) == expected);
    drop(server);
}
