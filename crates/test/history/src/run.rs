//! A shard on a disk that can lose power.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use daybook_apply::ShardState;
use daybook_event_store::EventStore;
use daybook_read::{Order, Reader};
use daybook_record::{STAMP_BYTES, stamp};
use daybook_shard::{Shard, ShardOptions, Storage, StorageOptions};
use daybook_sim::FaultDisk;
use daybook_types::{LeaderEpoch, NodeId, Offset, PartitionId, Position, ShardId, StreamVersion, TopicId};
use daybook_wal::{Options as WalOptions, SyncPolicy};
use daybook_world::{Disk, RealClock};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::journal::{Journal, Journaled};
use crate::workload::Acknowledged;

/// The files of one shard, and the shard when it runs.
pub struct Machine {
    pub disk: FaultDisk,
    /// The index store keeps its own files on the real disk: what it committed is durable, what it didn't is not there.
    index: TempDir,
    pub journal: Journal,
}

/// A shard at work.
pub struct Running {
    pub shard: Shard,
    pub reader: Reader,
    pub posted: Journaled,
    indexer: JoinHandle<()>,
}

impl Default for Machine {
    fn default() -> Self {
        let index = TempDir::new().expect("a temporary directory can be made");
        Self { disk: FaultDisk::new(), index, journal: Journal::default() }
    }
}

impl Machine {
    /// Starts the shard on what the disk holds. Small files and checkpoints, so that a short run sees many.
    pub async fn start(&self, checkpoint_wal_bytes: u64) -> Running {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let wal = WalOptions {
            segment_bytes: 128 * 1024,
            first_segment_bytes: 32 * 1024,
            spare_segments_max: 1,
            sync: SyncPolicy::Always,
        };
        let options = StorageOptions { wal, kv: daybook_kv::Options::default() };
        let storage = Storage::open(&disk, self.index.path(), Path::new("shard-0"), options).expect("the shard opens");
        let state = ShardState::restore(&storage.kv).expect("the checkpoint is readable");
        let reader = Reader::new(state.posted(), Arc::clone(&storage.files));
        let posted = self.journal.over(state);
        let options = ShardOptions {
            node: NodeId(1),
            shard: ShardId(0),
            in_flight_bytes_max: 1024 * 1024,
            checkpoint_wal_bytes,
            checkpoint_interval: Duration::from_secs(3600),
        };
        let shard =
            Shard::start(storage, posted.clone(), Arc::new(RealClock), options).await.expect("the shard starts");
        let store = EventStore::new(shard.door(), reader.clone(), daybook_event_store::Options::default());
        let indexer = tokio::spawn(daybook_event_store::keep_indexing(store));
        Running { shard, reader, posted, indexer }
    }

    /// Cuts the power under a running shard and leaves what the next start finds.
    pub async fn cut_power(&mut self, running: Running, seed: u64) {
        self.disk = self.disk.power_cut(seed);
        // The dead program's threads end before the next one opens the index store, which is not of this disk.
        running.stop().await;
    }
}

impl Running {
    /// Waits until no index is being built, so that nothing changes by itself any more.
    pub async fn settle(&self) {
        let mut building = self.reader.streams().building();
        building.wait_for(|building| !building).await.expect("the index outlives whoever waits for it");
    }

    /// An orderly stop.
    pub async fn stop(self) {
        let Self { shard, reader, posted, indexer } = self;
        indexer.abort();
        // It may be at work on a reader; that ends with it.
        let _ = indexer.await;
        shard.stop().await;
        drop((reader, posted));
    }

    /// Checks everything that must hold at a quiet moment.
    pub fn check(&self, journal: &Journal, acknowledged: &Acknowledged) {
        let live = self.posted.state.lock().digest();
        assert_eq!(live, journal.replay(), "replaying the log gives another state:\n{live}");
        let stored = self.read_everything();
        self.check_streams(&stored);
        for ((partition, offset), content) in &acknowledged.appends {
            if acknowledged.maybe_deleted.contains(&partition.topic) {
                continue;
            }
            // What was trimmed need not be there.
            if self.reader.partition(*partition).is_some_and(|ends| *offset < ends.start_offset) {
                continue;
            }
            let found = stored.get(&(*partition, *offset));
            assert_eq!(found, Some(content), "partition {partition} has lost or changed the batch at {offset}");
        }
    }

