//! Space comes back: what streams keep no more goes from the files, everything else stays where it was, whatever happens meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use daybook_command::{AppendBatch, Command, CreatePartitions, CreateTopic, Outcome, TrimPartition};
use daybook_event::NewEvent;
use daybook_event_store::{
    AllFrom, Append, Delete, DeleteKind, Direction, EventStore, Expected, Filter, FollowFrom, Followed, Recorded,
    ScavengeReport, ScavengeState, StartScavengeError, StreamAppend, StreamFrom, StreamName, Target,
};
use daybook_history::{Machine, Running};
use daybook_record::{BatchBuilder, Compression, Record, batches, records, verify};
use daybook_types::{Offset, PartitionId, PartitionIndex, StreamVersion, TimestampMs, TopicId, TopicName};
use daybook_world::Disk;

const CHECKPOINT_WAL_BYTES: u64 = 64 * 1024;
const EVENT_BYTES: usize = 300;

struct Shop {
    machine: Machine,
    running: Running,
    store: EventStore,
}

fn topic() -> TopicId {
    TopicId::from_bytes([5; 16])
}

fn partition() -> PartitionId {
    PartitionId { topic: topic(), index: PartitionIndex(0) }
}

type Contents = BTreeMap<(PartitionId, Offset), Record>;

impl Shop {
    async fn open(partitions: i32, segment_bytes: Option<u64>) -> Self {
        let machine = Machine::default();
        let (running, store) = start(&machine).await;
        let mut configs = vec![("daybook.streams".to_owned(), "true".to_owned())];
        configs.extend(segment_bytes.map(|bytes| ("segment.bytes".to_owned(), bytes.to_string())));
        let name = TopicName::new("order").unwrap();
        let created =
            propose(&store, Command::CreateTopic(CreateTopic { id: topic(), name, partitions, configs })).await;
        assert!(matches!(created, Outcome::CreateTopic(Ok(_))), "{created:?}");
        Self { machine, running, store }
    }

    /// An orderly stop, after which all is in files, and a start.
    async fn restart(self) -> Self {
        let Self { machine, running, store } = self;
        drop(store);
        running.stop().await;
        let (running, store) = start(&machine).await;
        Self { machine, running, store }
    }

    async fn cut_power(self, seed: u64) -> Self {
        let Self { mut machine, running, store } = self;
        machine.cut_power(running, seed).await;
        // What it was at fails; its thread ends before another process could begin.
        store.scavenged().await;
        drop(store);
        let (running, store) = start(&machine).await;
        Self { machine, running, store }
    }

    /// Every record, as a Kafka consumer gets it.
    fn contents(&self) -> Contents {
        let mut all = Contents::new();
        for topic in self.running.reader.catalog().topics() {
            for partition in topic.partition_ids() {
                let ends = self.running.reader.partition(partition).unwrap();
                let mut next = ends.start_offset;
                while next < ends.end_offset {
                    let fetched = self.running.reader.read(partition, next, 20_000, true).unwrap();
                    assert!(fetched.next_offset > next, "a consumer stands still at {next}");
                    for batch in batches(fetched.to_bytes().unwrap()) {
                        let (header, bytes) = batch.unwrap();
                        verify(&bytes).unwrap();
                        assert!(header.next_offset() > next);
                        for record in records(&bytes).unwrap() {
                            let record = record.unwrap();
                            all.insert((partition, record.offset), record);
                        }
                    }
                    next = fetched.next_offset;
                }
                assert_eq!(next, ends.end_offset);
            }
        }
        all
    }

    /// Bytes of all partition files on the disk.
    fn bytes_on_disk(&self) -> u64 {
        let root = Path::new("shard-0/partitions");
        let disk = &self.machine.disk;
        let mut bytes = 0;
        for partition in disk.list(root).unwrap() {
            for file in disk.list(&root.join(&partition)).unwrap() {
                bytes += disk.open(&root.join(&partition).join(file)).unwrap().len().unwrap();
            }
        }
        bytes
    }

