//! Takes records as they come, and notes how long each took.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use daybook_kafka_client::{FetchLimits, FetchPosition, KafkaCode, TopicView};
use daybook_record::{batches, records};
use daybook_types::{Offset, PartitionIndex};

use super::{Arrivals, Schedule};
use crate::bench::lanes::Lane;
use crate::bench::report::Latencies;

pub struct LatencyReader {
    topic: TopicView,
    lane: Lane,
    positions: Vec<(PartitionIndex, Offset)>,
    schedule: Schedule,
    arrivals: Arc<Arrivals>,
    received: Latencies,
}

/// Also how long it takes until a reader notices that all is over.
const WAIT_MS_MAX: i32 = 200;

impl LatencyReader {
    pub fn new(topic: &TopicView, lane: Lane, schedule: Schedule, arrivals: Arc<Arrivals>) -> Self {
        let positions = lane.partitions.iter().map(|partition| (*partition, Offset(0))).collect();
        Self { topic: topic.clone(), lane, positions, schedule, arrivals, received: Latencies::new() }
    }

    pub async fn run(mut self) -> anyhow::Result<Latencies> {
        while !self.arrivals.is_over.load(Ordering::Relaxed) {
            self.read().await?;
        }
        Ok(self.received)
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        let limits = FetchLimits { wait_ms_max: WAIT_MS_MAX, ..FetchLimits::default() };
        let positions = self.positions.iter().map(|(partition, offset)| FetchPosition {
            topic: &self.topic.name,
            topic_id: self.topic.id,
            partition: *partition,
            offset: *offset,
        });
        let positions: Vec<_> = positions.collect();
        self.lane.wire.send_fetch(limits, &positions).await?;
        let answer = self.lane.wire.receive_in_time().await?;
        let now = Instant::now();
        let fetched = self.lane.wire.decode_fetch(answer)?;
        let mut count = 0;
        for partition in fetched.map_err(|code| anyhow::anyhow!("the server refused a fetch: {code}"))? {
            if partition.code != KafkaCode::NONE {
                bail!("partition {} cannot be read: {}", partition.partition, partition.code);
            }
            let position = self.positions.iter_mut().find(|(index, _)| *index == partition.partition);
            let Some((_, position)) = position else { continue };
            for batch in batches(partition.records) {
                // The last batch of an answer may be cut; it comes again.
                let Ok((header, batch)) = batch else { break };
                for record in records(&batch).context("reading a batch")? {
                    let due = due(record.context("reading a batch")?.value.as_deref())?;
                    count += 1;
                    if self.schedule.is_measured(due) {
                        self.received.record(now.saturating_duration_since(self.schedule.start + due), 1);
                    }
                }
                *position = header.next_offset();
            }
        }
        self.arrivals.count.fetch_add(count, Ordering::Relaxed);
        self.arrivals.counted.notify_one();
        Ok(())
    }
}

/// What the writer put at the front of the value.
fn due(value: Option<&[u8]>) -> anyhow::Result<Duration> {
    match value.and_then(|value| value.first_chunk::<8>()) {
        Some(bytes) => Ok(Duration::from_nanos(u64::from_be_bytes(*bytes))),
        None => bail!("a record is not one of this run"),
    }
}
