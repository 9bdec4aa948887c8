//! What the micro-benchmarks of a whole shard are made of: a shard on a temporary directory, and batches to append.
//!
//! The benchmarks of single parts stand beside them: `daybook-wal`, `daybook-segment`, `daybook-record`, `daybook-kv`.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use daybook_apply::ShardState;
use daybook_command::{AppendBatch, Command, CreateTopic, Door, Entry};
use daybook_read::Reader;
use daybook_record::{BatchBuilder, Compression};
use daybook_shard::{At, Posting, Shard, ShardOptions, Storage, StorageOptions};
use daybook_types::{Lsn, NodeId, PartitionId, PartitionIndex, ShardId, Term, TimestampMs, TopicId, TopicName};
use daybook_wal::{Options as WalOptions, SyncPolicy};
use daybook_world::{Disk, RealClock, RealDisk};
use tempfile::TempDir;

/// Partitions of the one topic.
pub const PARTITIONS: i32 = 16;
/// Bytes of a record's value.
pub const RECORD_BYTES: usize = 1024;
/// Records of a batch: Kafka producers fill 16 KiB by default.
pub const BATCH_RECORDS: usize = 15;

const SHARD_DIR: &str = "shard-0";

/// A running shard with one topic.
pub struct Running {
    pub shard: Shard,
    pub reader: Reader,
    runtime: tokio::runtime::Runtime,
}

/// The topic's id.
pub fn topic() -> TopicId {
    TopicId::from_bytes([7; 16])
}

pub fn partition(index: i32) -> PartitionId {
    PartitionId { topic: topic(), index: PartitionIndex(index) }
}

/// A batch as a Kafka producer sends it.
pub fn batch() -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None);
    for number in 0..BATCH_RECORDS {
        builder.push(TimestampMs(1_700_000_000_000 + number as i64), None, Some(&[b'x'; RECORD_BYTES]), &[]);
    }
    builder.build().expect("a few records make a batch")
}

/// A state with the topic, and an entry that appends one batch to each of its partitions.
pub fn state_and_entry() -> (ShardState, Entry) {
    let mut state = ShardState::empty();
    let create = Entry { time: TimestampMs(1), commands: vec![create_topic()] };
    state.apply(At { term: Term(1), lsn: Lsn(1) }, &create).expect("a state without files reads none");
    let batch = batch();
    let commands = (0..PARTITIONS).map(|index| append(index, &batch)).collect();
    (state, Entry { time: TimestampMs(2), commands })
}

fn create_topic() -> Command {
    let name = TopicName::new("bench").expect("a legal name");
    Command::CreateTopic(CreateTopic { id: topic(), name, partitions: PARTITIONS, configs: Vec::new() })
}

fn append(index: i32, batch: &Bytes) -> Command {
    Command::AppendBatch(AppendBatch { partition: partition(index), batch: batch.clone() })
}

impl Running {
    /// Starts the shard in `dir`. It checkpoints when it is stopped, not before.
    pub fn start(dir: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir).expect("the directory opens"));
        let wal = WalOptions { sync: SyncPolicy::Os, ..WalOptions::default() };
        let options = StorageOptions { wal, kv: daybook_kv::Options::default() };
        let storage = Storage::open(&disk, dir, Path::new(SHARD_DIR), options).expect("the shard opens");
        let state = ShardState::restore(&storage.kv).expect("the checkpoint is readable");
        let reader = Reader::new(state.posted(), Arc::clone(&storage.files));
        let options = ShardOptions {
            node: NodeId(1),
            shard: ShardId(0),
            in_flight_bytes_max: 16 * 1024 * 1024,
            checkpoint_wal_bytes: u64::MAX / 8,
            checkpoint_interval: Duration::from_secs(3600),
        };
        let started = Shard::start(storage, state, Arc::new(RealClock), options);
        let shard = runtime.block_on(started).expect("the shard starts");
        Self { shard, reader, runtime }
    }

    /// Makes the topic and appends `rounds` batches to each partition.
    pub fn fill(&self, rounds: usize) {
        let door = self.shard.door();
        self.runtime.block_on(async {
            if self.reader.partition(partition(0)).is_none() {
                propose(&door, vec![create_topic()]).await;
            }
            let batch = batch();
            for _ in 0..rounds {
                propose(&door, (0..PARTITIONS).map(|index| append(index, &batch)).collect()).await;
            }
        });
    }

    /// Stops in good order, with a last checkpoint.
    pub fn stop(self) {
        self.runtime.block_on(self.shard.stop());
    }
}

async fn propose(door: &Door, commands: Vec<Command>) {
    let pending = door.propose(commands).await.expect("the shard takes writes");
    pending.await.expect("the shard answers");
}

/// A copy of a data directory, as a killed process would have left it.
pub fn copy(from: &Path) -> TempDir {
    let to = TempDir::new().expect("a temporary directory can be made");
    copy_into(from, to.path()).expect("the directory can be copied");
    to
}

fn copy_into(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_into(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
