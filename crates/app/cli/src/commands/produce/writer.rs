//! Gathers records into batches, a batch a partition, and sends them.

use anyhow::{Context, bail};
use daybook_kafka_client::{Acks, ClientError, Cluster, ProducerIdentity, TopicView, WireError, partition_of_key};
use daybook_record::{BatchBuilder, Compression, RecordHeader, sequence_plus};
use daybook_types::{PartitionIndex, TimestampMs};
use serde::Serialize;

#[derive(Debug)]
pub struct WriterOptions {
    pub acks: Acks,
    pub compression: Compression,
    /// `None`: by the key, else in turn.
    pub partition: Option<PartitionIndex>,
    pub batch_bytes: usize,
    /// Of every record.
    pub headers: Vec<RecordHeader>,
}

/// What was written to a partition.
#[derive(Debug, Serialize)]
pub struct PartitionEnd {
    partition: i32,
    records: u64,
    /// `None` where the server didn't say.
    last_offset: Option<i64>,
}

#[derive(Debug)]
struct Lane {
    partition: PartitionIndex,
    batch: Option<BatchBuilder>,
    next_sequence: i32,
    records: u64,
    last_offset: Option<i64>,
}

#[derive(Debug)]
pub struct RecordWriter<'a> {
    cluster: &'a mut Cluster,
    topic: String,
    options: WriterOptions,
    /// `None` where answers aren't waited for, so that nothing is ever repeated, or the server knows no such thing.
    identity: Option<ProducerIdentity>,
    /// By partition.
    lanes: Vec<Lane>,
    /// Where records without a key go until that batch is sent.
    current: usize,
}

impl<'a> RecordWriter<'a> {
    pub async fn open(cluster: &'a mut Cluster, topic: &TopicView, options: WriterOptions) -> anyhow::Result<Self> {
        if let Some(PartitionIndex(index)) = options.partition
            && !topic.partitions.iter().any(|p| p.partition.0 == index)
        {
            bail!("topic {} has no partition {index}, it has {}", topic.name, topic.partitions.len());
        }
        let identity = match options.acks {
            Acks::All => match cluster.init_producer().await {
                Err(ClientError::Wire(WireError::Unsupported { .. })) => None,
                identity => Some(identity?),
            },
            Acks::None | Acks::Leader => None,
        };
        let lanes = topic.partitions.iter().map(|p| Lane {
            partition: p.partition,
            batch: None,
            next_sequence: 0,
            records: 0,
            last_offset: None,
        });
        let lanes = lanes.collect();
        Ok(Self { cluster, topic: topic.name.clone(), options, identity, lanes, current: 0 })
    }

    pub async fn write(&mut self, key: Option<&[u8]>, value: Option<&[u8]>) -> anyhow::Result<()> {
        let count = i32::try_from(self.lanes.len()).context("counting partitions")?;
        let at = match (self.options.partition, key) {
            (Some(partition), _) => usize::try_from(partition.0)?,
            (None, Some(key)) => usize::try_from(partition_of_key(key, count).0)?,
            (None, None) => self.current,
        };
        let bytes = key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len);
        let is_full = |batch: &BatchBuilder| batch.bytes() + bytes > self.options.batch_bytes;
        if self.lanes[at].batch.as_ref().is_some_and(is_full) {
            self.send(at).await?;
        }
        let lane = &mut self.lanes[at];
        let (compression, identity, sequence) = (self.options.compression, self.identity, lane.next_sequence);
        let batch = lane.batch.get_or_insert_with(|| {
            let builder = BatchBuilder::new(compression);
            match identity {
                Some(identity) => builder.producer(identity.id, identity.epoch, sequence),
                None => builder,
            }
        });
        batch.push(now(), key, value, &self.options.headers);
        Ok(())
    }

    /// Sends everything gathered.
    pub async fn flush(&mut self) -> anyhow::Result<()> {
        for at in 0..self.lanes.len() {
            self.send(at).await?;
        }
        Ok(())
    }

    async fn send(&mut self, at: usize) -> anyhow::Result<()> {
        let lane = &mut self.lanes[at];
        let Some(batch) = lane.batch.take() else { return Ok(()) };
        let count = i32::try_from(batch.len()).context("counting a batch's records")?;
        let bytes = batch.build().context("building a batch")?;
        let base = self.cluster.produce(&self.topic, lane.partition, self.options.acks, &bytes).await?;
        lane.next_sequence = sequence_plus(lane.next_sequence, count);
        lane.records += u64::from(count.unsigned_abs());
        lane.last_offset = base.filter(|base| base.0 >= 0).map(|base| base.0 + i64::from(count) - 1);
        if at == self.current {
            self.current = (self.current + 1) % self.lanes.len();
        }
        Ok(())
    }

    /// Records written in all, and to each partition that got any.
    pub fn finish(self) -> (u64, Vec<PartitionEnd>) {
        let written = self.lanes.into_iter().filter(|lane| lane.records > 0).map(|lane| PartitionEnd {
            partition: lane.partition.0,
            records: lane.records,
            last_offset: lane.last_offset,
        });
        let written: Vec<_> = written.collect();
        (written.iter().map(|end| end.records).sum(), written)
    }
}

fn now() -> TimestampMs {
    TimestampMs(chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now()).timestamp_millis())
}
