//! Of each key the latest record stays, at its offset, whatever happens while the others go.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use daybook_cleaner::{Compacted, Options, Worker};
use daybook_command::{AppendBatch, Command, CreateTopic, Outcome};
use daybook_history::{Machine, Running};
use daybook_read::Piece;
use daybook_record::{BatchBuilder, Compression, Record, batches, records, verify};
use daybook_types::{Offset, PartitionId, PartitionIndex, ProducerEpoch, ProducerId, TimestampMs, TopicId, TopicName};
use daybook_world::{Disk, RealClock};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const CHECKPOINT_WAL_BYTES: u64 = 24 * 1024;
const SEGMENT_BYTES: u64 = 6 * 1024;
const CODECS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

pub struct Log {
    machine: Machine,
    pub running: Running,
    /// All that was ever taken.
    pub written: BTreeMap<Offset, Record>,
    random: StdRng,
    sequence: i32,
}

pub fn topic() -> TopicId {
    TopicId::from_bytes([9; 16])
}

pub fn partition() -> PartitionId {
    PartitionId { topic: topic(), index: PartitionIndex(0) }
}

pub async fn propose(running: &Running, command: Command) -> Outcome {
    let applied = running.shard.door().propose(vec![command]).await.unwrap().await.unwrap();
    applied.outcomes.into_iter().next().unwrap()
}

impl Log {
    pub async fn open(seed: u64, configs: &[(&str, &str)]) -> Self {
        let machine = Machine::default();
        let running = machine.start(CHECKPOINT_WAL_BYTES).await;
        let segment_bytes = SEGMENT_BYTES.to_string();
        let mut all = vec![("segment.bytes", segment_bytes.as_str()), ("index.interval.bytes", "500")];
        all.extend(configs);
        let configs = all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let name = TopicName::new("ledger").unwrap();
        let create = CreateTopic { id: topic(), name, partitions: 1, configs };
        assert!(matches!(propose(&running, Command::CreateTopic(create)).await, Outcome::CreateTopic(Ok(()))));
        Self { machine, running, written: BTreeMap::new(), random: StdRng::seed_from_u64(seed), sequence: 0 }
    }

    pub async fn restart(self) -> Self {
        let Self { machine, running, written, random, sequence } = self;
        running.stop().await;
        let running = machine.start(CHECKPOINT_WAL_BYTES).await;
        Self { machine, running, written, random, sequence }
    }

    async fn cut_power(self, seed: u64) -> Self {
        let Self { mut machine, running, written, random, sequence } = self;
        machine.cut_power(running, seed).await;
        let running = machine.start(CHECKPOINT_WAL_BYTES).await;
        Self { machine, running, written, random, sequence }
    }

    /// A batch of one to four records, of few keys; some are tombstones, some come from an idempotent producer.
    async fn write(&mut self, keys: u32) {
        let mut records = Vec::new();
        for _ in 0..self.random.random_range(1..5) {
            let key = Bytes::from(format!("account-{}", self.random.random_range(0..keys)));
            let value = self.random.random_bool(0.8).then(|| {
                let mut value = vec![0; self.random.random_range(0..400)];
                self.random.fill(value.as_mut_slice());
                Bytes::from(value)
            });
            records.push((Some(key), value));
        }
        let codec = CODECS[self.random.random_range(0..CODECS.len())];
        let is_idempotent = self.random.random_bool(0.3);
        self.append(&records, codec, is_idempotent).await;
    }

    pub async fn append(&mut self, all: &[(Option<Bytes>, Option<Bytes>)], codec: Compression, is_idempotent: bool) {
        let mut builder = BatchBuilder::new(codec);
        if is_idempotent {
            builder = builder.producer(ProducerId(7), ProducerEpoch(0), self.sequence);
            self.sequence += all.len() as i32;
        }
        for (key, value) in all {
            let timestamp = TimestampMs(1_000 + self.random.random_range(0..1_000));
            builder.push(timestamp, key.as_deref(), value.as_deref(), &[]);
        }
        let batch = builder.build().unwrap();
        let append = AppendBatch { partition: partition(), batch: batch.clone() };
        let Outcome::AppendBatch(Ok(appended)) = propose(&self.running, Command::AppendBatch(append)).await else {
            panic!("the batch is refused");
        };
        for (number, record) in daybook_record::records(&batch).unwrap().enumerate() {
            let offset = Offset(appended.base_offset.0 + number as i64);
            self.written.insert(offset, Record { offset, ..record.unwrap() });
        }
    }

    pub fn worker(&self, key_map_bytes_max: u64) -> Worker {
        let options = Options { key_map_bytes_max, bytes_per_second_max: u64::MAX, ..Options::default() };
        Worker::new(self.running.shard.door(), self.running.reader.clone(), Arc::new(RealClock), options)
    }

