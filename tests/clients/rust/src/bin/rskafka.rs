//! rskafka on the Kafka door; `../python/scenarios.py` says more of each scenario. This client knows topics, and reads and
//! writes one partition at a time; it always waits for acknowledgement by all.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use clients::{equal, eventually, restart_server, scenarios, soon};
use rskafka::BackoffConfig;
use rskafka::chrono::DateTime;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::{Record, RecordAndOffset};

const CODECS: [Compression; 5] =
    [Compression::NoCompression, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

/// Everything of a partition, in one answer if the server has it.
const ROOMY: std::ops::Range<i32> = 1..50_000_000;

fn main() -> ExitCode {
    clients::main_lacking(
        scenarios![
            topics,
            topics_refused,
            many_topics,
            delete_records,
            codecs,
            null_and_empty,
            headers,
            timestamps,
            size_limit,
            pipelined,
            positions,
            out_of_range,
            mid_batch,
            times,
            long_poll,
            expected_version,
            server_restart
        ],
        &[
            ("commits", "rskafka has no groups"),
            ("transactions", "rskafka has no transactions"),
            ("configs", "rskafka knows no configs"),
            ("idempotent", "rskafka has no idempotent producer"),
        ],
    )
}

struct Door {
    client: Client,
    prefix: String,
}

impl Door {
    async fn open(address: &str, prefix: String) -> Self {
        let backoff = BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_millis(200),
            base: 2.0,
            deadline: Some(clients::PATIENCE),
        };
        let client = ClientBuilder::new(vec![address.to_owned()]).backoff_config(backoff).build().await.unwrap();
        Self { client, prefix }
    }

    fn name(&self, number: usize) -> String {
        format!("{}-{number}", self.prefix)
    }

    async fn try_create(&self, topic: &str, replicas: i16) -> Result<(), Error> {
        self.client.controller_client().unwrap().create_topic(topic, 2, replicas, 5_000).await
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        self.client.controller_client().unwrap().delete_topic(topic, 5_000).await
    }

    async fn topics(&self) -> BTreeMap<String, usize> {
        let topics = self.client.list_topics().await.unwrap();
        topics.into_iter().map(|topic| (topic.name, topic.partitions.len())).collect()
    }

    async fn partition(&self, topic: &str, partition: i32) -> PartitionClient {
        self.client.partition_client(topic, partition, UnknownTopicHandling::Retry).await.unwrap()
    }

    /// The first partition of a new topic of two.
    async fn fresh(&self, number: usize) -> PartitionClient {
        self.try_create(&self.name(number), 1).await.unwrap();
        self.partition(&self.name(number), 0).await
    }
}

fn record(value: impl Into<Vec<u8>>) -> Record {
    at(1, value)
}

fn at(milliseconds: i64, value: impl Into<Vec<u8>>) -> Record {
    let timestamp = DateTime::from_timestamp_millis(milliseconds).expect("a time of this millennium");
    Record { key: None, value: Some(value.into()), headers: BTreeMap::new(), timestamp }
}

fn numbered(range: std::ops::Range<usize>) -> Vec<Record> {
    range.map(|n| record(n.to_string())).collect()
}

async fn write(partition: &PartitionClient, records: &[Record]) -> Vec<i64> {
    soon("an acknowledgement", partition.produce(records.to_vec(), Compression::NoCompression)).await.unwrap()
}

/// So many records from an offset on.
async fn read(partition: &PartitionClient, offset: i64, count: usize) -> Vec<RecordAndOffset> {
    let all = async {
        let (mut next, mut got) = (offset, Vec::new());
        while got.len() < count {
            let (records, _) = partition.fetch_records(next, ROOMY, 200).await.unwrap();
            got.extend(records);
            next = got.last().map_or(offset, |each: &RecordAndOffset| each.offset + 1);
        }
        got
    };
    soon(&format!("{count} records"), all).await
}

/// What was read is what was sent, and its offsets have no gap.
fn same(sent: &[Record], got: &[RecordAndOffset], first: i64) {
    equal(sent.len(), got.len(), "number of records");
    for (n, (want, have)) in sent.iter().zip(got).enumerate() {
        equal(want, &have.record, &format!("record {n}"));
        equal(first + n as i64, have.offset, &format!("offset of record {n}"));
    }
}

fn refused<T: std::fmt::Debug>(want: ProtocolError, result: Result<T, Error>, what: &str) {
    match result {
        Err(Error::ServerError { protocol_error, .. }) => equal(want, protocol_error, what),
        other => panic!("{what}: want {want}, got {other:?}"),
    }
}

fn noise(size: usize) -> Vec<u8> {
    let mut state = size as u64 + 1;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..size).map(step).collect()
}

