//! Apply, checkpoint, recovery and fetch of a whole shard: `cargo bench -p daybook-bench`.

use daybook_bench::{BATCH_RECORDS, PARTITIONS, RECORD_BYTES, Running, copy, partition, state_and_entry};
use daybook_shard::{At, Posting};
use daybook_types::{Lsn, Offset, Term};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use tempfile::TempDir;

fn main() {
    divan::main();
}

const ROUND_BYTES: usize = PARTITIONS as usize * BATCH_RECORDS * RECORD_BYTES;

/// One entry with a batch for each partition.
#[divan::bench]
fn apply(bencher: Bencher<'_, '_>) {
    let (mut state, entry) = state_and_entry();
    let mut lsn = Lsn(2);
    bencher.counter(ItemsCount::new(PARTITIONS as usize)).bench_local(|| {
        lsn = lsn.next();
        if lsn.0.is_multiple_of(512) {
            // As a checkpoint does, or memory fills; its cost is spread over the entries.
            (state.take_content().published)();
        }
        state.apply(At { term: Term(1), lsn }, &entry)
    });
}

/// A checkpoint of so many batches a partition, from the word to stop until the thread has ended.
#[divan::bench(args = [16, 256], sample_count = 10)]
fn checkpoint(bencher: Bencher<'_, '_>, rounds: usize) {
    bencher
        .counter(BytesCount::new(rounds * ROUND_BYTES))
        .with_inputs(|| {
            let dir = TempDir::new().expect("a temporary directory can be made");
            let running = Running::start(dir.path());
            running.fill(rounds);
            (dir, running)
        })
        .bench_local_values(|(dir, running)| {
            running.stop();
            dir
        });
}

/// A start on a log that no checkpoint holds, until all of it is applied.
#[divan::bench(args = [16, 256], sample_count = 10)]
fn recovery(bencher: Bencher<'_, '_>, rounds: usize) {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let running = Running::start(dir.path());
    running.fill(rounds);
    let killed = copy(dir.path());
    bencher
        .counter(BytesCount::new(rounds * ROUND_BYTES))
        .with_inputs(|| copy(killed.path()))
        .bench_local_values(|dir| (Running::start(dir.path()), dir));
    running.stop();
}

/// Picking a mebibyte of records from memory.
#[divan::bench]
fn fetch_hot(bencher: Bencher<'_, '_>) {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let running = Running::start(dir.path());
    running.fill(128);
    bencher.counter(BytesCount::new(1024 * 1024usize)).bench_local(|| {
        running.reader.read(partition(3), Offset(100), 1024 * 1024, true).expect("the partition is readable")
    });
    running.stop();
}

/// Finding a mebibyte of records in a segment file: what goes to the socket by sendfile then.
#[divan::bench]
fn fetch_cold(bencher: Bencher<'_, '_>) {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let running = Running::start(dir.path());
    running.fill(128);
    running.stop();
    let running = Running::start(dir.path());
    bencher.counter(BytesCount::new(1024 * 1024usize)).bench_local(|| {
        running.reader.read(partition(3), Offset(100), 1024 * 1024, true).expect("the partition is readable")
    });
    running.stop();
}
