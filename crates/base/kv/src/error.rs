//! What can go wrong in the index store.

use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use daybook_types::FaultKind;
use thiserror::Error;

use crate::{KEY_BYTES_MAX, Space, VALUE_BYTES_MAX};

#[derive(Debug, Error)]
pub enum KvError {
    #[error("another process has the index store in {} open", dir.display())]
    Locked { dir: PathBuf },
    #[error("the index store in {} has another format version than this program reads", dir.display())]
    Version { dir: PathBuf },
    #[error("can't open the index store in {}: {source}", dir.display())]
    Open { dir: PathBuf, source: fjall::Error },
    /// The engine panicked over what it found.
    #[error("the index store in {} is damaged beyond what its engine can name", dir.display())]
    Unreadable { dir: PathBuf },
    #[error("can't read the index store, space {space}: {source}")]
    Read { space: Space, source: fjall::Error },
    #[error("the index store has a malformed entry in space {space}: {cause}")]
    Malformed { space: Space, cause: String },
    /// What was committed before is untouched; whether this batch is there is known only after the store is opened again.
    #[error("can't commit to the index store: {source}")]
    Commit { source: fjall::Error },
    #[error("a key of space {space} has {bytes} bytes, 1 to {KEY_BYTES_MAX} are possible")]
    Key { space: Space, bytes: usize },
    #[error("a value of space {space} has {bytes} bytes, at most {VALUE_BYTES_MAX} are possible")]
    Value { space: Space, bytes: usize },
}

impl KvError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Locked { .. } | Self::Version { .. } | Self::Key { .. } | Self::Value { .. } => FaultKind::Reject,
            Self::Unreadable { .. } | Self::Malformed { .. } => FaultKind::Corrupt,
            Self::Open { source, .. } | Self::Read { source, .. } => match io_cause(source) {
                Some(_) => FaultKind::RetryLater,
                None => FaultKind::Corrupt,
            },
            // After a failed write or fsync the engine takes no more.
            Self::Commit { .. } => FaultKind::Closed,
        }
    }

    /// Whether there was no space left for it.
    pub fn is_full(&self) -> bool {
        let source = match self {
            Self::Open { source, .. } | Self::Read { source, .. } | Self::Commit { source } => source,
            _ => return false,
        };
        io_cause(source)
            .is_some_and(|cause| matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }
}

/// The I/O error at the bottom of an engine's error, if there is one.
fn io_cause(error: &fjall::Error) -> Option<&io::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref() {
            return Some(io);
        }
        cause = error.source();
    }
    None
}
