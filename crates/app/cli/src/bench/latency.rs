//! `bench latency`: how long a record takes, at a fixed rate.
//!
//! Each record has a moment at which it is meant to be sent, and carries it in its value; every latency counts from
//! there. When the server stalls, the records that were due meanwhile are late by as much, and the figures say so.

mod reader;
mod writer;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use daybook_kafka_client::Acks;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use self::reader::LatencyReader;
use self::writer::LatencyWriter;
use crate::bench::arguments::LatencyBench;
use crate::bench::lanes::Ground;
use crate::bench::pacer::Pacer;
use crate::bench::process::Watch;
use crate::bench::report::{Counted, Latencies, Report};
use crate::session::Session;

/// How long readers wait for what was acknowledged.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for connections and tasks to stand before the first record is due.
const LEAD: Duration = Duration::from_millis(100);

/// When what is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// When the first record is due.
    pub start: Instant,
    /// Records a second of one connection.
    pub rate: f64,
    pub warmup: Duration,
    pub measured: Duration,
}

impl Schedule {
    /// When record `number` of a connection is due, after `start`.
    pub fn due(&self, number: u64) -> Duration {
        Duration::from_secs_f64(number as f64 / self.rate)
    }

    /// How many records of a connection are due at a time after `start`: the first is at once.
    pub fn due_count(&self, at: Duration) -> u64 {
        ((at.as_secs_f64() * self.rate) as u64 + 1).min(self.total())
    }

    pub fn total(&self) -> u64 {
        ((self.warmup + self.measured).as_secs_f64() * self.rate) as u64
    }

    pub fn is_measured(&self, due: Duration) -> bool {
        due >= self.warmup
    }
}

pub async fn run(session: &Session, bench: &LatencyBench) -> anyhow::Result<Report> {
    if bench.load.topic.is_some() {
        bail!("latency needs a topic of its own, in which nothing else is written; leave out --topic");
    }
    let mut ground = Ground::open(session, &bench.load).await?;
    let report = measure(session, bench, &mut ground).await;
    ground.close(report).await
}

async fn measure(session: &Session, bench: &LatencyBench, ground: &mut Ground) -> anyhow::Result<Report> {
    let load = &bench.load;
    let readers = ground.lanes(load.connections).await?;
    let writers = ground.lanes(load.connections).await?;
    let schedule = Schedule {
        start: Instant::now() + LEAD,
        rate: bench.rate / writers.len() as f64,
        warmup: Duration::from_secs_f64(bench.span.warmup_seconds),
        measured: Duration::from_secs_f64(bench.span.seconds),
    };
    let total = schedule.total() * writers.len() as u64;
    let watch = Watch::start(load.pid)?;
    let arrivals = Arc::new(Arrivals::default());
    let mut reading = JoinSet::new();
    let mut read_partitions = BTreeSet::new();
    for mut lane in readers {
        // Connections that share a partition would each read what all of them write.
        lane.partitions.retain(|partition| read_partitions.insert(*partition));
        if !lane.partitions.is_empty() {
            reading.spawn(LatencyReader::new(&ground.topic, lane, schedule, arrivals.clone()).run());
        }
    }
    let mut writing = JoinSet::new();
    let mut wakers = Vec::new();
    for lane in writers {
        let waker = Arc::new(Notify::new());
        wakers.push(waker.clone());
        writing.spawn(LatencyWriter::new(&ground.topic, lane, bench, schedule, waker).run());
    }
    // Where records wait for each other, waking for each would change nothing.
    let step = Duration::from_secs_f64((1.0 / bench.rate).max(bench.linger_ms / 8000.0));
    let pacer = Pacer::start(schedule.start, step, wakers)?;
    let mut answered = Latencies::new();
    while let Some(done) = writing.join_next().await {
        answered.add(&done.expect("a writer doesn't panic")?);
    }
    drop(pacer);
    arrivals.wait_for(total).await;
    let mut received = Latencies::new();
    while let Some(done) = reading.join_next().await {
        received.add(&done.expect("a reader doesn't panic")?);
    }
    let arrived = arrivals.count.load(Ordering::Relaxed);
    if arrived != total {
        bail!("{total} records were written and {arrived} arrived");
    }
    let usage = watch.stop()?;
    let records = received.quantiles().count;
    let answered = (load.acks != Acks::None).then_some(answered);
    let counted = Counted { seconds: bench.span.seconds, records, answered, received: Some(received) };
    Ok(Report::new("latency", session, load, &counted, usage))
}

/// Records that readers have, and when to stop reading.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    pub count: AtomicU64,
    /// Told after each answer.
    pub counted: Notify,
    pub is_over: AtomicBool,
}

impl Arrivals {
    /// Waits until so many are there, or it takes too long; then tells readers to stop.
    async fn wait_for(&self, total: u64) {
        let arrive = async {
            while self.count.load(Ordering::Relaxed) < total {
                self.counted.notified().await;
            }
        };
        // What is missing then is told by the count.
        let _ = tokio::time::timeout(ARRIVAL_TIMEOUT, arrive).await;
        self.is_over.store(true, Ordering::Relaxed);
    }
}