    /// Checks the index of streams against the records: every record of a topic whose index is ready stands in it once, versions are
    /// gapless, and each stream ends where its records do.
    fn check_streams(&self, stored: &BTreeMap<(PartitionId, Offset), Bytes>) {
        let index = self.reader.streams();
        let is_whole = |topic: TopicId| {
            let catalog = self.reader.catalog();
            let partitions = catalog.topic_by_id(topic).into_iter().flat_map(|topic| topic.partition_ids());
            partitions.filter_map(|id| self.reader.partition(id)).all(|ends| ends.start_offset == Offset(0))
        };
        // The index knows what was trimmed, the files don't.
        let ready = |topic| index.topic(topic).is_some_and(|topic| topic.is_ready()) && is_whole(topic);
        let mut indexed: BTreeMap<(PartitionId, Offset), Option<StreamVersion>> = BTreeMap::new();
        let mut at = Position(0);
        loop {
            let found = index.located(at, Order::Ascending, 100).expect("the index is readable");
            let Some(last) = found.last() else { break };
            for (number, located) in found.iter().enumerate() {
                assert_eq!(located.position, at.plus(number as u64), "positions have a gap");
                if let Some(partition) = located.partition_id().filter(|id| ready(id.topic)) {
                    let before = indexed.insert((partition, located.offset), located.version);
                    assert_eq!(before, None, "a record stands twice in the index");
                }
            }
            at = last.position.next();
        }
        let mut streams: BTreeMap<(TopicId, Bytes), Vec<StreamVersion>> = BTreeMap::new();
        for ((partition, base), content) in stored.iter().filter(|((partition, _), _)| ready(partition.topic)) {
            let mut whole = BytesMut::zeroed(STAMP_BYTES);
            whole.extend_from_slice(content);
            whole[..STAMP_BYTES].copy_from_slice(&stamp(*base, LeaderEpoch(0), content.len() + STAMP_BYTES));
            for record in daybook_record::records(&whole.freeze()).expect("the batch is readable") {
                let record = record.expect("the record is readable");
                let version = indexed.remove(&(*partition, record.offset)).expect("every record stands in the index");
                if let Some(key) = record.key {
                    let version = version.expect("a record with a key has a version");
                    streams.entry((partition.topic, key)).or_default().push(version);
                }
            }
        }
        assert!(indexed.is_empty(), "the index names records that are not there: {indexed:?}");
        for ((topic, name), mut versions) in streams {
            versions.sort();
            let expected: Vec<StreamVersion> = (0..versions.len() as u64).map(StreamVersion).collect();
            assert_eq!(versions, expected, "versions of {name:?} have gaps");
            let stream = index.stream(topic, &name).expect("the index is readable").expect("the stream is known");
            assert_eq!(stream.next, StreamVersion(versions.len() as u64));
            let places = index.places(topic, &name, StreamVersion(0), stream.next).expect("the index is readable");
            assert_eq!(places.len(), versions.len());
        }
    }

    /// Every batch of every partition by its base offset, without the bytes that the log sets.
    pub fn read_everything(&self) -> BTreeMap<(PartitionId, Offset), Bytes> {
        let mut all = BTreeMap::new();
        for topic in self.reader.catalog().topics() {
            for partition in topic.partition_ids() {
                let ends = self.reader.partition(partition).expect("a listed partition exists");
                let mut next = ends.start_offset;
                while next < ends.end_offset {
                    let fetched =
                        self.reader.read(partition, next, 64 * 1024, true).expect("the partition is readable");
                    for batch in daybook_record::batches(fetched.to_bytes().expect("the files are readable")) {
                        let (header, bytes) = batch.expect("whole batches are read");
                        daybook_record::check(&bytes).expect("no batch is damaged");
                        // A start may lie within a batch.
                        let is_next = header.base_offset == next || next == ends.start_offset;
                        assert!(is_next && header.next_offset() > next, "offsets of {partition} have a gap");
                        next = header.next_offset();
                        all.insert((partition, header.base_offset), bytes.slice(STAMP_BYTES..));
                    }
                    assert_eq!(next, fetched.next_offset);
                }
            }
        }
        all
    }
}
