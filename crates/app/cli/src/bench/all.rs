//! `bench all`: producing and consuming in every combination asked for, then latency and single writes.

use crate::bench::arguments::{AllBench, ConsumeBench, LatencyBench, Load, Span, SyncBench};
use crate::bench::lanes::Ground;
use crate::bench::process::Watch;
use crate::bench::report::Report;
use crate::bench::{consume, latency, produce, single};
use crate::session::Session;

/// What a few seconds write is read in a fraction of one.
const HOT_PASSES: u16 = 5;

pub async fn run(session: &Session, bench: &AllBench) -> anyhow::Result<Vec<Report>> {
    let mut reports = Vec::new();
    for record_bytes in &bench.record_bytes {
        for partitions in &bench.partitions {
            for connections in &bench.connections {
                let load = load(bench, *record_bytes, *partitions, *connections);
                through(session, bench, load, &mut reports).await?;
            }
        }
        let load = load(bench, *record_bytes, 1, 1);
        let latency = LatencyBench { load: load.clone(), span: span(bench), rate: bench.rate, linger_ms: 0.0 };
        reports.push(latency::run(session, &latency).await?);
        reports.push(single::run(session, &SyncBench { load, span: span(bench) }).await?);
    }
    Ok(reports)
}

/// Writes a topic and reads it back.
async fn through(session: &Session, bench: &AllBench, load: Load, reports: &mut Vec<Report>) -> anyhow::Result<()> {
    let mut ground = Ground::open(session, &load).await?;
    let result = write_and_read(session, bench, load, &mut ground, reports).await;
    ground.close(result).await
}

async fn write_and_read(
    session: &Session,
    bench: &AllBench,
    load: Load,
    ground: &mut Ground,
    reports: &mut Vec<Report>,
) -> anyhow::Result<()> {
    let watch = Watch::start(load.pid)?;
    let plan = produce::Plan::of_time(bench.warmup_seconds, bench.seconds);
    let counted = produce::drive(ground, &load, plan).await?;
    reports.push(Report::new("produce", session, &load, &counted, watch.stop()?));
    let hot = ConsumeBench {
        load,
        records: None,
        cold: None,
        fetch_bytes: 50 * 1024 * 1024,
        partition_fetch_bytes: 1024 * 1024,
        check_crc: false,
        passes: HOT_PASSES,
    };
    reports.push(consume::measure(session, &hot, ground).await?);
    if bench.cold.is_some() {
        let cold = ConsumeBench { cold: bench.cold.clone(), passes: 1, ..hot };
        reports.push(consume::measure(session, &cold, ground).await?);
    }
    Ok(())
}

fn load(bench: &AllBench, record_bytes: u32, partitions: u16, connections: u16) -> Load {
    Load {
        record_bytes,
        partitions,
        connections,
        acks: bench.acks,
        compression: bench.compression,
        batch_bytes: bench.batch_bytes,
        in_flight: 5,
        topic: None,
        configs: bench.configs.clone(),
        keep_topic: false,
        pid: bench.pid,
        threads: bench.threads,
    }
}

fn span(bench: &AllBench) -> Span {
    Span { seconds: bench.seconds, warmup_seconds: bench.warmup_seconds }
}
