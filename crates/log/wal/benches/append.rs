//! One writer, one record at a time, durable: the WAL beside bare pwrite and fdatasync on a preallocated file of the
//! same disk.
//!
//! `cargo bench -p daybook-wal`; the files lie in the system's directory for temporary files (`TMPDIR`).

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bytes::Bytes;
use daybook_types::{Lsn, Term};
use daybook_wal::{Failure, Options, RecordRef, SyncPolicy, Wal};
use daybook_world::RealDisk;
use divan::Bencher;
use divan::counter::ItemsCount;

const PAYLOAD_BYTES: usize = 1024;
const SEGMENT_BYTES: u64 = 64 << 20;

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 3000, sample_size = 1)]
fn bare_pwrite_and_fdatasync(bencher: Bencher) {
    let dir = tempfile::tempdir().unwrap();
    let file = File::create(dir.path().join("bare")).unwrap();
    let zeros = vec![0; 1 << 20];
    for at in 0..SEGMENT_BYTES >> 20 {
        file.write_all_at(&zeros, at << 20).unwrap();
    }
    file.sync_all().unwrap();
    let record = vec![7; 48 + PAYLOAD_BYTES];
    let mut at = 0;
    bencher.counter(ItemsCount::new(1_u32)).bench_local(|| {
        file.write_all_at(&record, at).unwrap();
        file.sync_data().unwrap();
        at = (at + record.len() as u64) % (SEGMENT_BYTES - record.len() as u64);
    });
}

struct Log {
    wal: Wal,
    payload: [Bytes; 1],
    next: Lsn,
    done: SyncSender<Result<(), Failure>>,
    result: Receiver<Result<(), Failure>>,
    _dir: tempfile::TempDir,
}

impl Log {
    fn open(sync: SyncPolicy, payload_bytes: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let disk = Arc::new(RealDisk::open(dir.path()).unwrap());
        let options = Options { first_segment_bytes: SEGMENT_BYTES, sync, ..Options::default() };
        let (wal, _) = Wal::open(disk, Path::new("wal"), options).unwrap();
        let (done, result) = sync_channel(1);
        Self { wal, payload: [vec![7; payload_bytes].into()], next: Lsn(0), done, result, _dir: dir }
    }

    fn append_and_wait(&mut self) {
        let record = RecordRef { term: Term(1), lsn: self.next, kind: 0, parts: &self.payload };
        let done = self.done.clone();
        self.wal.append(&[record], move |result| done.send(result).unwrap()).unwrap();
        self.result.recv().unwrap().unwrap();
        self.next = self.next.next();
    }
}

#[divan::bench(sample_count = 3000, sample_size = 1)]
fn wal_append_and_wait(bencher: Bencher) {
    let mut log = Log::open(SyncPolicy::Always, PAYLOAD_BYTES);
    bencher.counter(ItemsCount::new(1_u32)).bench_local(|| log.append_and_wait());
}

#[divan::bench(sample_count = 3000, sample_size = 1)]
fn wal_append_without_fsync(bencher: Bencher) {
    let mut log = Log::open(SyncPolicy::Os, PAYLOAD_BYTES);
    bencher.counter(ItemsCount::new(1_u32)).bench_local(|| log.append_and_wait());
}

#[divan::bench(sample_count = 300, sample_size = 1)]
fn wal_append_and_wait_1_mib(bencher: Bencher) {
    let mut log = Log::open(SyncPolicy::Always, 1 << 20);
    bencher.counter(ItemsCount::new(1_u32)).bench_local(|| log.append_and_wait());
}
