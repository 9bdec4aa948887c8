//! The record files of partitions: batches exactly as on the wire, in segments named by their first offset, each with a sparse
//! index beside it. `docs/formats/segment.md` draws the bytes.
//!
//! One thread, the checkpoint's, appends; any number of threads read. The order is: [`PartitionFiles::append`], then
//! [`PartitionFiles::sync`], then the checkpoint commits [`PartitionFiles::ends`] elsewhere, then [`PartitionFiles::publish`] shows
//! the new records to readers. After a crash [`PartitionStore::restore`] cuts the files to the ends that were committed last, so
//! what a file holds beyond them was never there.
//!
//! Records that nobody needs any more go by [`PartitionFiles::rewrite`], on a thread of its own: it writes a segment anew without them,
//! under another name. The next checkpoint takes it in ([`PartitionStore::adopt_rewritten`]), `ends` name it in the place of the old
//! one, `publish` shows it. Whatever moment a crash chooses, the ends that were committed name one of the two, whole, and
//! `restore` removes the other. Offsets never change, so there are gaps: between segments, between batches and within them.
//!
//! Nothing damaged is served: before a range of a file that another process wrote is first handed out, its checksums and the order
//! of its offsets are checked; what this process appended was checked before. The index is a hint: where it is missing or wrong, the segment is scanned from its start.

mod append;
mod ends;
mod error;
mod files;
mod handles;
mod index;
mod name;
mod ranges;
mod read;
mod rewrite;
mod store;
mod verify;

pub use append::{Roll, StampedBatch};
pub use ends::{EndsError, FileEnds, SegmentEnds};
pub use error::{Damage, ReadError, RestoreError};
pub use files::PartitionFiles;
pub use handles::FILES_OPEN_MAX;
pub use read::FileSlice;
pub use rewrite::{Fate, RewriteError, Rewritten, Sieve};
pub use store::PartitionStore;
pub use verify::Verified;
