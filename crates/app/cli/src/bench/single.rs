//! `bench sync`: one writer, one record at a time.

use std::time::{Duration, Instant};

use daybook_kafka_client::{Acks, PartitionBatch};

use crate::bench::arguments::{Load, SyncBench};
use crate::bench::lanes::Ground;
use crate::bench::payload::Pool;
use crate::bench::process::Watch;
use crate::bench::produce::{ANSWER_TIMEOUT_MS, check};
use crate::bench::report::{Counted, Latencies, Report};
use crate::progress::{Progress, Unit};
use crate::session::Session;

pub async fn run(session: &Session, bench: &SyncBench) -> anyhow::Result<Report> {
    let mut load = bench.load.clone();
    // By its meaning; the report tells them so.
    (load.connections, load.in_flight) = (1, 1);
    if load.acks == Acks::None {
        anyhow::bail!("--acks 0 is never answered, so there is nothing to wait for; use 1 or all");
    }
    let pool = Pool::of(&load, 1)?;
    load.batch_bytes = pool.batch(0).len() as u64;
    let mut ground = Ground::open(session, &load).await?;
    let report = measure(session, bench, &load, &pool, &mut ground).await;
    ground.close(report).await
}

async fn measure(
    session: &Session,
    bench: &SyncBench,
    load: &Load,
    pool: &Pool,
    ground: &mut Ground,
) -> anyhow::Result<Report> {
    let mut lane = ground.lanes(1).await?.remove(0);
    let (warmup, measured) =
        (Duration::from_secs_f64(bench.span.warmup_seconds), Duration::from_secs_f64(bench.span.seconds));
    let mut progress = Progress::new(Unit::Records, None);
    let mut answered = Latencies::new();
    let watch = Watch::start(load.pid)?;
    let start = Instant::now();
    let mut sent = 0;
    let mut records = 0;
    while start.elapsed() < warmup + measured {
        let batch = PartitionBatch {
            topic: &ground.topic.name,
            topic_id: ground.topic.id,
            partition: lane.partitions[0],
            records: pool.batch(sent),
        };
        let sent_at = Instant::now();
        lane.wire.send_produce(load.acks, ANSWER_TIMEOUT_MS, &[batch]).await?;
        let answer = lane.wire.receive_in_time().await?;
        let took = sent_at.elapsed();
        check(&lane.wire.decode_produce(answer)?)?;
        sent += 1;
        progress.advance(1);
        let at = start.elapsed();
        if at >= warmup && at < warmup + measured {
            records += 1;
            answered.record(took, 1);
        }
    }
    progress.finish();
    let usage = watch.stop()?;
    let counted = Counted { seconds: bench.span.seconds, records, answered: Some(answered), received: None };
    Ok(Report::new("sync", session, load, &counted, usage))
}
