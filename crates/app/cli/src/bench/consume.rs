//! `bench consume`: how many records a second a server hands out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use daybook_kafka_client::{FetchLimits, FetchPosition, FetchedPartition, KafkaCode, OffsetQuery, TopicPartition};
use daybook_record::{BatchHeader, HEADER_BYTES, verify};
use daybook_types::{Offset, PartitionIndex, TopicId};
use tokio::task::JoinSet;

use crate::bench::arguments::ConsumeBench;
use crate::bench::lanes::{Ground, Lane};
use crate::bench::process::Watch;
use crate::bench::report::{Counted, Report};
use crate::bench::{cold, produce};
use crate::commands::consume::positions;
use crate::progress::{Progress, Unit};
use crate::session::Session;

/// Bytes of values that are written first where nothing else was said.
const FILL_BYTES: u64 = 512 * 1024 * 1024;

pub async fn run(session: &Session, bench: &ConsumeBench) -> anyhow::Result<Report> {
    let mut ground = Ground::open(session, &bench.load).await?;
    let report = fill_and_measure(session, bench, &mut ground).await;
    ground.close(report).await
}

async fn fill_and_measure(session: &Session, bench: &ConsumeBench, ground: &mut Ground) -> anyhow::Result<Report> {
    if ground.is_ours() {
        let records = bench.records.unwrap_or(FILL_BYTES / u64::from(bench.load.record_bytes));
        produce::drive(ground, &bench.load, produce::Plan::of_records(records, bench.load.connections)).await?;
    }
    measure(session, bench, ground).await
}

/// Reads all that is in the topic.
pub async fn measure(session: &Session, bench: &ConsumeBench, ground: &mut Ground) -> anyhow::Result<Report> {
    let mut first = Some(ranges(ground, bench.load.connections).await?);
    if let Some(dir) = &bench.cold {
        cold::drop_cached(dir)?;
    }
    let watch = Watch::start(bench.load.pid)?;
    let mut counted = Counted { seconds: 0.0, records: 0, answered: None, received: None };
    for _ in 0..bench.passes {
        let ranges = match first.take() {
            Some(ranges) => ranges,
            None => ranges(ground, bench.load.connections).await?,
        };
        let (records, elapsed) = read(ground, bench, ranges).await?;
        counted.records += records;
        counted.seconds += elapsed.as_secs_f64();
    }
    let name = if bench.cold.is_some() { "consume cold" } else { "consume" };
    Ok(Report::new(name, session, &bench.load, &counted, watch.stop()?))
}

/// Offsets of a partition, for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub partition: PartitionIndex,
    pub from: Offset,
    pub to: Offset,
}

/// For each connection and leader what it reads: connections that share a partition read a part of it each.
async fn ranges(ground: &mut Ground, connections: u16) -> anyhow::Result<Vec<(Lane, Vec<Range>)>> {
    let name = ground.topic.name.clone();
    let all: Vec<_> = ground.topic.partitions.iter().map(|p| TopicPartition::new(&name, p.partition)).collect();
    let starts = positions::at(&mut ground.cluster, &all, OffsetQuery::Earliest).await?;
    let ends = positions::ends(&mut ground.cluster, &all).await?;
    let lanes = ground.lanes(connections).await?;
    let mut sharers: BTreeMap<PartitionIndex, Vec<usize>> = BTreeMap::new();
    for lane in &lanes {
        for partition in &lane.partitions {
            sharers.entry(*partition).or_default().push(lane.share);
        }
    }
    let with_ranges = lanes.into_iter().map(|lane| {
        let range = |partition: &PartitionIndex| {
            let shares = &sharers[partition];
            let place = shares.iter().position(|share| *share == lane.share).unwrap_or(0);
            let whole = TopicPartition::new(&name, *partition);
            part(*partition, starts[&whole], ends[&whole], place, shares.len())
        };
        let ranges = lane.partitions.iter().map(range).filter(|range| range.from < range.to).collect();
        (lane, ranges)
    });
    Ok(with_ranges.collect())
}

/// Part `place` of `count` equal ones.
pub(crate) fn part(partition: PartitionIndex, start: Offset, end: Offset, place: usize, count: usize) -> Range {
    let length = i128::from(end.0) - i128::from(start.0);
    let at = |place: usize| Offset(start.0 + (length * place as i128 / count as i128) as i64);
    Range { partition, from: at(place), to: at(place + 1) }
}