    /// Compacts as often as it is worth it.
    pub async fn compact(&self, key_map_bytes_max: u64) -> Vec<Compacted> {
        let mut worker = self.worker(key_map_bytes_max);
        tokio::task::spawn_blocking(move || {
            let mut all = Vec::new();
            while let Some(compacted) = worker.compact().unwrap() {
                assert!(compacted.to > Offset(0), "a compaction failed");
                all.push(compacted);
            }
            all
        })
        .await
        .unwrap()
    }

    /// What a consumer finds that begins at `from` and reads to the end.
    pub fn read(&self, from: Offset) -> BTreeMap<Offset, Record> {
        let reader = &self.running.reader;
        let end = reader.partition(partition()).unwrap().end_offset;
        let mut all = BTreeMap::new();
        let mut next = from;
        while next < end {
            let fetched = reader.read(partition(), next, 2_000, true).unwrap();
            assert!(fetched.next_offset > next, "a consumer stands still at {next}");
            let mut whole = BytesMut::new();
            for piece in &fetched.pieces {
                match piece {
                    Piece::Memory(bytes) => whole.extend_from_slice(bytes),
                    Piece::File(slice) => whole.extend_from_slice(&slice.to_bytes().unwrap()),
                }
            }
            assert!(!whole.is_empty(), "there is nothing at {next}, and more behind it");
            for batch in batches(whole.freeze()) {
                let (header, bytes) = batch.unwrap();
                verify(&bytes).unwrap();
                assert!(header.next_offset() > next, "what was asked for is not in the first batch, nor after it");
                let found = records(&bytes).unwrap().map(Result::unwrap);
                all.extend(found.filter(|record| record.offset >= from).map(|record| (record.offset, record)));
            }
            next = fetched.next_offset;
        }
        assert_eq!(next, end.max(from), "the end is not reached");
        all
    }

    /// The latest record of each key among `records`.
    fn latest(records: &BTreeMap<Offset, Record>) -> BTreeMap<Bytes, Offset> {
        records.iter().filter_map(|(offset, record)| Some((record.key.clone()?, *offset))).collect()
    }

    /// What must hold at any moment. With `keeps_tombstones` no time of grace is over.
    fn check(&self, keeps_tombstones: bool) {
        let start = self.running.reader.partition(partition()).unwrap().start_offset;
        let found = self.read(start);
        for (offset, record) in &found {
            assert_eq!(self.written.get(offset), Some(record), "a record that was not there, or another one");
        }
        let latest = Self::latest(&found);
        for (key, offset) in Self::latest(&self.written) {
            if offset < start {
                continue;
            }
            let is_tombstone = self.written[&offset].value.is_none();
            match latest.get(&key) {
                Some(found) => assert_eq!(*found, offset, "an earlier value of {key:?} has come back"),
                None => assert!(is_tombstone && !keeps_tombstones, "the latest record of {key:?} is gone"),
            }
        }
        // From wherever a reader comes it finds the same.
        let end = self.running.reader.partition(partition()).unwrap().end_offset;
        for from in start.0..=end.0 {
            let rest: BTreeMap<_, _> = found.range(Offset(from)..).map(|(at, record)| (*at, record.clone())).collect();
            if from % 7 == 0 || from > end.0 - 3 {
                assert_eq!(self.read(Offset(from)), rest);
            }
        }
        if let Some(files) = self.running.reader.files().get(partition()) {
            files.verify(|_| {}).unwrap();
        }
        let live = self.running.posted.state.lock().digest();
        assert_eq!(live, self.machine.journal.replay(), "replaying the log gives another state");
    }

    /// Below where the files are compacted, each key stands once.
    fn check_compacted(&self) {
        let to = self.running.reader.files().get(partition()).unwrap().compacted_to();
        let mut keys = BTreeSet::new();
        for (offset, record) in self.read(Offset(0)).range(..to) {
            assert!(keys.insert(record.key.clone()), "{:?} stands twice, at {offset} too", record.key);
        }
    }

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
}

