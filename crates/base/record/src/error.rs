//! What can be wrong with a batch.

use daybook_types::{FaultKind, TimestampMs};
use thiserror::Error;

use crate::Compression;

/// Why bytes are no batch, or one that can't be taken.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BatchError {
    #[error("a batch needs {need} bytes, there are {have}")]
    Truncated { have: usize, need: usize },
    #[error("{bytes} bytes follow the end of the batch")]
    Trailing { bytes: usize },
    #[error("a batch can't be {length} bytes long")]
    Length { length: i32 },
    #[error("message format {magic} is not supported, only 2 is")]
    Magic { magic: i8 },
    #[error("the batch's checksum is {stored:08x}, its bytes have {computed:08x}")]
    Crc { stored: u32, computed: u32 },
    #[error("a batch with last offset delta {last_offset_delta} can't have {count} records")]
    RecordCount { count: i32, last_offset_delta: i32 },
    #[error("compression code {code} is not known")]
    UnknownCompression { code: u8 },
    #[error("{} is no timestamp", timestamp.0)]
    Timestamp { timestamp: TimestampMs },
    #[error("a batch of a producer with an id can't have base sequence {base_sequence}")]
    Sequence { base_sequence: i32 },
    #[error("clients can't write control batches")]
    Control,
    #[error("the records can't be decompressed with {compression}")]
    Undecodable { compression: Compression },
    #[error("the records decompress to more than {bytes_max} bytes")]
    TooLarge { bytes_max: usize },
    #[error("record {index} of the batch: {fault}")]
    Record { index: i32, fault: RecordFault },
    #[error("a batch needs at least one record")]
    Empty,
    #[error("the batch would be {bytes} bytes, more than its length field holds")]
    Oversized { bytes: usize },
}

/// What is wrong with one record.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RecordFault {
    #[error("the records end before it does")]
    Truncated,
    #[error("a varint is longer than its type")]
    Varint,
    #[error("its parts don't add up to its length")]
    Length,
    #[error("its offset delta is {delta}")]
    OffsetDelta { delta: i32 },
    #[error("its header count is {count}")]
    HeaderCount { count: i32 },
    #[error("bytes follow the last record")]
    Trailing,
}

impl BatchError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Crc { .. } => FaultKind::Corrupt,
            _ => FaultKind::Reject,
        }
    }
}
