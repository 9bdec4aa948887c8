//! One partition: its end, what its producers sent last, and the batches no segment file holds yet.
//!
//! Two halves. `Partition` is apply's own: it decides whether a batch is taken and which offset it gets. `PartitionLog` is
//! shared with readers: the start, the end and the tail in memory. Pure but for waking those who wait for new records.
//!
//! Invariants: offsets are given without gaps, in the order of apply; the tail begins where the files end; a batch in the
//! tail never changes; the last stable offset is where the oldest open transaction begins, or the end, and never goes back.

mod aborted;
mod compaction;
mod log;
mod partition;
mod producer;
mod stored;
mod transaction;

pub use aborted::{AbortedIndex, AbortedTransaction};
pub use compaction::Compaction;
pub use log::{Appearance, Fate, PartitionLog, Tail, TailBatch};
pub use partition::{Circumstances, Partition, PartitionChanges};
pub use producer::{PRODUCERS_MAX, ProducerWindow};
pub use stored::{StoredPartition, StoredPartitionError};

#[cfg(test)]
mod tests;
