//! Keep only the latest record of each key, up to an offset.

use daybook_types::{Offset, PartitionId};
use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};

/// From now on a reader below `to` finds each key's latest record there, and of the earlier ones perhaps none: they go from the files
/// when each member gets to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactedTo {
    pub partition: PartitionId,
    pub to: Offset,
    /// Up to where the files are compacted already: below it nothing is left of aborted transactions.
    pub done_to: Offset,
}

/// How far a partition is to be compacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionBounds {
    /// Below it, only the latest record of each key need be there.
    pub to: Offset,
    /// Below it, nor need records without value (tombstones) and markers of transactions be: their time of grace is over.
    pub tombstones_below: Offset,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum CompactionRefusal {
    #[error("partition {partition} does not exist")]
    UnknownPartition { partition: PartitionId },
    #[error("the topic of partition {partition} is not compacted")]
    Policy { partition: PartitionId },
    #[error("partition {partition} can be compacted up to offset {end}, not to {asked}")]
    OutOfRange { partition: PartitionId, asked: Offset, end: Offset },
}

impl CompactedTo {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.partition(self.partition);
        out.i64(self.to.0);
        out.i64(self.done_to.0);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self { partition: from.partition()?, to: Offset(from.i64()?), done_to: Offset(from.i64()?) })
    }
}