async fn read(
    ground: &Ground,
    bench: &ConsumeBench,
    ranges: Vec<(Lane, Vec<Range>)>,
) -> anyhow::Result<(u64, Duration)> {
    let total = ranges.iter().flat_map(|(_, ranges)| ranges).map(|range| range.to.0 - range.from.0).sum::<i64>();
    let mut progress = Progress::new(Unit::Records, Some(total.unsigned_abs()));
    let (sender, mut counts) = tokio::sync::mpsc::channel(64);
    let limits = FetchLimits {
        bytes_max: i32::try_from(bench.fetch_bytes).context("fetch-bytes is too large")?,
        partition_bytes_max: i32::try_from(bench.partition_fetch_bytes)
            .context("partition-fetch-bytes is too large")?,
        ..FetchLimits::default()
    };
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    for (lane, ranges) in ranges {
        let reader = Reader {
            topic: ground.topic.name.clone(),
            topic_id: ground.topic.id,
            lane,
            ranges,
            limits,
            is_crc_checked: bench.check_crc,
            records: 0,
            counts: sender.clone(),
        };
        tasks.spawn(reader.run());
    }
    drop(sender);
    while let Some(count) = counts.recv().await {
        progress.advance(count);
    }
    let mut elapsed = Duration::ZERO;
    let mut records = 0;
    while let Some(done) = tasks.join_next().await {
        let (count, ended) = done.expect("a reader doesn't panic")?;
        records += count;
        elapsed = elapsed.max(ended.duration_since(started));
    }
    progress.finish();
    Ok((records, elapsed))
}

/// One connection.
struct Reader {
    topic: String,
    topic_id: TopicId,
    lane: Lane,
    /// What is still to be read.
    ranges: Vec<Range>,
    limits: FetchLimits,
    is_crc_checked: bool,
    records: u64,
    counts: tokio::sync::mpsc::Sender<u64>,
}

impl Reader {
    async fn run(mut self) -> anyhow::Result<(u64, Instant)> {
        self.ask().await?;
        while self.lane.wire.in_flight() > 0 {
            let answer = self.lane.wire.receive_in_time().await?;
            let fetched = self.lane.wire.decode_fetch(answer)?;
            let fetched = fetched.map_err(|code| anyhow::anyhow!("the server refused a fetch: {code}"))?;
            let before = self.records;
            for partition in &fetched {
                self.take(partition)?;
            }
            // The next answer is on its way while this one is looked at.
            self.ask().await?;
            if self.is_crc_checked {
                fetched.iter().try_for_each(|partition| check_crcs(&partition.records))?;
            }
            let _ = self.counts.try_send(self.records - before);
        }
        Ok((self.records, Instant::now()))
    }

    async fn ask(&mut self) -> anyhow::Result<()> {
        if self.ranges.is_empty() {
            return Ok(());
        }
        let positions = self.ranges.iter().map(|range| FetchPosition {
            topic: &self.topic,
            topic_id: self.topic_id,
            partition: range.partition,
            offset: range.from,
        });
        let positions: Vec<_> = positions.collect();
        Ok(self.lane.wire.send_fetch(self.limits, &positions).await?)
    }

    /// Counts by the headers of batches alone.
    fn take(&mut self, fetched: &FetchedPartition) -> anyhow::Result<()> {
        if fetched.code != KafkaCode::NONE {
            bail!("partition {} cannot be read: {}", fetched.partition, fetched.code);
        }
        let Some(at) = self.ranges.iter().position(|range| range.partition == fetched.partition) else {
            return Ok(());
        };
        let range = &mut self.ranges[at];
        let mut rest = &fetched.records[..];
        while rest.len() >= HEADER_BYTES && range.from < range.to {
            let header = BatchHeader::read(rest).context("reading the header of a batch")?;
            if header.batch_bytes > rest.len() {
                break;
            }
            let until = header.next_offset().min(range.to);
            self.records += (until.0 - range.from.0).max(0).unsigned_abs();
            range.from = range.from.max(until);
            rest = &rest[header.batch_bytes..];
        }
        if range.from >= range.to {
            self.ranges.remove(at);
        } else if !fetched.records.is_empty() {
            // Last to be asked for next, so that each gets its turn where an answer holds only some.
            self.ranges[at..].rotate_left(1);
        }
        Ok(())
    }
}

fn check_crcs(records: &Bytes) -> anyhow::Result<()> {
    let mut rest = &records[..];
    while rest.len() >= HEADER_BYTES {
        let header = BatchHeader::read(rest).context("reading the header of a batch")?;
        let Some(batch) = rest.split_off(..header.batch_bytes) else { break };
        verify(batch).with_context(|| format!("checking the batch at offset {}", header.base_offset))?;
    }
    Ok(())
}
