//! The one read path: tail in memory → segment files; and waiting for what is not there yet.
//!
//! A `Reader` is a cheap handle to one shard's posted state. What it returns never changes later: it serves committed and
//! applied records only.

mod picked;
mod reader;
mod records;
mod watch;

pub use daybook_consumer_group::{ConfigsOfGroup, GroupOffsets};
pub use daybook_event_stream::{Located, Order, Place, Stream, StreamIndex};
pub use daybook_partition::{AbortedTransaction, ProducerWindow};
pub use daybook_segment::FileSlice;
pub use daybook_share_group::SharePartitions;
pub use daybook_transaction::{Open, Phase, Transactional, Transactions};
pub use picked::RecordPicker;
pub use reader::{PartitionEnds, Reader};
pub use records::{Fetched, Isolation, Piece, ReadError};
pub use watch::Watch;
