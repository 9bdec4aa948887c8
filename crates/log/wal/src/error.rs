//! What can go wrong, an enum for each operation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use daybook_types::{FaultKind, Lsn};
use daybook_world::DiskError;
use thiserror::Error;

/// Why a change to the log wasn't made durable. After a failed write or sync every waiting and every later change gets
/// the same, until the log is opened anew.
#[derive(Clone, Debug, Error)]
#[error(transparent)]
pub struct Failure(Arc<FailureCause>);

/// What stopped the change.
#[derive(Debug, Error)]
pub enum FailureCause {
    /// A write, an fdatasync or a change of a name failed; the error has verb and path.
    #[error("the log takes no more writes: {0}")]
    Disk(#[from] DiskError),
    /// An entry that had to be read for this is damaged. Only this call failed; the log goes on.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// It was closed.
    #[error("the log is closed")]
    Closed,
}

impl Failure {
    pub fn kind(&self) -> FaultKind {
        match *self.0 {
            FailureCause::Disk(_) => FaultKind::RetryLater,
            FailureCause::Damage(_) => FaultKind::Corrupt,
            FailureCause::Closed => FaultKind::Closed,
        }
    }

    /// Whether more space and a restart cure it.
    pub fn is_disk_full(&self) -> bool {
        matches!(&*self.0, FailureCause::Disk(error) if error.is_full())
    }

    pub fn cause(&self) -> &FailureCause {
        &self.0
    }
}

impl<E: Into<FailureCause>> From<E> for Failure {
    fn from(cause: E) -> Self {
        Self(Arc::new(cause.into()))
    }
}

/// Stored bytes that aren't what was written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} is damaged at byte {byte}{}: {reason}", file.display(), lsn.map(|lsn| format!(" (LSN {lsn})")).unwrap_or_default())]
pub struct Damage {
    pub file: PathBuf,
    /// Where the first thing that doesn't check out begins.
    pub byte: u64,
    /// Of the first entry that can't be read, where it is known.
    pub lsn: Option<Lsn>,
    pub reason: DamageReason,
}

/// How the damage is known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DamageReason {
    #[error("no segment header")]
    SegmentHeader,
    #[error("the file ends there, it had {expected_bytes} bytes")]
    CutShort { expected_bytes: u64 },
    #[error(
        "a record that was durable is missing or broken, as {} says at byte {proof_byte}; restore the file from a copy",
        proof_file.display()
    )]
    RecordLost { proof_file: PathBuf, proof_byte: u64 },
    #[error("the checksum doesn't fit")]
    Checksum,
    #[error("a whole record stands where it can't")]
    OutOfPlace,
    #[error("the bytes after a broken record look like too many records to decide whether a durable one is lost")]
    Undecidable,
    #[error("another segment has the same records")]
    SegmentTwice,
    #[error("there is a hard state but no segment")]
    SegmentsGone,
}

/// Why a log can't be opened or scanned. Nothing on disk was changed.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Damage(#[from] Damage),
    #[error("{} has format version {version}, this program knows {known}; use a newer one", file.display())]
    Version { file: PathBuf, version: u32, known: u32 },
}

impl OpenError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Disk(_) => FaultKind::RetryLater,
            Self::Damage(_) => FaultKind::Corrupt,
            Self::Version { .. } => FaultKind::Reject,
        }
    }
}

/// Why entries can't be read.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("LSN {from} is not kept any more, the log begins after {purged}")]
    Purged { from: Lsn, purged: Lsn },
    #[error(transparent)]
    Damage(#[from] Damage),
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl ReadError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Purged { .. } => FaultKind::Reject,
            Self::Damage(_) => FaultKind::Corrupt,
            Self::Disk(_) => FaultKind::RetryLater,
        }
    }
}

impl Damage {
    pub(crate) fn new(file: &Path, byte: u64, lsn: Option<Lsn>, reason: DamageReason) -> Self {
        Self { file: file.to_owned(), byte, lsn, reason }
    }
}
