//! A shard's files: where they are, and how they come back after a restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use daybook_kv::{KvError, Space, Store};
use daybook_segment::{FileEnds, PartitionStore, RestoreError};
use daybook_types::{FaultKind, PartitionId, PartitionIndex, TopicId};
use daybook_wal::{Options as WalOptions, Wal};
use daybook_world::{Disk, DiskError};
use thiserror::Error;

/// Keys of the index store that belong to the shard itself. Disk format.
pub(crate) mod key {
    /// What consensus keeps: the checkpoint's log id, the members.
    pub const RAFT: &[u8] = b"raft";
    /// After a partition's id, in the space of partitions: where its files end.
    pub const ENDS: u8 = 1;
}

#[derive(Clone, Debug)]
pub struct StorageOptions {
    pub wal: WalOptions,
    pub kv: daybook_kv::Options,
}

/// The open files of one shard.
#[derive(Debug)]
pub struct Storage {
    pub kv: Arc<Store>,
    pub files: Arc<PartitionStore>,
    pub(crate) wal: Wal,
    pub(crate) raft_meta: Option<Bytes>,
}

#[derive(Debug, Error)]
pub enum OpenStorageError {
    #[error(transparent)]
    Wal(#[from] daybook_wal::OpenError),
    #[error(transparent)]
    Index(#[from] KvError),
    #[error(transparent)]
    Segment(#[from] RestoreError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("the index store names where the files of partition {partition} end, but can't be read")]
    Ends { partition: PartitionId },
    #[error("the index store has a key of no partition in the space of partitions")]
    Key,
}

impl Storage {
    /// Opens the shard at `dir` of `disk`, whose root is `root`: cuts partition files to the ends that the last checkpoint
    /// names and recovers the WAL behind it.
    pub fn open(
        disk: &Arc<dyn Disk>,
        root: &Path,
        dir: &Path,
        options: StorageOptions,
    ) -> Result<Self, OpenStorageError> {
        let (kv, files) = Self::open_posted(disk, root, dir, options.kv)?;
        let (wal, _) = Wal::open(Arc::clone(disk), &Self::wal_dir(dir), options.wal)?;
        let raft_meta = kv.get(Space::Meta, key::RAFT)?;
        Ok(Self { kv, files, wal, raft_meta })
    }

    /// Opens only what was posted: the index store, and partition files cut to the ends that the last checkpoint names.
    pub fn open_posted(
        disk: &Arc<dyn Disk>,
        root: &Path,
        dir: &Path,
        options: daybook_kv::Options,
    ) -> Result<(Arc<Store>, Arc<PartitionStore>), OpenStorageError> {
        // The store makes its files durable, not the name of its directory.
        let index = dir.join("index");
        disk.create_dir_all(&index)?;
        let kv = Store::open(&root.join(index), options)?;
        let files = PartitionStore::open(Arc::clone(disk), dir)?;
        for item in kv.scan(Space::Partitions, &[]) {
            let (key, value) = item?;
            let (partition, which) = split_key(&key).ok_or(OpenStorageError::Key)?;
            if which != key::ENDS {
                continue;
            }
            let ends = FileEnds::decode(&value).map_err(|_| OpenStorageError::Ends { partition })?;
            files.restore(partition, &ends)?;
        }
        files.sweep()?;
        Ok((Arc::new(kv), Arc::new(files)))
    }

    pub fn wal_dir(dir: &Path) -> PathBuf {
        dir.join("wal")
    }
}

/// The key of a partition's file ends.
pub(crate) fn ends_key(partition: PartitionId) -> Bytes {
    let mut key = Vec::with_capacity(21);
    key.extend_from_slice(partition.topic.as_bytes());
    key.extend_from_slice(&partition.index.0.to_be_bytes());
    key.push(key::ENDS);
    key.into()
}

/// A key in the space of partitions: the partition, and which of its values.
fn split_key(key: &[u8]) -> Option<(PartitionId, u8)> {
    let (topic, rest) = key.split_first_chunk::<16>()?;
    let (index, rest) = rest.split_first_chunk::<4>()?;
    let [which] = rest else { return None };
    let partition =
        PartitionId { topic: TopicId::from_bytes(*topic), index: PartitionIndex(i32::from_be_bytes(*index)) };
    Some((partition, *which))
}

impl OpenStorageError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Wal(error) => error.kind(),
            Self::Index(error) => error.kind(),
            Self::Segment(error) => error.kind(),
            Self::Disk(_) => FaultKind::RetryLater,
            Self::Ends { .. } | Self::Key => FaultKind::Corrupt,
        }
    }
}
