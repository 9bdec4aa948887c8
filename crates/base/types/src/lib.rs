//! The words of Daybook: positions, identifiers and limits. No behaviour beyond what a word means.
//!
//! Positions are types, so that an offset can't be taken for an LSN; ranges are half-open; units stand last in names.

mod fault;
mod ident;
mod position;
mod time;

pub use fault::FaultKind;
pub use ident::{
    GroupId, IllegalName, NodeId, PartitionId, PartitionIndex, ProducerEpoch, ProducerId, ShardId, TopicId, TopicName,
    TransactionalId,
};
pub use position::{LeaderEpoch, Lsn, Offset, Position, StreamVersion, Term};
pub use time::TimestampMs;

/// Largest number of bytes an entry gathers before it is proposed; one larger command makes an entry of its own.
pub const ENTRY_BYTES_MAX: usize = 1024 * 1024;