    async fn scavenge(&self) -> ScavengeReport {
        self.store.start_scavenge().unwrap();
        let report = self.store.scavenged().await.unwrap();
        assert_eq!(report.state, ScavengeState::Finished, "{report:?}");
        assert_eq!(report.segments_skipped, 0);
        report
    }

    async fn write(&self, stream: &str, count: usize) {
        self.append(stream, Expected::Any, count).await;
    }

    async fn append(&self, stream: &str, expected: Expected, count: usize) {
        let event = || NewEvent {
            id: fresh_id(),
            event_type: "placed".to_owned(),
            data: Bytes::from(vec![7; EVENT_BYTES]),
            ..NewEvent::default()
        };
        let events = (0..count).map(|_| event()).collect();
        let streams = vec![StreamAppend { stream: name(stream), expected, events }];
        self.store.append(Append { streams, ..Append::default() }).await.unwrap();
    }

    async fn describe(&self, stream: &str, json: &str) {
        let event = NewEvent {
            id: fresh_id(),
            event_type: "$metadata".to_owned(),
            data: Bytes::copy_from_slice(json.as_bytes()),
            ..NewEvent::default()
        };
        let streams =
            vec![StreamAppend { stream: name(&format!("$${stream}")), expected: Expected::Any, events: vec![event] }];
        self.store.append(Append { streams, ..Append::default() }).await.unwrap();
    }

    /// As a Kafka producer does it, compressed.
    async fn produce(&self, partition: PartitionId, key: Option<&str>, timestamp: i64) {
        let mut batch = BatchBuilder::new(Compression::Lz4);
        for _ in 0..2 {
            batch.push(TimestampMs(timestamp), key.map(str::as_bytes), Some(&[9; EVENT_BYTES]), &[]);
        }
        let append = AppendBatch { partition, batch: batch.build().unwrap() };
        let appended = propose(&self.store, Command::AppendBatch(append)).await;
        assert!(matches!(appended, Outcome::AppendBatch(Ok(_))), "{appended:?}");
    }

    async fn delete(&self, stream: &str, kind: DeleteKind) {
        self.store.delete(Delete { stream: name(stream), expected: Expected::Any, kind }).await.unwrap();
    }

    async fn stream(&self, stream: &str) -> Result<Vec<Recorded>, String> {
        let mut all = Vec::new();
        let mut from = StreamFrom::Start;
        loop {
            let page = self.store.read_stream(&name(stream), from, Direction::Forwards, 17).await;
            let page = page.map_err(|error| error.to_string())?;
            all.extend(page.events);
            match page.next {
                Some(next) => from = StreamFrom::Version(next),
                None => return Ok(all),
            }
        }
    }

    async fn all(&self, direction: Direction) -> Vec<Recorded> {
        let mut all = Vec::new();
        let mut from = if direction == Direction::Forwards { AllFrom::Start } else { AllFrom::End };
        loop {
            let page = self.store.read_all(from, direction, &Filter::default(), 40, 1000).await.unwrap();
            all.extend(page.events);
            from = page.next;
            if page.at_end {
                return all;
            }
        }
    }

    async fn followed(&self) -> Vec<Recorded> {
        let mut subscription = self.store.subscribe(Target::All(Filter::default()), FollowFrom::Start, 100);
        let mut all = Vec::new();
        loop {
            match subscription.next().await.unwrap().unwrap() {
                Followed::Event(event) => all.push(*event),
                Followed::CaughtUp { .. } => return all,
                Followed::Checkpoint(_) | Followed::FellBehind { .. } => {}
            }
        }
    }
}

async fn start(machine: &Machine) -> (Running, EventStore) {
    let running = machine.start(CHECKPOINT_WAL_BYTES).await;
    running.settle().await;
    let store = EventStore::new(running.shard.door(), running.reader.clone(), daybook_event_store::Options::default());
    (running, store)
}

