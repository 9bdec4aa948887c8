//! A partition to test on, and batches for it.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use daybook_record::{BatchBuilder, BatchHeader, Compression, batches, stamp, verify};
use daybook_segment::{FileSlice, PartitionFiles, PartitionStore, Roll, StampedBatch};
use daybook_types::{LeaderEpoch, Offset, PartitionId, PartitionIndex, TimestampMs, TopicId};
use daybook_world::{Disk, RealDisk};
use tempfile::TempDir;

pub const ROLL: Roll = Roll { segment_bytes: 4_000, segment_ms: i64::MAX, index_interval_bytes: 300 };

pub fn partition(index: i32) -> PartitionId {
    PartitionId { topic: TopicId::from_bytes([7; 16]), index: PartitionIndex(index) }
}

/// A store on the real disk, in a directory that goes with it.
pub struct Bed {
    pub dir: TempDir,
    pub disk: Arc<dyn Disk>,
    pub store: PartitionStore,
}

impl Bed {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).unwrap());
        let store = open(&disk);
        Self { dir, disk, store }
    }

    pub fn files(&self) -> Arc<PartitionFiles> {
        self.store.get_or_create(partition(0))
    }

    /// As after a restart: nothing known, nothing checked.
    pub fn reopened(&self) -> Arc<PartitionFiles> {
        let ends = self.files().ends();
        open(&self.disk).restore(partition(0), &ends).unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        self.disk.list(&Path::new("shard-0/partitions").join(partition(0).to_string())).unwrap()
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("shard-0/partitions").join(partition(0).to_string()).join(name)
    }
}

pub fn open(disk: &Arc<dyn Disk>) -> PartitionStore {
    PartitionStore::open(disk.clone(), Path::new("shard-0")).unwrap()
}

/// A batch as it is stored: `records` records of `bytes` each from `base` on, at `timestamps` from the given one on.
pub fn stored(base: i64, records: i64, bytes: usize, timestamp: i64) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None).base_offset(Offset(base)).leader_epoch(LeaderEpoch(3));
    for number in 0..records {
        let value = vec![(base + number) as u8; bytes];
        builder.push(TimestampMs(timestamp + number), None, Some(&value), &[]);
    }
    builder.build().unwrap()
}

/// `stored` as the log hands it over: the stamp apart, and other bytes in its place.
pub fn stamped(stored: &Bytes) -> StampedBatch {
    let header = verify(stored).unwrap();
    let mut bytes = stored.to_vec();
    bytes[..8].fill(0xee);
    bytes[12..16].fill(0xee);
    StampedBatch { head: stamp(header.base_offset, header.leader_epoch, stored.len()), header, bytes: bytes.into() }
}

pub fn append(files: &PartitionFiles, batches: &[Bytes]) {
    let batches: Vec<_> = batches.iter().map(stamped).collect();
    files.append(&batches, ROLL).unwrap();
}

/// Appends, syncs and publishes.
pub fn add(files: &PartitionFiles, batches: &[Bytes]) {
    append(files, batches);
    files.sync().unwrap();
    files.publish();
}

/// The batches of a slice, each checked.
pub fn contents(slice: &FileSlice) -> Vec<(BatchHeader, Bytes)> {
    let bytes = slice.to_bytes().unwrap();
    assert_eq!(bytes.len(), slice.bytes);
    let found: Vec<_> = batches(bytes).collect::<Result<_, _>>().unwrap();
    for (_, batch) in &found {
        verify(batch).unwrap();
    }
    found
}

/// Everything from the start, in reads of about `bytes_max`.
pub fn read_all(files: &PartitionFiles, bytes_max: usize) -> Vec<Bytes> {
    let mut all = Vec::new();
    let mut from = Offset(0);
    while let Some(slice) = files.read(from, bytes_max).unwrap() {
        all.extend(contents(&slice).into_iter().map(|(_, batch)| batch));
        assert!(slice.next_offset > from);
        from = slice.next_offset;
    }
    all
}
