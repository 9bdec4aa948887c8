//! Kafka's record batch, version 2: the same bytes on the wire, in memory and in segment files.
//!
//! Who calls what:
//! - a door that takes batches from clients: [`batches`], then [`check`] each, [`check_records`] where records must be looked at;
//! - the log, which assigns offsets: [`stamp`], since the CRC covers neither base offset nor leader epoch;
//! - readers of files: [`verify`]; readers of records: [`records`], [`offset_for_timestamp`], [`latest_record`];
//! - whoever ends transactions: [`Marker`];
//! - whoever makes batches: [`BatchBuilder`]; whoever removes records from them: [`sift`].
//!
//! Everything here is a total function of its bytes: arbitrary input is an error, never a panic, and what it makes us allocate
//! is bounded by [`RECORDS_BYTES_MAX`]. The format is described in Kafka's documentation, "Record Batch" under "Message Format".

mod builder;
mod check;
mod compression;
mod error;
mod header;
mod marker;
mod partitioner;
mod record;
mod sift;
mod timestamp;
mod varint;
mod walk;
mod xerial;

pub use builder::BatchBuilder;
pub use check::{Batches, CheckedRecords, CrcCheck, WITHOUT_KEY_MAX, batches, check, check_records, verify};
pub use compression::Compression;
pub use error::{BatchError, RecordFault};
pub use header::{
    Attributes, BatchHeader, HEADER_BYTES, NO_SEQUENCE, STAMP_BYTES, TimestampType, sequence_plus, stamp,
};
pub use marker::{Marker, MarkerKind};
pub use partitioner::partition_of_key;
pub use record::{Record, RecordHeader, Records, records};
pub use sift::{Sifted, sift};
pub use timestamp::{latest_record, offset_for_timestamp, with_log_append_time, with_max_timestamp};

/// Largest size to which the records of one batch may decompress. Kafka has no such limit of its own; this one is far above what
/// its default `max.message.bytes` of 1 MiB holds of real data, and keeps a zip bomb from taking the node's memory.
pub const RECORDS_BYTES_MAX: usize = 128 * 1024 * 1024;
