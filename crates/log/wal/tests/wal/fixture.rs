//! Logs with small segments, and entries that can be told apart.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use bytes::Bytes;
use daybook_sim::FaultDisk;
use daybook_types::{Lsn, Term};
use daybook_wal::{Failure, OpenError, Options, Record, RecordRef, Recovered, SyncPolicy, Wal};
use daybook_world::Disk;

pub const SEGMENT_BYTES: u64 = 4096;

pub fn dir() -> &'static Path {
    Path::new("shard-0/wal")
}

pub fn options() -> Options {
    Options { segment_bytes: SEGMENT_BYTES, first_segment_bytes: 2048, spare_segments_max: 2, sync: SyncPolicy::Always }
}

pub fn open(disk: &FaultDisk) -> (Wal, Recovered) {
    try_open(disk).unwrap()
}

/// Without a thread that makes spares: so every write and sync that counts comes from the test.
pub fn open_without_spares(disk: &FaultDisk) -> Wal {
    let options = Options { spare_segments_max: 0, ..options() };
    Wal::open(Arc::new(disk.clone()), dir(), options).unwrap().0
}

pub fn try_open(disk: &FaultDisk) -> Result<(Wal, Recovered), OpenError> {
    Wal::open(Arc::new(disk.clone()), dir(), options())
}

/// An entry whose bytes follow from its place and length.
pub fn record(term: u64, lsn: u64, payload_bytes: usize) -> Record {
    let payload = (0..payload_bytes)
        .map(|at| (at * 31 + lsn as usize % 251 * 7 + term as usize * 13 + 1) as u8)
        .collect::<Vec<_>>();
    Record { term: Term(term), lsn: Lsn(lsn), kind: (lsn % 5) as u8, payload: payload.into() }
}

/// Appends in one call, each payload in two parts.
pub fn append(
    wal: &Wal,
    records: &[Record],
    on_durable: impl FnOnce(Result<(), Failure>) + Send + 'static,
) -> Result<(), Failure> {
    in_parts(records, |refs| wal.append(refs, on_durable))
}

/// The same for a writer that is alone.
pub fn append_alone(
    wal: &Wal,
    records: &[Record],
    on_durable: impl FnOnce(Result<(), Failure>) + Send + 'static,
) -> Result<(), Failure> {
    in_parts(records, |refs| wal.append_alone(refs, on_durable))
}

fn in_parts<T>(records: &[Record], append: impl FnOnce(&[RecordRef<'_>]) -> T) -> T {
    let parts: Vec<[Bytes; 2]> = records
        .iter()
        .map(|record| {
            let middle = record.payload.len() / 2;
            [record.payload.slice(..middle), record.payload.slice(middle..)]
        })
        .collect();
    let refs: Vec<RecordRef<'_>> = records
        .iter()
        .zip(&parts)
        .map(|(record, parts)| RecordRef { term: record.term, lsn: record.lsn, kind: record.kind, parts })
        .collect();
    append(&refs)
}

pub fn append_later(wal: &Wal, records: &[Record]) -> Receiver<Result<(), Failure>> {
    let (done, result) = channel();
    append(wal, records, move |result| drop(done.send(result))).unwrap();
    result
}

pub fn append_durably(wal: &Wal, records: &[Record]) {
    append_later(wal, records).recv().unwrap().unwrap();
}

/// Entries of one term from `from` to `to` (exclusive), each in an append of its own.
pub fn fill(wal: &Wal, term: u64, from: u64, to: u64, payload_bytes: usize) -> Vec<Record> {
    let records: Vec<_> = (from..to).map(|lsn| record(term, lsn, payload_bytes)).collect();
    for record in &records {
        append_durably(wal, std::slice::from_ref(record));
    }
    records
}

/// All entries kept.
pub fn all(wal: &Wal) -> Vec<Record> {
    let Some((_, last)) = wal.last() else { return Vec::new() };
    let mut next = wal.purged().map_or(Lsn(0), |(_, lsn)| lsn.next());
    let mut records = Vec::new();
    while next <= last {
        let some = wal.read(next, last.next(), 1000).unwrap();
        assert!(!some.is_empty(), "nothing at {next} of {last}");
        next = some[some.len() - 1].lsn.next();
        records.extend(some);
    }
    records
}

pub fn segment_files(disk: &FaultDisk) -> Vec<PathBuf> {
    let names = disk.list(dir()).unwrap();
    names.into_iter().filter(|name| name.ends_with(".wal")).map(|name| dir().join(name)).collect()
}

pub fn spare_files(disk: &FaultDisk) -> Vec<PathBuf> {
    let names = disk.list(dir()).unwrap();
    names.into_iter().filter(|name| name.ends_with(".spare")).map(|name| dir().join(name)).collect()
}
