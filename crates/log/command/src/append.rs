//! Append one record batch to one partition.

use bytes::Bytes;
use daybook_types::{Offset, PartitionId, TimestampMs, TopicId};
use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};
use crate::{ActualVersion, ExpectedVersion, TransactionRefusal};

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
    /// The time the log gave the batch, where the topic asks for it; else `TimestampMs::NONE`.
    pub log_append_time: TimestampMs,
    /// The partition's first offset at that moment.
    pub start_offset: Offset,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AppendRefusal {
    #[error("partition {partition} does not exist")]
    UnknownPartition { partition: PartitionId },
    #[error("the batch is damaged")]
    DamagedBatch,
    #[error("the producer's epoch {epoch} is older than the current one, {current}")]
    ProducerFenced { epoch: i16, current: i16 },
    #[error("sequence {sequence} does not follow {last}, the last one of this producer")]
    OutOfOrderSequence { sequence: i32, last: i32 },
    #[error("stream {stream}: record {record} expects {expected}, but {actual}")]
    WrongVersion { record: i32, stream: String, expected: ExpectedVersion, actual: ActualVersion },
    #[error("the index of streams of topic {topic} is being built; a condition can't be checked yet")]
    Indexing { topic: TopicId },
    #[error("the producer has a transaction open here, so its batch must be transactional")]
    NotTransactional,
    #[error(transparent)]
    Transaction(#[from] TransactionRefusal),
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