async fn propose(store: &EventStore, command: Command) -> Outcome {
    store.door().propose(vec![command]).await.unwrap().await.unwrap().outcomes.remove(0)
}

fn name(stream: &str) -> StreamName {
    StreamName::new(stream).unwrap()
}

fn fresh_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// Offsets of the records of each key, in their order.
fn by_stream(contents: &Contents) -> BTreeMap<String, Vec<(PartitionId, Offset)>> {
    let mut streams: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (place, record) in contents {
        if let Some(key) = &record.key {
            streams.entry(String::from_utf8_lossy(key).into_owned()).or_default().push(*place);
        }
    }
    streams
}

/// Streams of every kind, and how many of the events of each stay.
async fn fill(shop: &Shop, rounds: usize) -> BTreeMap<String, usize> {
    let recently = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    for round in 0..rounds {
        for stream in ["order-kept", "order-truncated", "order-counted", "order-deleted", "order-ended", "order-reborn"]
        {
            shop.write(stream, 1 + round % 2).await;
        }
        shop.produce(partition(), None, 1_000).await;
        shop.produce(partition(), Some("order-aged"), 1_000).await;
        shop.produce(partition(), Some("order-all-old"), 1_000).await;
    }
    shop.produce(partition(), Some("order-aged"), recently).await;
    shop.describe("order-truncated", r#"{"$tb":3}"#).await;
    shop.describe("order-truncated", r#"{"$tb":20}"#).await;
    shop.describe("order-counted", r#"{"$maxCount":2}"#).await;
    shop.describe("order-aged", r#"{"$maxAge":3600}"#).await;
    shop.describe("order-all-old", r#"{"$maxAge":3600}"#).await;
    shop.delete("order-deleted", DeleteKind::Soft).await;
    shop.delete("order-reborn", DeleteKind::Soft).await;
    shop.append("order-reborn", Expected::NoStream, 3).await;
    shop.delete("order-ended", DeleteKind::Tombstone).await;
    let written: usize = (0..rounds).map(|round| 1 + round % 2).sum();
    let kept = [
        ("order-kept", written),
        ("order-truncated", written - 20),
        ("order-counted", 2),
        ("order-aged", 2),
        ("order-all-old", 1),
        ("order-deleted", 1),
        ("order-reborn", 3),
        ("order-ended", 1),
        ("$$order-truncated", 1),
        ("$$order-counted", 1),
        ("$$order-aged", 1),
        ("$$order-all-old", 1),
        ("$$order-deleted", 1),
        ("$$order-reborn", 1),
    ];
    kept.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// What must be there whatever a scavenge removed: the last events of each stream, and all that is of no stream.
fn must_stay(before: &Contents, kept: &BTreeMap<String, usize>) -> BTreeSet<(PartitionId, Offset)> {
    let mut stays: BTreeSet<_> =
        before.iter().filter(|(_, record)| record.key.is_none()).map(|(place, _)| *place).collect();
    for (stream, places) in by_stream(before) {
        let count = kept.get(&stream).unwrap_or_else(|| panic!("{stream} is not foreseen"));
        stays.extend(&places[places.len() - count..]);
    }
    stays
}

/// What is left is what was there, and nothing that must stay is missing. Returns how much went.
fn check_left(before: &Contents, after: &Contents, stays: &BTreeSet<(PartitionId, Offset)>) -> usize {
    for (place, record) in after {
        assert_eq!(before.get(place), Some(record), "a record that was not there, or another one, at {place:?}");
    }
    for place in stays {
        assert!(after.contains_key(place), "the record at {place:?} is gone: {:?}", before[place].key);
    }
    before.len() - after.len()
}

const STREAMS: [&str; 8] = [
    "order-kept",
    "order-truncated",
    "order-counted",
    "order-aged",
    "order-all-old",
    "order-deleted",
    "order-reborn",
    "order-ended",
];

async fn read_streams(shop: &Shop) -> Vec<Result<Vec<Recorded>, String>> {
    let mut read = Vec::new();
    for stream in STREAMS {
        read.push(shop.stream(stream).await);
    }
    read
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_streams_keep_no_more_goes_and_nothing_else_changes() {
    let shop = Shop::open(1, Some(16 * 1024)).await;
    let kept = fill(&shop, 60).await;
    let shop = shop.restart().await;
    let before = shop.contents();
    let stays = must_stay(&before, &kept);
    let (streams, all, disk) = (read_streams(&shop).await, shop.all(Direction::Forwards).await, shop.bytes_on_disk());
    assert_eq!(all.len(), before.len());
    let files = shop.running.reader.files().get(partition()).unwrap();
    let (bytes, end) = (files.bytes(), shop.store.end());

    let report = shop.scavenge().await;
    let after = shop.contents();
    let removed = check_left(&before, &after, &stays);
    assert_eq!(report.events_removed, removed as u64);
    assert_eq!((report.partitions, report.partitions_done), (1, 1));
    assert!(report.segments >= report.segments_rewritten && report.segments_rewritten > 5, "{report:?}");
    // Nearly all garbage went: less than a twentieth of a segment may stay.
    let garbage = before.len() - stays.len();
    assert!(removed * 10 > garbage * 9, "{removed} of {garbage}");
    assert_eq!(files.bytes(), bytes - report.bytes_freed);
    assert!(disk - shop.bytes_on_disk() >= report.bytes_freed, "the files are still there");
    assert!(report.bytes_freed * 2 > bytes, "{report:?} of {bytes}");
    files.verify(|_| {}).unwrap();

    // Nobody who reads streams sees a difference; who reads everything finds what is left, where it was.
    assert_eq!(read_streams(&shop).await, streams);
    let left: Vec<Recorded> =
        all.into_iter().filter(|event| after.contains_key(&(event.partition, event.offset))).collect();
    assert_eq!(shop.all(Direction::Forwards).await, left);
    let mut backwards = shop.all(Direction::Backwards).await;
    backwards.reverse();
    assert_eq!(backwards, left);
    assert_eq!(shop.followed().await, left);
    assert_eq!(shop.store.end(), end);

    // So it is after a restart and after a power cut.
    let shop = shop.restart().await;
    assert_eq!(shop.contents(), after);
    let shop = shop.cut_power(3).await;
    assert_eq!(shop.contents(), after);
    assert_eq!(read_streams(&shop).await, streams);

    // A second run finds nothing worth writing.
    let again = shop.scavenge().await;
    assert_eq!((again.segments_rewritten, again.bytes_freed), (0, 0), "{again:?}");

    // Versions and expectations go on.
    let next = shop.store.stream_info(&name("order-counted")).await.unwrap().next_version;
    shop.append("order-counted", Expected::Exact(StreamVersion(next.0 - 1)), 1).await;
    shop.append("order-deleted", Expected::SoftDeleted, 1).await;
    assert_eq!(shop.stream("order-deleted").await.unwrap().len(), 1);
    assert!(shop.stream("order-ended").await.is_err());
    shop.restart().await.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_it_is_begun_again() {
    let mut shop = Shop::open(1, Some(8 * 1024)).await;
    let kept = fill(&shop, 40).await;
    shop = shop.restart().await;
    let before = shop.contents();
    let stays = must_stay(&before, &kept);
    let streams = read_streams(&shop).await;
    // While it writes, while it waits for its checkpoint, and after that.
    for (seed, after_ms) in [0, 2, 5, 10, 20, 300, 1_100].into_iter().enumerate() {
        shop.store.start_scavenge().unwrap();
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        shop = shop.cut_power(seed as u64).await;
        check_left(&before, &shop.contents(), &stays);
        assert_eq!(read_streams(&shop).await, streams);
        shop.running.reader.files().get(partition()).unwrap().verify(|_| {}).unwrap();
    }
    shop.scavenge().await;
    let removed = check_left(&before, &shop.contents(), &stays);
    assert!(removed * 10 > (before.len() - stays.len()) * 9);
    shop.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_segment_that_is_written_to_is_scavenged_too() {
    let shop = Shop::open(1, None).await;
    shop.write("order-1", 200).await;
    shop.write("order-2", 20).await;
    shop.delete("order-1", DeleteKind::Soft).await;
    let shop = shop.restart().await;
    let disk = shop.bytes_on_disk();
    // Others write meanwhile.
    let writing = async {
        for _ in 0..300 {
            shop.write("order-3", 1).await;
        }
    };
    let (report, ()) = tokio::join!(shop.scavenge(), writing);
    assert!(report.events_removed > 150, "{report:?}");
    let shop = shop.restart().await;
    assert_eq!(shop.stream("order-2").await.unwrap().len(), 20);
    assert_eq!(shop.stream("order-3").await.unwrap().len(), 300);
    shop.delete("order-3", DeleteKind::Soft).await;
    let shop = shop.restart().await;
    shop.scavenge().await;
    assert!(shop.bytes_on_disk() < disk / 2);
    assert_eq!(shop.running.reader.files().get(partition()).unwrap().segments().len(), 2);
    shop.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_moved_to_another_partition_keep_what_they_keep() {
    let shop = Shop::open(1, Some(4 * 1024)).await;
    let names: Vec<String> = (0..12).map(|number| format!("order-{number}")).collect();
    for _ in 0..10 {
        for name in &names {
            shop.write(name, 1).await;
        }
    }
    for total in [2, 5] {
        let grown = propose(&shop.store, Command::CreatePartitions(CreatePartitions { id: topic(), total })).await;
        assert!(matches!(grown, Outcome::CreatePartitions(Ok(_))), "{grown:?}");
        for _ in 0..10 {
            for name in &names {
                shop.write(name, 1).await;
            }
        }
    }
    // Some are cut in their first partition, some in a later one, some keep only their last, some all.
    for (number, name) in names.iter().enumerate() {
        match number % 4 {
            0 => shop.describe(name, r#"{"$tb":5}"#).await,
            1 => shop.describe(name, r#"{"$tb":15}"#).await,
            2 => shop.describe(name, r#"{"$maxCount":1}"#).await,
            _ => {}
        }
    }
    let shop = shop.restart().await;
    let mut before = Vec::new();
    for name in &names {
        before.push(shop.stream(name).await.unwrap());
    }
    let disk = shop.bytes_on_disk();
    let report = shop.scavenge().await;
    assert_eq!(report.partitions, 5);
    assert!(shop.bytes_on_disk() * 10 < disk * 7, "{report:?} of {disk}");
    for (name, before) in names.iter().zip(&before) {
        assert_eq!(&shop.stream(name).await.unwrap(), before, "{name}");
    }
    shop.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_runs_at_a_time_and_can_be_stopped() {
    let shop = Shop::open(1, Some(8 * 1024)).await;
    assert_eq!(shop.store.scavenge_report(), None);
    assert_eq!(shop.store.stop_scavenge().await, None);
    fill(&shop, 20).await;
    let shop = shop.restart().await;
    let started = shop.store.start_scavenge().unwrap();
    // It waits for a checkpoint at least.
    let second = shop.store.clone().start_scavenge();
    assert_eq!(second, Err(StartScavengeError::Running { id: started.id.clone() }));
    let stopped = shop.store.stop_scavenge().await.unwrap();
    assert_eq!((stopped.id, stopped.state), (started.id, ScavengeState::Stopped));
    assert!(stopped.ended.is_some());
    assert_eq!(shop.store.stop_scavenge().await, None);
    shop.scavenge().await;
    shop.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_without_streams_is_left_alone() {
    let shop = Shop::open(1, Some(4 * 1024)).await;
    let plain = TopicId::from_bytes([6; 16]);
    let name = TopicName::new("plain").unwrap();
    let configs = vec![("segment.bytes".to_owned(), "4096".to_owned())];
    propose(&shop.store, Command::CreateTopic(CreateTopic { id: plain, name, partitions: 1, configs })).await;
    let partition = PartitionId { topic: plain, index: PartitionIndex(0) };
    for _ in 0..50 {
        shop.produce(partition, Some("$$order-1"), 1_000).await;
    }
    let shop = shop.restart().await;
    let before = shop.contents();
    let report = shop.scavenge().await;
    assert_eq!((report.partitions, report.events_removed), (1, 0));
    assert_eq!(shop.contents(), before);
    shop.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_latest_record_is_another_one_after_it_went() {
    let shop = Shop::open(1, Some(4 * 1024)).await;
    let late = 4_000_000_000_000;
    for round in 0..10 {
        shop.write("order-kept", 1).await;
        // Compressed to next to nothing, so others have to go with it.
        shop.produce(partition(), Some("order-late"), late + round).await;
        shop.write("order-late", 2).await;
    }
    shop.delete("order-late", DeleteKind::Soft).await;
    let shop = shop.restart().await;
    let latest = |shop: &Shop| {
        let all = shop.contents();
        let latest = all.values().map(|record| record.timestamp).max().unwrap();
        let first = all.values().find(|record| record.timestamp == latest).unwrap();
        (first.offset, first.timestamp)
    };
    let before = latest(&shop);
    assert_eq!(before.1, TimestampMs(late + 9));
    assert_eq!(shop.running.reader.max_timestamp(partition()).unwrap(), Some(before));
    shop.scavenge().await;
    let after = latest(&shop);
    assert!(after.1 < TimestampMs(late));
    assert_eq!(shop.running.reader.max_timestamp(partition()).unwrap(), Some(after));
    // With something in memory, too, before files have it.
    shop.produce(partition(), None, late - 1).await;
    assert_eq!(shop.running.reader.max_timestamp(partition()).unwrap(), Some(latest(&shop)));
    shop.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_trimmed_from_an_event_topic_is_gone_for_readers_of_streams_too() {
    let shop = Shop::open(1, Some(4 * 1024)).await;
    for _ in 0..10 {
        shop.write("order-1", 2).await;
        shop.write("order-2", 1).await;
    }
    shop.write("order-3", 1).await;
    let all = shop.all(Direction::Forwards).await;
    let trim = TrimPartition { partition: partition(), to: Some(Offset(16)) };
    let trimmed = propose(&shop.store, Command::TrimPartition(trim)).await;
    assert_eq!(trimmed, Outcome::TrimPartition(Ok(Offset(16))));
    let left = || all.iter().filter(|event| event.offset >= Offset(16)).cloned().collect::<Vec<_>>();
    let shop = shop.restart().await;
    assert_eq!(shop.all(Direction::Forwards).await, left());
    assert_eq!(shop.followed().await, left());
    for stream in ["order-1", "order-2", "order-3"] {
        let of_stream: Vec<_> = left().into_iter().filter(|event| event.stream == Some(name(stream))).collect();
        assert_eq!(shop.stream(stream).await.unwrap(), of_stream, "{stream}");
    }
    // Versions and expectations go on.
    shop.append("order-1", Expected::Exact(StreamVersion(19)), 1).await;
    shop.append("order-3", Expected::Exact(StreamVersion(0)), 1).await;
    // All of it gone.
    let trim = TrimPartition { partition: partition(), to: None };
    propose(&shop.store, Command::TrimPartition(trim)).await;
    assert_eq!(shop.all(Direction::Forwards).await, []);
    assert_eq!(shop.stream("order-1").await.unwrap(), []);
    shop.append("order-1", Expected::Exact(StreamVersion(20)), 1).await;
    assert_eq!(shop.stream("order-1").await.unwrap().len(), 1);
    shop.restart().await.running.stop().await;
}
