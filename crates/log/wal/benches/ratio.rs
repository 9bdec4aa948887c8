//! One writer, one record of 1 KiB at a time, durable, as a share of what bare pwrite and fdatasync do. The two take
//! turns in short bursts, so that whatever else the machine does falls on both alike.
//!
//! `cargo bench -p daybook-wal --bench ratio [-- <bursts>]`; the files lie in the system's directory for temporary
//! files (`TMPDIR`).

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use bytes::Bytes;
use daybook_types::{Lsn, Term};
use daybook_wal::{Options, RecordRef, Wal};
use daybook_world::RealDisk;

const PAYLOAD_BYTES: usize = 1024;
const SEGMENT_BYTES: u64 = 64 << 20;
const PER_BURST: usize = 50;

fn main() {
    let bursts = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(60);
    let dir = tempfile::tempdir().unwrap();

    let bare = File::create(dir.path().join("bare")).unwrap();
    let zeros = vec![0; 1 << 20];
    for at in 0..SEGMENT_BYTES >> 20 {
        bare.write_all_at(&zeros, at << 20).unwrap();
    }
    bare.sync_all().unwrap();
    let record = vec![7; 48 + PAYLOAD_BYTES];

    let disk = Arc::new(RealDisk::open(dir.path()).unwrap());
    let options = Options { first_segment_bytes: SEGMENT_BYTES, spare_segments_max: 0, ..Options::default() };
    let (wal, _) = Wal::open(disk, Path::new("wal"), options).unwrap();
    let parts = [Bytes::from(vec![7; PAYLOAD_BYTES])];
    let (done, result) = sync_channel(1);

    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let mut next = Lsn(0);
    let mut at = 0;
    for _ in 0..bursts {
        for _ in 0..PER_BURST {
            let start = Instant::now();
            bare.write_all_at(&record, at).unwrap();
            bare.sync_data().unwrap();
            times[0].push(start.elapsed());
            at = (at + record.len() as u64) % (SEGMENT_BYTES - record.len() as u64);
        }
        for alone in [false, true] {
            for _ in 0..PER_BURST {
                let start = Instant::now();
                let done = done.clone();
                let record = RecordRef { term: Term(1), lsn: next, kind: 0, parts: &parts };
                let tell = move |result| done.send(result).unwrap();
                if alone { wal.append_alone(&[record], tell) } else { wal.append(&[record], tell) }.unwrap();
                result.recv().unwrap().unwrap();
                times[1 + usize::from(alone)].push(start.elapsed());
                next = next.next();
            }
        }
    }

    let [bare, thread, alone] = times.each_mut().map(|times| Summary::of(times));
    println!("bare pwrite + fdatasync     {bare}");
    for (name, wal) in [("append, sync thread, wait", thread), ("append_alone             ", alone)] {
        println!(
            "{name}   {wal}   rate {:.3} of bare by median, {:.3} by mean",
            bare.median / wal.median,
            bare.mean / wal.mean
        );
    }
}

/// In microseconds.
struct Summary {
    least: f64,
    median: f64,
    mean: f64,
}

impl Summary {
    fn of(times: &mut [Duration]) -> Self {
        times.sort_unstable();
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let mean = micros(times.iter().sum::<Duration>()) / times.len() as f64;
        Self { least: micros(times[0]), median: micros(times[times.len() / 2]), mean }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "least {:7.1} µs   median {:7.1} µs   mean {:7.1} µs", self.least, self.median, self.mean)
    }
}
