//! What can go wrong with record files.

use std::path::PathBuf;

use daybook_record::BatchError;
use daybook_types::{FaultKind, Offset, TimestampMs};
use daybook_world::DiskError;
use thiserror::Error;

/// Why records can't be read.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The bytes in `file` from `at` aren't what was written. `offset` is the first that can't be read for it.
    #[error("{} is damaged at byte {at}, offset {offset}: {damage}", file.display())]
    Damaged { file: PathBuf, at: u64, offset: Offset, damage: Damage },
    #[error("the partition was removed")]
    Removed,
}

/// In which way bytes are not what was written.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Damage {
    #[error("{0}")]
    Batch(BatchError),
    #[error("the file ends there, {end} bytes were written")]
    Short { end: u64 },
    #[error("a batch of {batch_bytes} bytes doesn't fit into what was written")]
    Overlong { batch_bytes: usize },
    #[error("a batch has base offset {found} where {expected} was expected")]
    Order { found: Offset, expected: Offset },
    #[error("the last batch ends at offset {found}, the segment at {expected}")]
    End { found: Offset, expected: Offset },
    #[error("the largest timestamp is {found}, {expected} was noted")]
    Timestamp { found: TimestampMs, expected: TimestampMs },
    #[error("the index entry's checksum is wrong")]
    EntryCrc,
    #[error("the index entry is out of order")]
    EntryOrder,
    #[error("the index entry points at no batch, or at another")]
    EntryTarget,
    #[error("the index ends in part of an entry")]
    EntryPart,
}

impl ReadError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Disk(_) => FaultKind::RetryLater,
            Self::Damaged { .. } => FaultKind::Corrupt,
            Self::Removed => FaultKind::Reject,
        }
    }
}

/// Why a partition's files can't be brought to the ends of a checkpoint.
#[derive(Debug, Error)]
pub enum RestoreError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("{} is missing, the checkpoint has {end} bytes of it", file.display())]
    Missing { file: PathBuf, end: u64 },
    #[error("{} ends at byte {bytes}, the checkpoint has {end} bytes of it", file.display())]
    Short { file: PathBuf, bytes: u64, end: u64 },
}

impl RestoreError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Disk(_) => FaultKind::RetryLater,
            Self::Missing { .. } | Self::Short { .. } => FaultKind::Corrupt,
        }
    }
}
