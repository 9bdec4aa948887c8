//! `bench produce`: how many records a second a server takes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use daybook_kafka_client::{Acks, Answer, KafkaCode, PartitionBatch, ProducedPartition};
use daybook_types::TopicId;
use tokio::task::JoinSet;

use crate::bench::arguments::{Load, ProduceBench};
use crate::bench::lanes::{Ground, Lane};
use crate::bench::payload::Pool;
use crate::bench::process::Watch;
use crate::bench::report::{Counted, Latencies, Report};
use crate::progress::{Progress, Unit};
use crate::session::Session;

/// Bytes of a request, batches of several partitions together; Kafka's own default for producers.
const REQUEST_BYTES_MAX: usize = 1024 * 1024;
pub(crate) const ANSWER_TIMEOUT_MS: i32 = 30_000;

pub async fn run(session: &Session, bench: &ProduceBench) -> anyhow::Result<Report> {
    let mut ground = Ground::open(session, &bench.load).await?;
    let report = measure(session, bench, &mut ground).await;
    ground.close(report).await
}

async fn measure(session: &Session, bench: &ProduceBench, ground: &mut Ground) -> anyhow::Result<Report> {
    let plan = match bench.records {
        Some(records) => Plan::of_records(records, bench.load.connections),
        None => Plan::of_time(bench.span.warmup_seconds, bench.span.seconds),
    };
    let plan = Plan { rate: bench.rate.map(|rate| rate / f64::from(bench.load.connections)), ..plan };
    let watch = Watch::start(bench.load.pid)?;
    let counted = drive(ground, &bench.load, plan).await?;
    Ok(Report::new("produce", session, &bench.load, &counted, watch.stop()?))
}

/// What each connection does.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// From when on answers count.
    warmup: Duration,
    /// How long after that they do; `None` until all is written.
    measured: Option<Duration>,
    /// Records of a connection, where a number was asked for.
    records: Option<u64>,
    /// Records a second of a connection.
    rate: Option<f64>,
}

impl Plan {
    pub fn of_records(records: u64, connections: u16) -> Self {
        let each = records.div_ceil(connections.into());
        Self { warmup: Duration::ZERO, measured: None, records: Some(each), rate: None }
    }

    pub fn of_time(warmup_seconds: f64, seconds: f64) -> Self {
        let measured = Some(Duration::from_secs_f64(seconds));
        Self { warmup: Duration::from_secs_f64(warmup_seconds), measured, records: None, rate: None }
    }
}

/// Writes as planned over all connections at once.
pub async fn drive(ground: &mut Ground, load: &Load, plan: Plan) -> anyhow::Result<Counted> {
    let pool = Arc::new(Pool::build(load)?);
    let mut progress = Progress::new(Unit::Records, plan.records.map(|each| each * u64::from(load.connections)));
    let (sender, mut counts) = tokio::sync::mpsc::channel(64);
    let mut tasks = JoinSet::new();
    let lanes = ground.lanes(load.connections).await?;
    let started = Instant::now();
    for lane in lanes {
        let writer = Writer {
            topic: ground.topic.name.clone(),
            topic_id: ground.topic.id,
            lane,
            pool: pool.clone(),
            acks: load.acks,
            in_flight: load.in_flight.into(),
            plan,
            started,
            sent: 0,
            sent_records: 0,
            flights: VecDeque::new(),
            measured: 0,
            last_answer: started,
            answered: Latencies::new(),
            counts: sender.clone(),
        };
        tasks.spawn(writer.run());
    }
    drop(sender);
    // Until every writer has let go of its sender.
    while let Some(count) = counts.recv().await {
        progress.advance(count);
    }
    progress.finish();
    let mut counted = Counted { seconds: 0.0, records: 0, answered: None, received: None };
    let mut answered = Latencies::new();
    let mut last_answer = started;
    while let Some(done) = tasks.join_next().await {
        let done = done.expect("a writer doesn't panic")?;
        counted.records += done.measured;
        answered.add(&done.answered);
        last_answer = last_answer.max(done.last_answer);
    }
    counted.seconds = match plan.measured {
        Some(measured) => measured.as_secs_f64(),
        None => last_answer.duration_since(started).as_secs_f64(),
    };
    counted.answered = (load.acks != Acks::None).then_some(answered);
    Ok(counted)
}

