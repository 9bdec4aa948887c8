//! Append one record batch to one partition.

use bytes::Bytes;
use daybook_types::{Offset, PartitionId, Position, TimestampMs};
use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};

/// A record batch (v2) for the end of a partition. The batch was checked by the door: CRC, size, record count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendBatch {
    pub partition: PartitionId,
    /// The whole batch as the client sent it; base offset and leader epoch are assigned in apply.
    pub batch: Bytes,
}

/// Where the batch is now. A repeated batch of an idempotent producer gets the first answer again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub base_offset: Offset,
    /// Offset after the batch's last record.
    pub next_offset: Offset,
    /// First position of the batch in its shard; none for a repeated batch whose position is no longer known.
    pub position: Option<Position>,
    /// The time the log gave the batch, where the topic asks for it; else `TimestampMs::NONE`.
    pub log_append_time: TimestampMs,
    /// The partition's first offset at that moment.
    pub start_offset: Offset,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum AppendRefusal {
    #[error("partition {partition} does not exist")]
    UnknownPartition { partition: PartitionId },
    #[error("the batch is damaged")]
    DamagedBatch,
    #[error("the producer's epoch {epoch} is older than the current one, {current}")]
    ProducerFenced { epoch: i16, current: i16 },
    #[error("sequence {sequence} does not follow {last}, the last one of this producer")]
    OutOfOrderSequence { sequence: i32, last: i32 },
}

impl AppendBatch {
    /// Bytes of an encoded append before its batch.
    pub(crate) const HEAD_BYTES: usize = 20;

    pub(crate) fn write(&self, out: &mut Writer) {
        out.partition(self.partition);
        out.rest(self.batch.clone());
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self { partition: from.partition()?, batch: from.rest() })
    }
}
