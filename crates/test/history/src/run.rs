//! A shard on a disk that can lose power.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use daybook_apply::ShardState;
use daybook_read::{Piece, Reader};
use daybook_record::STAMP_BYTES;
use daybook_shard::{Shard, ShardOptions, Storage, StorageOptions};
use daybook_sim::FaultDisk;
use daybook_types::{NodeId, Offset, PartitionId, ShardId};
use daybook_wal::{Options as WalOptions, SyncPolicy};
use daybook_world::{Disk, RealClock};
use tempfile::TempDir;

use crate::journal::{Journal, Journaled};
use crate::workload::Acknowledged;

/// The files of one shard, and the shard when it runs.
pub struct Machine {
    pub disk: FaultDisk,
    /// The index store keeps its own files on the real disk: what it committed is durable, what it didn't is not there.
    index: TempDir,
    pub journal: Journal,
}

/// A shard at work.
pub struct Running {
    pub shard: Shard,
    pub reader: Reader,
    pub posted: Journaled,
}

impl Default for Machine {
    fn default() -> Self {
        let index = TempDir::new().expect("a temporary directory can be made");
        Self { disk: FaultDisk::new(), index, journal: Journal::default() }
    }
}

impl Machine {
    /// Starts the shard on what the disk holds. Small files and checkpoints, so that a short run sees many.
    pub async fn start(&self, checkpoint_wal_bytes: u64) -> Running {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let wal = WalOptions {
            segment_bytes: 128 * 1024,
            first_segment_bytes: 32 * 1024,
            spare_segments_max: 1,
            sync: SyncPolicy::Always,
        };
        let options = StorageOptions { wal, kv: daybook_kv::Options::default() };
        let storage = Storage::open(&disk, self.index.path(), Path::new("shard-0"), options).expect("the shard opens");
        let state = ShardState::restore(&storage.kv).expect("the checkpoint is readable");
        let reader = Reader::new(state.posted(), Arc::clone(&storage.files));
        let posted = self.journal.over(state);
        let options = ShardOptions {
            node: NodeId(1),
            shard: ShardId(0),
            in_flight_bytes_max: 1024 * 1024,
            checkpoint_wal_bytes,
            checkpoint_interval: Duration::from_secs(3600),
        };
        let shard =
            Shard::start(storage, posted.clone(), Arc::new(RealClock), options).await.expect("the shard starts");
        Running { shard, reader, posted }
    }

    /// Cuts the power under a running shard and leaves what the next start finds.
    pub async fn cut_power(&mut self, running: Running, seed: u64) {
        self.disk = self.disk.power_cut(seed);
        let Running { shard, reader, posted } = running;
        // The dead program's threads end before the next one opens the index store, which is not of this disk.
        shard.stop().await;
        drop((reader, posted));
    }
}

impl Running {
    /// Checks everything that must hold at a quiet moment.
    pub fn check(&self, journal: &Journal, acknowledged: &Acknowledged) {
        let live = self.posted.state.lock().digest();
        assert_eq!(live, journal.replay(), "replaying the log gives another state:\n{live}");
        let stored = self.read_everything();
        for ((partition, offset), content) in &acknowledged.appends {
            if acknowledged.maybe_deleted.contains(&partition.topic) {
                continue;
            }
            let found = stored.get(&(*partition, *offset));
            assert_eq!(found, Some(content), "partition {partition} has lost or changed the batch at {offset}");
        }
    }

    /// Every batch of every partition by its base offset, without the bytes that the log sets.
    pub fn read_everything(&self) -> BTreeMap<(PartitionId, Offset), Bytes> {
        let mut all = BTreeMap::new();
        for topic in self.reader.catalog().topics() {
            for partition in topic.partition_ids() {
                let ends = self.reader.partition(partition).expect("a listed partition exists");
                let mut next = ends.start_offset;
                while next < ends.end_offset {
                    let fetched =
                        self.reader.read(partition, next, 64 * 1024, true).expect("the partition is readable");
                    for batch in daybook_record::batches(join(&fetched.pieces)) {
                        let (header, bytes) = batch.expect("whole batches are read");
                        daybook_record::check(&bytes).expect("no batch is damaged");
                        assert_eq!(header.base_offset, next, "offsets of {partition} have a gap");
                        next = header.next_offset();
                        all.insert((partition, header.base_offset), bytes.slice(STAMP_BYTES..));
                    }
                    assert_eq!(next, fetched.next_offset);
                }
            }
        }
        all
    }
}

fn join(pieces: &[Piece]) -> Bytes {
    let mut joined = BytesMut::new();
    for piece in pieces {
        match piece {
            Piece::Memory(bytes) => joined.extend_from_slice(bytes),
            Piece::File(slice) => joined.extend_from_slice(&slice.to_bytes().expect("the file is readable")),
        }
    }
    joined.freeze()
}