pub const PLENTY: u64 = 1024 * 1024;
pub const COMPACT: (&str, &str) = ("cleanup.policy", "compact");
pub const EAGER: (&str, &str) = ("min.cleanable.dirty.ratio", "0.01");
pub const NO_GRACE: (&str, &str) = ("delete.retention.ms", "0");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_keep_the_latest_of_each_key() {
    for seed in 0..4 {
        println!("seed {seed}");
        let keeps_tombstones = seed % 2 == 0;
        let grace = if keeps_tombstones { ("delete.retention.ms", "86400000") } else { NO_GRACE };
        let mut log = Log::open(seed, &[COMPACT, EAGER, grace]).await;
        for round in 0..4 {
            for _ in 0..log.random.random_range(20..60) {
                log.write(20).await;
            }
            log = log.restart().await;
            // Sometimes too little for all keys: then it takes several.
            let bytes = if log.random.random_bool(0.3) { 14 * daybook_cleaner::ENTRY_BYTES_MAX } else { PLENTY };
            let compacted = log.compact(bytes).await;
            assert!(!compacted.is_empty());
            log.check(keeps_tombstones);
            log.check_compacted();
            if round % 2 == 0 {
                log = log.cut_power(seed).await;
                log.check(keeps_tombstones);
                log.check_compacted();
            }
        }
        log.running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn power_cuts_in_the_middle_leave_nothing_wrong() {
    for seed in 0..3 {
        println!("seed {seed}");
        let keeps_tombstones = seed % 2 == 0;
        let grace = if keeps_tombstones { ("delete.retention.ms", "86400000") } else { NO_GRACE };
        let mut log = Log::open(seed, &[COMPACT, EAGER, grace]).await;
        for cut in 0..6 {
            for _ in 0..30 {
                log.write(12).await;
            }
            log = log.restart().await;
            let mut worker = log.worker(PLENTY);
            let stop = worker.stop();
            let working = tokio::task::spawn_blocking(move || while let Ok(Some(_)) = worker.compact() {});
            tokio::time::sleep(Duration::from_millis(log.random.random_range(0..40))).await;
            // The disk is as the power cut left it; what the dead program still does, it does to nothing.
            log.machine.disk = log.machine.disk.power_cut(seed * 100 + cut);
            stop.tell();
            working.await.unwrap();
            log = log.restart().await;
            log.check(keeps_tombstones);
        }
        log.compact(PLENTY).await;
        log.check(keeps_tombstones);
        log.check_compacted();
        log.running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn space_comes_back_and_small_segments_become_one() {
    let mut log = Log::open(1, &[COMPACT, EAGER, NO_GRACE]).await;
    for _ in 0..300 {
        log.write(6).await;
    }
    log = log.restart().await;
    let (bytes, segments) =
        (log.bytes_on_disk(), log.running.reader.files().get(partition()).unwrap().segments().len());
    let done = log.compact(PLENTY).await;
    assert_eq!(done.len(), 1);
    assert!(done[0].keys <= 6 && done[0].records_removed > 500, "{done:?}");
    let files = log.running.reader.files().get(partition()).unwrap();
    // What is left fits one segment; the last one was not touched.
    assert!(segments > 10 && files.segments().len() == 2, "{segments} segments became {:?}", files.segments());
    assert!(log.bytes_on_disk() * 5 < bytes);
    assert!(files.bytes() <= log.bytes_on_disk());
    log.check(false);
    log.check_compacted();
    // Nothing to do again.
    assert_eq!(log.compact(PLENTY).await, []);
    log.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tombstones_go_with_the_second_compaction_when_their_grace_is_over() {
    let mut log = Log::open(1, &[COMPACT, EAGER, NO_GRACE]).await;
    let filler = || (Some(Bytes::from_static(b"filler")), Some(Bytes::from(vec![5; SEGMENT_BYTES as usize / 2])));
    let gone = Bytes::from_static(b"gone");
    log.append(&[(Some(gone.clone()), Some(Bytes::from_static(b"value")))], Compression::None, false).await;
    log.append(&[filler()], Compression::None, false).await;
    log.append(&[(Some(gone.clone()), None)], Compression::None, false).await;
    for _ in 0..3 {
        log.append(&[filler(), filler()], Compression::None, false).await;
    }
    log = log.restart().await;
    let offsets = |log: &Log| -> Vec<i64> {
        let found = log.read(Offset(0)).into_iter();
        found.filter(|(_, record)| record.key.as_ref() == Some(&gone)).map(|(offset, _)| offset.0).collect()
    };
    assert_eq!(offsets(&log), [0, 2]);
    log.compact(PLENTY).await;
    assert_eq!(offsets(&log), [2], "whoever read the value learns that it is gone");
    for _ in 0..3 {
        log.append(&[filler(), filler()], Compression::None, false).await;
    }
    log = log.restart().await;
    log.compact(PLENTY).await;
    assert_eq!(offsets(&log), [0; 0]);
    log.check(false);
    log.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_without_key_go_when_a_topic_becomes_compacted() {
    let mut log = Log::open(1, &[COMPACT, EAGER]).await;
    let value = || Some(Bytes::from(vec![5; 2_000]));
    for number in 0..20 {
        let key = (number % 2 == 0).then(|| Bytes::from(format!("key-{number}")));
        log.append(&[(key, value())], Compression::None, false).await;
    }
    log = log.restart().await;
    log.compact(PLENTY).await;
    let to = log.running.reader.files().get(partition()).unwrap().compacted_to();
    assert!(to > Offset(10));
    assert!(log.read(Offset(0)).range(..to).all(|(_, record)| record.key.is_some()));
    log.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_topics_are_left_alone() {
    let mut log = Log::open(1, &[("cleanup.policy", "delete"), EAGER]).await;
    for _ in 0..60 {
        log.write(2).await;
    }
    log = log.restart().await;
    assert_eq!(log.compact(PLENTY).await, []);
    assert_eq!(log.read(Offset(0)), log.written);
    log.running.stop().await;
}
