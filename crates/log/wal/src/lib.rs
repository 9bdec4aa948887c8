//! The write-ahead log of one shard: the Raft log's durable bytes, and the only thing fsynced for a write.
//!
//! Append-only segment files of fixed length, made ahead and used again; what each byte means is drawn in
//! `docs/formats/wal.md`. Here begins a reader at [`Wal`], which puts together: `writer` (records into segments),
//! `sync` (one fdatasync for all that waits), `spare` (the next segment, ready before it is needed), `index` (where
//! each entry lies), `read`, and on the way up `walk` and `recovery`.
//!
//! What holds:
//!
//! - What was reported durable is there after any crash or power cut, or opening says which file, byte and LSN is
//!   damaged.
//! - A torn tail (never durable) is cut with a line in the log. Damage changes nothing on disk.
//! - After a failed write or sync nothing more is written; reads go on.
//! - This crate knows neither Raft nor what an entry means.

mod directory;
mod error;
mod format;
mod hard_state;
mod index;
mod options;
mod read;
mod reader;
mod recovery;
mod scan;
mod spare;
mod sync;
mod wal;
mod walk;
mod writer;

pub use error::{Damage, DamageReason, Failure, FailureCause, OpenError, ReadError};
pub use format::PAYLOAD_BYTES_MAX;
pub use hard_state::HARD_STATE_BYTES_MAX;
pub use options::{OS_SYNC_BYTES, Options, SyncPolicy, UNSYNCED_BYTES_MAX, WAITING_APPENDS_MAX};
pub use read::Record;
pub use recovery::{Cut, Recovered, recover_bytes};
pub use scan::{Content, Scan, Scanned, scan};
pub use wal::Wal;
pub use writer::RecordRef;
