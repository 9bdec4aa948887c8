//! What the log asks of a disk.

use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

/// A tree of files. Names (create, rename, remove) are durable only after `sync_dir` of the directory that holds them.
pub trait Disk: Send + Sync + fmt::Debug + 'static {
    /// Makes `path` and its parents; durable on return.
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError>;
    /// Names in `path`, sorted; empty if the directory doesn't exist.
    fn list(&self, path: &Path) -> Result<Vec<String>, DiskError>;
    /// Makes an empty file, or empties the one that is there.
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, DiskError>;
    /// Opens for reading and writing.
    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, DiskError>;
    fn exists(&self, path: &Path) -> Result<bool, DiskError>;
    /// Replaces `to` if it is there.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;
    fn remove(&self, path: &Path) -> Result<(), DiskError>;
    /// Removes a directory and all in it.
    fn remove_dir_all(&self, path: &Path) -> Result<(), DiskError>;
    fn sync_dir(&self, path: &Path) -> Result<(), DiskError>;
    /// Bytes that can still be written to this disk.
    fn bytes_free(&self) -> Result<u64, DiskError>;
}

/// An open file. Positional, so that it is shared without a cursor.
pub trait DiskFile: Send + Sync + fmt::Debug + 'static {
    /// Writes all of `parts`, one after the other, from byte `at`.
    fn write_all_at(&self, parts: &[IoSlice<'_>], at: u64) -> Result<(), DiskError>;
    /// Fills `buffer` from byte `at`; fewer bytes only at the end of the file. Returns how many.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize, DiskError>;
    /// Makes all bytes written durable, with the length (fdatasync).
    fn sync_data(&self) -> Result<(), DiskError>;
    fn len(&self) -> Result<u64, DiskError>;
    fn is_empty(&self) -> Result<bool, DiskError> {
        Ok(self.len()? == 0)
    }
    /// Cuts, or extends by zeros.
    fn set_len(&self, bytes: u64) -> Result<(), DiskError>;
    /// The kernel's handle, where there is one: what sendfile needs.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    CreateDir,
    List,
    Create,
    Open,
    Inspect,
    Rename,
    Remove,
    Write,
    Read,
    Sync,
    Resize,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CreateDir => "create directory",
            Self::List => "list",
            Self::Create => "create",
            Self::Open => "open",
            Self::Inspect => "inspect",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::Write => "write",
            Self::Read => "read",
            Self::Sync => "sync",
            Self::Resize => "resize",
        })
    }
}

/// A file operation that failed.
#[derive(Debug, Error)]
#[error("can't {verb} {}: {source}", path.display())]
pub struct DiskError {
    pub verb: Verb,
    pub path: PathBuf,
    pub source: io::Error,
}

impl DiskError {
    pub fn is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    pub fn is_missing(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}
