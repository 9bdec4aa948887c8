//! Why work on a partition ended before its end.

use daybook_command::ProposeError;
use daybook_read::ReadError;
use daybook_record::BatchError;
use daybook_rewrite::{Stopped, TakeoverError};
use daybook_types::{Offset, PartitionId};
use daybook_world::DiskError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Broken {
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    Propose(#[from] ProposeError),
    #[error(transparent)]
    Takeover(#[from] TakeoverError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Segment(#[from] daybook_segment::ReadError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("a batch can't be read: {0}")]
    Batch(#[from] BatchError),
    #[error(
        "the batch at offset {offset} of partition {partition} has more keys than the map of keys has room for; \
         raise cleaner.key_map_bytes_max"
    )]
    MapTooSmall { partition: PartitionId, offset: Offset },
    #[error("segments of partition {partition} are being rewritten by somebody else")]
    Busy { partition: PartitionId },
    #[error("a segment needs {need} bytes to be written anew, the disk has {free}; free space by other means first")]
    NoRoom { need: u64, free: u64 },
}

impl Broken {
    /// Whether the work is over for good, rather than broken: it was told to stop, or the shard has ended.
    pub fn is_end(&self) -> bool {
        matches!(
            self,
            Self::Stopped(_)
                | Self::Propose(ProposeError::Closed)
                | Self::Takeover(TakeoverError::Stopped(_) | TakeoverError::Propose(ProposeError::Closed))
        )
    }
}