async fn topics(address: String, prefix: String) {
    let door = Door::open(&address, prefix).await;
    let partition = door.fresh(1).await;
    door.fresh(2).await;
    let (first, second) = (door.name(1), door.name(2));
    equal(Some(&2), door.topics().await.get(&first), "partitions");
    write(&partition, &numbered(0..5)).await;
    door.delete(&first).await.unwrap();
    eventually("it is gone", async || !door.topics().await.contains_key(&first)).await;
    equal(Some(&2), door.topics().await.get(&second), "the other topic is still there");
    let again = door.fresh(1).await;
    equal(0, again.get_offset(OffsetAt::Latest).await.unwrap(), "the new topic of that name is empty");
    write(&again, &numbered(0..2)).await;
    same(&numbered(0..2), &read(&again, 0, 2).await, 0);
}

async fn topics_refused(address: String, prefix: String) {
    let door = Door::open(&address, prefix).await;
    door.fresh(1).await;
    refused(ProtocolError::TopicAlreadyExists, door.try_create(&door.name(1), 1).await, "a name that is taken");
    for bad in [".", "..", "a b", "a/b", &"x".repeat(250)] {
        refused(ProtocolError::InvalidTopicException, door.try_create(bad, 1).await, bad);
    }
    refused(ProtocolError::InvalidReplicationFactor, door.try_create(&door.name(2), 3).await, "more than nodes");
}

async fn many_topics(address: String, prefix: String) {
    let door = Door::open(&address, prefix).await;
    let names: Vec<String> = (0..50).map(|number| door.name(number)).collect();
    for number in 0..names.len() {
        write(&door.fresh(number).await, &[record(names[number].clone())]).await;
    }
    let listed = door.topics().await;
    for name in &names {
        equal(Some(&2), listed.get(name), "partitions as listed");
        let got = read(&door.partition(name, 0).await, 0, 1).await;
        same(&[record(name.clone())], &got, 0);
    }
    for name in &names {
        door.delete(name).await.unwrap();
    }
    eventually("all are gone", async || {
        let listed = door.topics().await;
        !names.iter().any(|name| listed.contains_key(name))
    })
    .await;
}

async fn delete_records(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    write(&partition, &numbered(0..20)).await;
    partition.delete_records(7, 5_000).await.unwrap();
    equal(7, partition.get_offset(OffsetAt::Earliest).await.unwrap(), "the beginning");
    same(&numbered(7..20), &read(&partition, 7, 13).await, 7);
    refused(ProtocolError::OffsetOutOfRange, partition.delete_records(21, 5_000).await, "more than there is");
    refused(ProtocolError::OffsetOutOfRange, partition.fetch_records(6, ROOMY, 100).await, "what is gone");
}

async fn codecs(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    let mut all = Vec::new();
    for codec in CODECS {
        let records: Vec<Record> = (0..300_usize)
            .map(|n| Record {
                key: Some(format!("{codec:?}-{n}").into_bytes()),
                headers: BTreeMap::from([("codec".to_owned(), format!("{codec:?}").into_bytes())]),
                // Every third value is incompressible, the others are all but empty of information.
                ..at(n as i64, if n % 3 == 0 { noise(700 + n) } else { format!("{codec:?}").repeat(n % 50).into() })
            })
            .collect();
        let first = all.len() as i64;
        let want: Vec<i64> = (first..first + 300).collect();
        equal(want, partition.produce(records.clone(), codec).await.unwrap(), "offsets in the answer");
        all.extend(records);
    }
    same(&all, &read(&partition, 0, all.len()).await, 0);
}

async fn null_and_empty(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    let contents = || [None, Some(Vec::new()), Some(b"text".to_vec())];
    let pairs = contents().into_iter().flat_map(|key| contents().map(|value| (key.clone(), value)));
    let records: Vec<Record> = pairs.map(|(key, value)| Record { key, value, ..record("") }).collect();
    write(&partition, &records).await;
    same(&records, &read(&partition, 0, records.len()).await, 0);
}

async fn headers(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    let rich = [("bytes", vec![0, 255, 128]), ("empty", vec![]), ("ключ", b"not ascii".to_vec())];
    let records = [
        Record { headers: rich.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(), ..record("rich") },
        Record { headers: (0..500).map(|n| (format!("h{n}"), vec![n as u8])).collect(), ..record("many") },
        record("none"),
    ];
    write(&partition, &records).await;
    same(&records, &read(&partition, 0, 3).await, 0);
}

async fn timestamps(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    let records = [1, 1_700_000_000_123, 5, 1_600_000_000_000].map(|moment| at(moment, "v"));
    write(&partition, &records).await;
    same(&records, &read(&partition, 0, 4).await, 0);
}

