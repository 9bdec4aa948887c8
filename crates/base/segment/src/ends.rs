//! How far each file of a partition goes, as a checkpoint notes it.

use daybook_types::{FaultKind, Offset, TimestampMs};
use thiserror::Error;

/// Version of the encoding; it stands first.
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 1 + 4;
const SEGMENT_BYTES: usize = 5 * 8;

/// The segments of a partition, ascending, and their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileEnds {
    pub segments: Vec<SegmentEnds>,
}

/// One segment: its name and how far its two files count. What is in them beyond that was never there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEnds {
    pub base_offset: Offset,
    /// The offset after its last batch.
    pub next_offset: Offset,
    pub data_bytes: u64,
    /// 0 where there is no index file.
    pub index_bytes: u64,
    /// Of all its batches, as their headers say.
    pub max_timestamp: TimestampMs,
}

/// Why bytes are no encoded [`FileEnds`].
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum EndsError {
    #[error("file ends of version {version} can't be read, only of {VERSION}")]
    Version { version: u8 },
    #[error("file ends of {segments} segments can't have {bytes} bytes")]
    Length { segments: u32, bytes: usize },
    #[error("file ends of {bytes} bytes are too short")]
    Truncated { bytes: usize },
    #[error("segment {base_offset} is out of order or ends before it begins")]
    Order { base_offset: Offset },
}

impl EndsError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Version { .. } => FaultKind::Reject,
            _ => FaultKind::Corrupt,
        }
    }
}

impl FileEnds {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES + self.segments.len() * SEGMENT_BYTES);
        out.push(VERSION);
        out.extend((self.segments.len() as u32).to_be_bytes());
        for segment in &self.segments {
            out.extend(segment.base_offset.0.to_be_bytes());
            out.extend(segment.next_offset.0.to_be_bytes());
            out.extend(segment.data_bytes.to_be_bytes());
            out.extend(segment.index_bytes.to_be_bytes());
            out.extend(segment.max_timestamp.0.to_be_bytes());
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, EndsError> {
        let truncated = EndsError::Truncated { bytes: bytes.len() };
        let (&version, rest) = bytes.split_first().ok_or(truncated)?;
        if version != VERSION {
            return Err(EndsError::Version { version });
        }
        let (count, rest) = rest.split_first_chunk().ok_or(truncated)?;
        let count = u32::from_be_bytes(*count);
        let (rows, []) = rest.as_chunks::<SEGMENT_BYTES>() else {
            return Err(EndsError::Length { segments: count, bytes: bytes.len() });
        };
        if rows.len() as u64 != u64::from(count) {
            return Err(EndsError::Length { segments: count, bytes: bytes.len() });
        }
        let segments: Vec<_> = rows.iter().map(segment).collect();
        let mut from = Offset(0);
        for segment in &segments {
            if segment.base_offset < from || segment.next_offset <= segment.base_offset {
                return Err(EndsError::Order { base_offset: segment.base_offset });
            }
            from = segment.next_offset;
        }
        Ok(Self { segments })
    }

    /// Without the segments that are wholly below `start`: what a checkpoint notes before [`crate::PartitionFiles::trim`] removes
    /// them.
    #[must_use]
    pub fn trimmed(mut self, start: Offset) -> Self {
        self.segments.retain(|segment| segment.next_offset > start);
        self
    }

    /// The offset after the last batch.
    pub fn next_offset(&self) -> Option<Offset> {
        self.segments.last().map(|segment| segment.next_offset)
    }
}

fn segment(row: &[u8; SEGMENT_BYTES]) -> SegmentEnds {
    let (fields, _) = row.as_chunks::<8>();
    let field = |index: usize| fields[index];
    SegmentEnds {
        base_offset: Offset(i64::from_be_bytes(field(0))),
        next_offset: Offset(i64::from_be_bytes(field(1))),
        data_bytes: u64::from_be_bytes(field(2)),
        index_bytes: u64::from_be_bytes(field(3)),
        max_timestamp: TimestampMs(i64::from_be_bytes(field(4))),
    }
}

#[cfg(test)]
mod tests;
