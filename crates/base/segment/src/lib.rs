//! The record files of partitions: batches exactly as on the wire, in segments named by their first offset, each with a sparse
//! index beside it. `docs/formats/segment.md` draws the bytes.
//!
//! One thread, the checkpoint's, appends; any number of threads read. The order is: [`PartitionFiles::append`], then
//! [`PartitionFiles::sync`], then the checkpoint commits [`PartitionFiles::ends`] elsewhere, then [`PartitionFiles::publish`] shows
//! the new records to readers. After a crash [`PartitionStore::restore`] cuts the files to the ends that were committed last, so
//! what a file holds beyond them was never there.
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
mod store;
mod verify;

pub use append::{Roll, StampedBatch};
pub use ends::{EndsError, FileEnds, SegmentEnds};
pub use error::{Damage, ReadError, RestoreError};
pub use files::PartitionFiles;
pub use handles::FILES_OPEN_MAX;
pub use read::FileSlice;
pub use store::PartitionStore;
pub use verify::Verified;