async fn size_limit(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    // The limit is on the batch: 61 bytes of head, and 11 around one keyless value of about a mebibyte.
    let largest = 1_048_588 - 61 - 11;
    let records = [record(noise(largest)), record("small")];
    write(&partition, &records[..1]).await;
    for size in [largest + 1, 2_500_000] {
        let result = partition.produce(vec![record(noise(size))], Compression::NoCompression).await;
        refused(ProtocolError::MessageTooLarge, result, &format!("{size} bytes"));
    }
    write(&partition, &records[1..]).await;
    same(&records, &read(&partition, 0, 2).await, 0);
}

/// Many requests are under way at once on one connection.
async fn pipelined(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    let sent = futures::future::join_all((0..200).map(|n| {
        let records = numbered(n * 10..n * 10 + 10);
        partition.produce(records, Compression::NoCompression)
    }));
    let answers: Vec<Vec<i64>> = soon("all", sent).await.into_iter().map(Result::unwrap).collect();
    let got = read(&partition, 0, 2_000).await;
    for (n, offsets) in answers.iter().enumerate() {
        let first = offsets[0] as usize;
        same(&numbered(n * 10..n * 10 + 10), &got[first..first + 10], offsets[0]);
    }
}

async fn positions(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    write(&partition, &numbered(0..100)).await;
    equal(0, partition.get_offset(OffsetAt::Earliest).await.unwrap(), "the beginning");
    equal(100, partition.get_offset(OffsetAt::Latest).await.unwrap(), "the end");
    same(&numbered(97..100), &read(&partition, 97, 3).await, 97);
    let (records, end) = partition.fetch_records(100, ROOMY, 100).await.unwrap();
    equal((0, 100), (records.len(), end), "nothing more, and the high watermark");
}

async fn out_of_range(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    write(&partition, &numbered(0..10)).await;
    refused(ProtocolError::OffsetOutOfRange, partition.fetch_records(1_000, ROOMY, 100).await, "beyond the end");
}

async fn mid_batch(address: String, prefix: String) {
    let door = Door::open(&address, prefix).await;
    for (number, codec) in CODECS.into_iter().enumerate() {
        let partition = door.fresh(number).await;
        for n in 0..3 {
            partition.produce(numbered(n * 50..n * 50 + 50), codec).await.unwrap();
        }
        for offset in [0, 1, 49, 50, 51, 149] {
            same(&numbered(offset..150), &read(&partition, offset as i64, 150 - offset).await, offset as i64);
        }
    }
}

async fn times(address: String, prefix: String) {
    let door = Door::open(&address, prefix).await;
    let (alone, together) = (door.fresh(1).await, door.fresh(2).await);
    let records = [100, 300, 200, 300, 500].map(|moment| at(moment, moment.to_string()));
    // Batches of their own first, then all in one batch, where the search goes on inside it.
    for each in &records {
        write(&alone, std::slice::from_ref(each)).await;
    }
    write(&together, &records).await;
    for (asked, offset) in [(1, 0), (100, 0), (101, 1), (200, 1), (300, 1), (301, 4), (500, 4), (501, -1)] {
        let moment = DateTime::from_timestamp_millis(asked).unwrap();
        for partition in [&alone, &together] {
            let found = partition.get_offset(OffsetAt::Timestamp(moment)).await.unwrap();
            equal(offset, found, &format!("first at or after {asked}"));
        }
    }
}

/// A fetch that waits at the server is answered by the write, not by its time running out.
async fn long_poll(address: String, prefix: String) {
    let door = Door::open(&address, prefix).await;
    let writer = door.fresh(1).await;
    let reader = door.partition(&door.name(1), 0).await;
    let waiting = tokio::spawn(async move { reader.fetch_records(0, ROOMY, 120_000).await.unwrap().0 });
    tokio::time::sleep(Duration::from_millis(200)).await;
    write(&writer, &numbered(0..1)).await;
    same(&numbered(0..1), &soon("the write wakes the fetch", waiting).await.unwrap(), 0);
}

/// Without the topic config the header means nothing; this client cannot set it.
async fn expected_version(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    let headers = BTreeMap::from([("daybook-expected-version".to_owned(), b"7".to_vec())]);
    let records = [Record { headers, ..record("plain") }];
    write(&partition, &records).await;
    same(&records, &read(&partition, 0, 1).await, 0);
}

/// What was acknowledged is there after the server was killed, and the client goes on.
async fn server_restart(address: String, prefix: String) {
    let partition = Door::open(&address, prefix).await.fresh(1).await;
    write(&partition, &numbered(0..50)).await;
    restart_server().await;
    equal((50..60).collect::<Vec<i64>>(), write(&partition, &numbered(50..60)).await, "offsets");
    same(&numbered(0..60), &read(&partition, 0, 60).await, 0);
}
