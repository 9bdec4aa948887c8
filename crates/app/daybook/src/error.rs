//! Why a directory can't be opened.

use std::path::PathBuf;

use daybook_apply::RestoreError;
use daybook_shard::{OpenStorageError, StartShardError};
use daybook_world::DiskError;
use thiserror::Error;

use crate::data_dir::DataDirError;

#[derive(Debug, Error)]
pub enum OpenError {
    #[error("there is no tokio runtime here; open from within one that has its timer enabled")]
    NoRuntime,
    #[error(transparent)]
    Directory(#[from] DataDirError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("can't open {}: {source}", path.display())]
    Storage { path: PathBuf, source: OpenStorageError },
    #[error("can't read the checkpoint in {}: {source}", path.display())]
    Checkpoint { path: PathBuf, source: RestoreError },
    #[error(transparent)]
    Start(#[from] StartShardError),
    #[error("opening was broken off: {cause}; open again")]
    BrokenOff { cause: String },
}
