//! `bench disk`: what the disk gives to whoever appends and syncs, with nothing else in between.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::fs::{FallocateFlags, fallocate};
use serde::Serialize;

use crate::bench::arguments::DiskBench;
use crate::bench::report::{Latencies, Quantiles};
use crate::output::{Column, Table, print_json};
use crate::session::Session;

/// Size of the file; when it is full, appending starts over at its front.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Serialize)]
struct DiskReport {
    bench: &'static str,
    dir: PathBuf,
    record_bytes: u32,
    /// Blocks reserved and never written: a sync also has to note that they now are.
    preallocated: Rate,
    /// Blocks written before, as in a log file that is recycled.
    recycled: Rate,
}

#[derive(Serialize)]
struct Rate {
    syncs_per_second: f64,
    sync_ms: Quantiles,
}

pub fn run(session: &Session, bench: &DiskBench) -> anyhow::Result<()> {
    let path = bench.dir.join(format!("daybook-bench-disk-{}", std::process::id()));
    let result = measure_both(bench, &path);
    // Whether measured or failed.
    let removed = std::fs::remove_file(&path).with_context(|| format!("removing {}", path.display()));
    let report = result?;
    removed?;
    if session.is_json {
        return print_json(&report);
    }
    let mut columns = vec![Column::Text("FILE")];
    columns.extend(["BYTES", "SYNCS/S", "P50 MS", "P99 MS", "P99.9 MS", "MAX MS"].map(Column::Number));
    let mut table = Table::new(&columns);
    for (name, rate) in [("preallocated", &report.preallocated), ("recycled", &report.recycled)] {
        let ms = |ms: f64| format!("{ms:.3}");
        let Quantiles { p50, p99, p999, max, .. } = rate.sync_ms;
        let per_second = format!("{:.0}", rate.syncs_per_second);
        table.row([name.to_owned(), report.record_bytes.to_string(), per_second, ms(p50), ms(p99), ms(p999), ms(max)]);
    }
    table.print()
}

fn measure_both(bench: &DiskBench, path: &Path) -> anyhow::Result<DiskReport> {
    let creating = || format!("creating {}", path.display());
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).with_context(creating)?;
    fallocate(&file, FallocateFlags::empty(), 0, FILE_BYTES).with_context(creating)?;
    file.sync_all().with_context(creating)?;
    let preallocated = measure(bench, &file, path)?;
    let zeros = vec![0; 1024 * 1024];
    for _ in 0..FILE_BYTES / zeros.len() as u64 {
        file.write_all(&zeros).with_context(|| format!("writing {}", path.display()))?;
    }
    file.sync_all().with_context(creating)?;
    let recycled = measure(bench, &file, path)?;
    let (dir, record_bytes) = (bench.dir.clone(), bench.record_bytes);
    Ok(DiskReport { bench: "disk", dir, record_bytes, preallocated, recycled })
}

fn measure(bench: &DiskBench, file: &File, path: &Path) -> anyhow::Result<Rate> {
    let record = vec![b'x'; bench.record_bytes as usize];
    let span = Duration::from_secs_f64(bench.seconds);
    let mut syncs = Latencies::new();
    let mut at = 0;
    let start = Instant::now();
    while start.elapsed() < span {
        let before = Instant::now();
        file.write_all_at(&record, at).with_context(|| format!("writing {}", path.display()))?;
        file.sync_data().with_context(|| format!("syncing {}", path.display()))?;
        syncs.record(before.elapsed(), 1);
        at += record.len() as u64;
        if at + record.len() as u64 > FILE_BYTES {
            at = 0;
        }
    }
    let sync_ms = syncs.quantiles();
    Ok(Rate { syncs_per_second: sync_ms.count as f64 / start.elapsed().as_secs_f64(), sync_ms })
}
