//! Let go of a partition's oldest records: what retention and DeleteRecords ask for.

use daybook_types::{Offset, PartitionId};
use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};

/// Moves a partition's start. It only moves forward: a start that lies further already stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimPartition {
    pub partition: PartitionId,
    /// The first offset that stays; `None`: nothing stays.
    pub to: Option<Offset>,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TrimRefusal {
    #[error("partition {partition} does not exist")]
    UnknownPartition { partition: PartitionId },
    #[error(
        "records of partition {partition} are not deleted under the topic's cleanup.policy; add delete to it first"
    )]
    Policy { partition: PartitionId },
    #[error("offset {asked} is out of range: partition {partition} ends at {end}")]
    OutOfRange { partition: PartitionId, asked: Offset, end: Offset },
}

/// What stands for `None`.
const ALL: i64 = -1;

impl TrimPartition {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.partition(self.partition);
        out.i64(self.to.map_or(ALL, |to| to.0));
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        let partition = from.partition()?;
        let to = match from.i64()? {
            ALL => None,
            to if to >= 0 => Some(Offset(to)),
            _ => return Err(DecodeError::Malformed),
        };
        Ok(Self { partition, to })
    }
}
