//! An event store over a shard in a directory of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use daybook_apply::ShardState;
use daybook_event_store::EventStore;
use daybook_read::Reader;
use daybook_shard::{Shard, ShardOptions, Storage, StorageOptions};
use daybook_types::{NodeId, ShardId};
use daybook_world::{Disk, RealClock, RealDisk};
use tempfile::TempDir;

/// No test waits longer for anything; it is no measure of anything.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Node {
    pub store: EventStore,
    _shard: Shard,
    _dir: TempDir,
}

impl Node {
    pub async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).unwrap());
        let wal = daybook_wal::Options { segment_bytes: 4 * 1024 * 1024, ..daybook_wal::Options::default() };
        let storage_options = StorageOptions { wal, kv: daybook_kv::Options::default() };
        let storage = Storage::open(&disk, dir.path(), Path::new("shard-0"), storage_options).unwrap();
        let state = ShardState::restore(&storage.kv).unwrap();
        let reader = Reader::new(state.posted(), Arc::clone(&storage.files));
        let shard_options = ShardOptions {
            node: NodeId(0),
            shard: ShardId(0),
            in_flight_bytes_max: 64 * 1024 * 1024,
            checkpoint_wal_bytes: 64 * 1024 * 1024,
            checkpoint_interval: Duration::from_secs(3600),
        };
        let shard = Shard::start(storage, state, Arc::new(RealClock), shard_options).await.unwrap();
        let store = EventStore::new(shard.door(), reader, daybook_event_store::Options::default());
        Self { store, _shard: shard, _dir: dir }
    }
}
