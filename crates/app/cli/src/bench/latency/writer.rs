//! Sends records when they are due, and notes how long each took to be acknowledged.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use daybook_kafka_client::{Acks, Answer, PartitionBatch, TopicView, WireError};
use daybook_record::BatchBuilder;
use tokio::sync::Notify;

use super::Schedule;
use crate::bench::arguments::LatencyBench;
use crate::bench::lanes::Lane;
use crate::bench::payload::now;
use crate::bench::produce::{ANSWER_TIMEOUT_MS, check};
use crate::bench::report::Latencies;

pub struct LatencyWriter {
    topic: TopicView,
    lane: Lane,
    bench: LatencyBench,
    schedule: Schedule,
    /// Told when something may be due.
    waker: Arc<Notify>,
    next: u64,
    batches: usize,
    /// Numbers of the records in each request that isn't answered.
    flights: VecDeque<std::ops::Range<u64>>,
    answered: Latencies,
}

impl LatencyWriter {
    pub fn new(topic: &TopicView, lane: Lane, bench: &LatencyBench, schedule: Schedule, waker: Arc<Notify>) -> Self {
        Self {
            topic: topic.clone(),
            lane,
            bench: bench.clone(),
            schedule,
            waker,
            next: 0,
            batches: 0,
            flights: VecDeque::new(),
            answered: Latencies::new(),
        }
    }

    pub async fn run(mut self) -> anyhow::Result<Latencies> {
        while self.next < self.schedule.total() || !self.flights.is_empty() {
            let may_send =
                self.next < self.schedule.total() && self.flights.len() < usize::from(self.bench.load.in_flight);
            let event = tokio::select! {
                biased;
                answer = self.lane.wire.receive_in_time(), if !self.flights.is_empty() => Event::Answer(answer),
                () = self.waker.notified(), if may_send => Event::Due,
            };
            if let Event::Answer(answer) = event {
                self.take(answer?)?;
            }
            if self.flights.len() < usize::from(self.bench.load.in_flight) {
                self.send_what_is_due().await?;
            }
        }
        Ok(self.answered)
    }

    async fn send_what_is_due(&mut self) -> anyhow::Result<()> {
        let Some(elapsed) = Instant::now().checked_duration_since(self.schedule.start) else { return Ok(()) };
        let due = self.schedule.due_count(elapsed);
        let linger = Duration::from_secs_f64(self.bench.linger_ms / 1000.0);
        let may_wait = due < self.schedule.total() && elapsed < self.schedule.due(self.next) + linger;
        if due <= self.next || (may_wait && due - self.next < self.records_per_batch()) {
            return Ok(());
        }
        let until = due.min(self.next + self.records_per_batch());
        let mut builder = BatchBuilder::new(self.bench.load.compression);
        let mut value = vec![b'x'; self.bench.load.record_bytes as usize];
        let timestamp = now();
        for number in self.next..until {
            let due = u64::try_from(self.schedule.due(number).as_nanos()).context("the run is too long")?;
            value[..8].copy_from_slice(&due.to_be_bytes());
            builder.push(timestamp, None, Some(&value), &[]);
        }
        let records = builder.build().context("building a batch")?;
        let batch = PartitionBatch {
            topic: &self.topic.name,
            topic_id: self.topic.id,
            // A partition a batch in turn, as producers do with records that have no key.
            partition: self.lane.partitions[self.batches % self.lane.partitions.len()],
            records: &records,
        };
        self.lane.wire.send_produce(self.bench.load.acks, ANSWER_TIMEOUT_MS, &[batch]).await?;
        if self.bench.load.acks != Acks::None {
            self.flights.push_back(self.next..until);
        }
        self.batches += 1;
        self.next = until;
        Ok(())
    }

    fn records_per_batch(&self) -> u64 {
        (self.bench.load.batch_bytes / u64::from(self.bench.load.record_bytes)).max(1)
    }

    fn take(&mut self, answer: Answer) -> anyhow::Result<()> {
        let now = Instant::now();
        check(&self.lane.wire.decode_produce(answer)?)?;
        for number in self.flights.pop_front().expect("an answer belongs to a request") {
            let due = self.schedule.due(number);
            if self.schedule.is_measured(due) {
                self.answered.record(now.saturating_duration_since(self.schedule.start + due), 1);
            }
        }
        Ok(())
    }
}

enum Event {
    Answer(Result<Answer, WireError>),
    Due,
}
