//! What a checkpoint's part and reads cost.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use daybook_record::{BatchBuilder, Compression, stamp, verify};
use daybook_segment::{FileEnds, PartitionFiles, PartitionStore, Roll, StampedBatch};
use daybook_types::{LeaderEpoch, Offset, PartitionId, PartitionIndex, TimestampMs, TopicId};
use daybook_world::RealDisk;
use divan::Bencher;
use divan::counter::BytesCount;
use tempfile::TempDir;

fn main() {
    divan::main();
}

const ROLL: Roll = Roll { segment_bytes: 1 << 30, segment_ms: i64::MAX, index_interval_bytes: 4096 };
const BATCH_BYTES: usize = 16 * 1024;

struct Bed {
    dir: TempDir,
    store: PartitionStore,
}

impl Bed {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory for the bench");
        let store = open(dir.path());
        Self { dir, store }
    }
}

fn open(dir: &Path) -> PartitionStore {
    PartitionStore::open(Arc::new(RealDisk::open(dir).expect("opens")), Path::new("shard-0")).expect("opens")
}

fn partition(index: i32) -> PartitionId {
    PartitionId { topic: TopicId::from_bytes([7; 16]), index: PartitionIndex(index) }
}

fn batches(from: i64, count: i64) -> Vec<StampedBatch> {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(TimestampMs(1), None, Some(&vec![7; BATCH_BYTES]), &[]);
    let bytes: Bytes = builder.build().expect("not empty");
    let header = verify(&bytes).expect("sound");
    let batch = |offset| {
        let mut header = header;
        header.base_offset = Offset(offset);
        StampedBatch { head: stamp(Offset(offset), LeaderEpoch(0), bytes.len()), header, bytes: bytes.clone() }
    };
    (from..from + count).map(batch).collect()
}

fn filled(bed: &Bed, megabytes: i64) -> (Arc<PartitionFiles>, FileEnds) {
    let files = bed.store.get_or_create(partition(0));
    for step in 0..megabytes {
        files.append(&batches(step * 64, 64), ROLL).expect("appends");
    }
    files.sync().expect("syncs");
    files.publish();
    let ends = files.ends();
    (files, ends)
}

/// Without the fsync, which is the disk's.
#[divan::bench(sample_count = 50)]
fn append_16_mib(bencher: Bencher<'_, '_>) {
    let bed = Bed::new();
    let files = bed.store.get_or_create(partition(0));
    let mut next = 0;
    bencher
        .counter(BytesCount::new(1_024 * BATCH_BYTES))
        .with_inputs(|| {
            next += 1_024;
            batches(next - 1_024, 1_024)
        })
        .bench_local_values(|batches| {
            files.append(&batches, ROLL).expect("appends");
            files.publish();
        });
}

/// A checkpoint over many partitions with a little each: two fsyncs for each is what it costs.
#[divan::bench(args = [1, 16, 128], sample_count = 10)]
fn append_and_sync_partitions(bencher: Bencher<'_, '_>, partitions: i32) {
    let bed = Bed::new();
    let mut next = 0;
    bencher.bench_local(|| {
        for index in 0..partitions {
            let files = bed.store.get_or_create(partition(index));
            files.append(&batches(next, 2), ROLL).expect("appends");
            files.sync().expect("syncs");
            files.publish();
        }
        next += 2;
    });
}

#[divan::bench]
fn look_up_an_offset(bencher: Bencher<'_, '_>) {
    let bed = Bed::new();
    let (files, _) = filled(&bed, 256);
    let mut offset = 0;
    bencher.bench_local(|| {
        offset = (offset + 7_919) % (256 * 64);
        files.read(Offset(offset), 1).expect("reads")
    });
}

/// What the first fetch of a range costs over sendfile alone.
#[divan::bench]
fn check_64_mib_of_unread_data(bencher: Bencher<'_, '_>) {
    let bed = Bed::new();
    let (_, ends) = filled(&bed, 64);
    bencher
        .counter(BytesCount::new(64 * 64 * BATCH_BYTES))
        .with_inputs(|| open(bed.dir.path()).restore(partition(0), &ends).expect("restores"))
        .bench_local_values(|files| {
            let mut from = Offset(0);
            while let Some(slice) = files.read(from, 1 << 20).expect("reads") {
                from = slice.next_offset;
            }
        });
}
