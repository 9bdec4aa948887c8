//! How a checkpoint keeps a partition.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_types::{Offset, TimestampMs};
use thiserror::Error;

const FORMAT_VERSION: u8 = 1;

/// A partition as a checkpoint keeps it, producers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredPartition {
    pub start: Offset,
    pub end: Offset,
    pub contents: u64,
    pub max_timestamp: Option<(TimestampMs, Offset)>,
}

/// Stored state that can't be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoredPartitionError {
    #[error("the stored partition has format version {found}, this program knows up to {known}")]
    NewerFormat { found: u8, known: u8 },
    #[error("the stored partition is malformed")]
    Malformed,
}

impl StoredPartition {
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORMAT_VERSION);
        out.put_i64(self.start.0);
        out.put_i64(self.end.0);
        out.put_u64(self.contents);
        if let Some((timestamp, base_offset)) = self.max_timestamp {
            out.put_i64(timestamp.0);
            out.put_i64(base_offset.0);
        }
        out.freeze()
    }

    pub fn decode(mut bytes: Bytes) -> Result<Self, StoredPartitionError> {
        let version = bytes.try_get_u8().map_err(|_| StoredPartitionError::Malformed)?;
        if version > FORMAT_VERSION {
            return Err(StoredPartitionError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        if bytes.len() != 24 && bytes.len() != 40 {
            return Err(StoredPartitionError::Malformed);
        }
        let (start, end, contents) = (Offset(bytes.get_i64()), Offset(bytes.get_i64()), bytes.get_u64());
        let max_timestamp = (!bytes.is_empty()).then(|| (TimestampMs(bytes.get_i64()), Offset(bytes.get_i64())));
        Ok(Self { start, end, contents, max_timestamp })
    }
}
