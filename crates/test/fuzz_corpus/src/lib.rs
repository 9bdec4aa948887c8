//! What the fuzz targets in `fuzz/` do with their bytes, so that `cargo test` does the same with the seed corpus.
//!
//! One function a target: it hands arbitrary bytes to a decoder, and where the decoder accepts them it asserts what must hold then. Bytes
//! behind a checksum are tried twice, as they are and with the checksum made right: a fuzzer would hardly find one by itself.

mod entry;
mod kafka_request;
mod record_batch;
mod stored;
mod wal_segment;

pub use entry::entry;
pub use kafka_request::kafka_request;
pub use record_batch::record_batch;
pub use stored::{StoredKind, stored};
pub use wal_segment::wal_segment;

/// What the decoder said of the bytes as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accepted,
    Refused,
}

impl Verdict {
    fn of<T, E>(result: &Result<T, E>) -> Self {
        if result.is_ok() { Self::Accepted } else { Self::Refused }
    }
}

/// A fuzz target: its name, which is that of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]) -> Verdict);

pub const TARGETS: [Target; 5] = [
    ("entry", entry),
    ("kafka_request", kafka_request),
    ("record_batch", record_batch),
    ("stored", stored),
    ("wal_segment", wal_segment),
];
