//! One partition: its end, what its producers sent last, and the batches no segment file holds yet.
//!
//! Two halves. `Partition` is apply's own: it decides whether a batch is taken and which offset it gets. `PartitionLog` is
//! shared with readers: the start, the end and the tail in memory. Pure but for waking those who wait for new records.
//!
//! Invariants: offsets are given without gaps, in the order of apply; the tail begins where the files end; a batch in the
//! tail never changes.

mod compaction;
mod log;
mod partition;
mod producer;

pub use compaction::Compaction;
pub use log::{Appearance, PartitionLog, Tail, TailBatch};
pub use partition::{
    ChangedProducers, Circumstances, Partition, PartitionChanges, StoredPartition, StoredPartitionError,
};
pub use producer::{PRODUCERS_MAX, ProducerWindow};

#[cfg(test)]
mod tests;
