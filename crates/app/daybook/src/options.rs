//! How the engine is to work.

use std::time::Duration;

use daybook_shard::{ShardOptions, StorageOptions};
use daybook_types::{NodeId, ShardId};
use daybook_wal::SyncPolicy;

/// The defaults are those of the server.
///
/// ```
/// use daybook::{Options, SyncPolicy};
///
/// // A power cut may take the last moments, a crash of the process nothing.
/// let options = Options { sync: SyncPolicy::Os, ..Options::default() };
/// assert_eq!(options.default_partitions, 1);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of this node, written into the directory at the first start; the same ever after.
    pub node_id: u32,
    /// When an append counts as durable.
    pub sync: SyncPolicy,
    /// Size to which a file of the log is preallocated.
    pub wal_segment_bytes: u64,
    /// Bytes of appends between their acceptance and their answer; beyond them an append waits.
    pub in_flight_bytes_max: usize,
    /// Bytes of log after which a checkpoint is taken; what a start replays at most, about.
    pub checkpoint_wal_bytes: u64,
    /// Age at which a checkpoint is taken if anything was written.
    pub checkpoint_interval: Duration,
    /// Partitions of a category's topic when its first stream is written: what Kafka's consumers of that topic can share.
    pub default_partitions: u32,
}

const MIB: u64 = 1024 * 1024;

impl Default for Options {
    fn default() -> Self {
        Self {
            node_id: 1,
            sync: SyncPolicy::Always,
            wal_segment_bytes: 64 * MIB,
            in_flight_bytes_max: 64 * MIB as usize,
            checkpoint_wal_bytes: 64 * MIB,
            checkpoint_interval: Duration::from_secs(60),
            default_partitions: 1,
        }
    }
}

impl Options {
    pub(crate) fn storage(&self) -> StorageOptions {
        let wal = daybook_wal::Options {
            segment_bytes: self.wal_segment_bytes,
            sync: self.sync,
            ..daybook_wal::Options::default()
        };
        StorageOptions { wal, kv: daybook_kv::Options::default() }
    }

    pub(crate) fn shard(&self) -> ShardOptions {
        ShardOptions {
            node: NodeId(self.node_id),
            shard: ShardId(0),
            in_flight_bytes_max: self.in_flight_bytes_max,
            checkpoint_wal_bytes: self.checkpoint_wal_bytes,
            checkpoint_interval: self.checkpoint_interval,
        }
    }

    pub(crate) fn store(&self) -> daybook_event_store::Options {
        let default_partitions = i32::try_from(self.default_partitions).unwrap_or(i32::MAX);
        daybook_event_store::Options { default_partitions }
    }
}
