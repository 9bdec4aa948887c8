//! One shard: its files, its proposer, its checkpoints, and the thread on which consensus and apply run.
//!
//! Invariants:
//! - the WAL is the only thing fsynced per write; everything else is a cache as of the last checkpoint;
//! - a checkpoint is committed by one atomic batch in the index store, after the partition files it names are fsynced;
//! - after a failed write or fsync the shard takes no more writes until it is started anew; reads go on.
//!
//! The shard does not know what is posted: whoever starts it brings a `Posting`.

mod checkpoint;
mod flight;
mod posting;
mod proposer;
mod shard;
mod status;
mod storage;

pub use posting::{Content, MoreOps, PartitionAppend, Posting};
pub use shard::{Shard, ShardOptions, StartShardError};
pub use status::{ShardStatus, StatusWatch};
pub use storage::{OpenStorageError, Storage, StorageOptions};

pub use daybook_consensus::{At, record_kind};