/// One connection.
struct Writer {
    topic: String,
    topic_id: TopicId,
    lane: Lane,
    pool: Arc<Pool>,
    acks: Acks,
    in_flight: usize,
    plan: Plan,
    started: Instant,
    /// Batches.
    sent: u64,
    sent_records: u64,
    /// When each request was sent that isn't answered, and its records.
    flights: VecDeque<(Instant, u64)>,
    measured: u64,
    last_answer: Instant,
    answered: Latencies,
    counts: tokio::sync::mpsc::Sender<u64>,
}

struct Done {
    measured: u64,
    last_answer: Instant,
    answered: Latencies,
}

impl Writer {
    async fn run(mut self) -> anyhow::Result<Done> {
        while !self.is_over() {
            self.wait_for_the_rate().await?;
            self.send(self.acks).await?;
            if self.acks == Acks::None {
                self.count(self.started.elapsed(), self.request_records());
                // Nothing is awaited here that would let other connections of this thread have their turn.
                tokio::task::yield_now().await;
            }
            while self.flights.len() >= self.in_flight {
                self.receive().await?;
            }
        }
        if self.acks == Acks::None {
            // Answered only when all before it is done.
            self.send(Acks::Leader).await?;
        }
        while !self.flights.is_empty() {
            self.receive().await?;
        }
        self.last_answer = Instant::now();
        Ok(Done { measured: self.measured, last_answer: self.last_answer, answered: self.answered })
    }

    fn is_over(&self) -> bool {
        match (self.plan.records, self.plan.measured) {
            (Some(records), _) => self.sent_records >= records,
            (None, Some(measured)) => self.started.elapsed() >= self.plan.warmup + measured,
            (None, None) => true,
        }
    }

    /// Takes answers meanwhile, so that they are noted when they come.
    async fn wait_for_the_rate(&mut self) -> anyhow::Result<()> {
        let Some(rate) = self.plan.rate else { return Ok(()) };
        let due = self.started + Duration::from_secs_f64(self.sent_records as f64 / rate);
        loop {
            let answer = tokio::select! {
                biased;
                answer = self.lane.wire.receive_in_time(), if !self.flights.is_empty() => answer?,
                () = tokio::time::sleep_until(due.into()) => return Ok(()),
            };
            self.take(answer)?;
        }
    }

    fn batches_per_request(&self) -> usize {
        let batch_bytes = self.pool.batch(0).len().max(1);
        self.lane.partitions.len().min((REQUEST_BYTES_MAX / batch_bytes).max(1))
    }

    fn request_records(&self) -> u64 {
        self.batches_per_request() as u64 * u64::from(self.pool.records_per_batch)
    }

    /// A batch for each of the connection's partitions, or as many of them as a request takes, in turn.
    async fn send(&mut self, acks: Acks) -> anyhow::Result<()> {
        let count = self.batches_per_request();
        let batch = |number: u64| PartitionBatch {
            topic: &self.topic,
            topic_id: self.topic_id,
            partition: self.lane.partitions[(number % self.lane.partitions.len() as u64) as usize],
            records: self.pool.batch(number),
        };
        let batches: Vec<_> = (self.sent..self.sent + count as u64).map(batch).collect();
        let sent_at = Instant::now();
        self.lane.wire.send_produce(acks, ANSWER_TIMEOUT_MS, &batches).await?;
        self.sent += count as u64;
        self.sent_records += self.request_records();
        if acks != Acks::None {
            self.flights.push_back((sent_at, self.request_records()));
        }
        Ok(())
    }

    async fn receive(&mut self) -> anyhow::Result<()> {
        let answer = self.lane.wire.receive_in_time().await?;
        self.take(answer)
    }

    fn take(&mut self, answer: Answer) -> anyhow::Result<()> {
        check(&self.lane.wire.decode_produce(answer)?)?;
        let (sent_at, records) = self.flights.pop_front().expect("an answer belongs to a request");
        if self.count(self.started.elapsed(), records) {
            self.answered.record(sent_at.elapsed(), 1);
        }
        Ok(())
    }

    /// Whether the records are among those measured.
    fn count(&mut self, at: Duration, records: u64) -> bool {
        // Progress is for watching: what doesn't fit the channel is left out.
        let _ = self.counts.try_send(records);
        let is_measured = at >= self.plan.warmup && self.plan.measured.is_none_or(|span| at < self.plan.warmup + span);
        if is_measured {
            self.measured += records;
        }
        is_measured
    }
}

/// A refused batch ends the run: what was asked to be measured isn't what happened.
pub fn check(produced: &[ProducedPartition]) -> anyhow::Result<()> {
    match produced.iter().find(|row| row.code != KafkaCode::NONE) {
        Some(row) => bail!("a batch for partition {} was refused: {}", row.partition, row.code),
        None => Ok(()),
    }
}
