//! How far each file of a partition goes, as a checkpoint notes it.

use daybook_types::{FaultKind, Offset, TimestampMs};
use thiserror::Error;

use crate::name::SegmentName;

/// Versions of the encoding; which one it is stands first. The second has generations, and is written only where there are any, so
/// that a store in which nothing was ever rewritten stays readable for programs that know the first alone.
const PLAIN_VERSION: u8 = 1;
const GENERATIONS_VERSION: u8 = 2;
/// With how far the files are compacted, after the number of segments; only where they are.
const COMPACTED_VERSION: u8 = 3;
const HEAD_BYTES: usize = 1 + 4 + 8;
const SEGMENT_BYTES: usize = 5 * 8;
const GENERATION_BYTES: usize = 4;

/// The segments of a partition, ascending, and their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileEnds {
    pub segments: Vec<SegmentEnds>,
    /// Below it, the files hold only the latest record of each key: compaction has been there.
    pub compacted_to: Offset,
}

/// One segment: its name and how far its two files count. What is in them beyond that was never there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEnds {
    pub base_offset: Offset,
    /// How often what it holds was rewritten; part of its name.
    pub generation: u32,
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
    #[error("file ends of version {version} can't be read, only up to {COMPACTED_VERSION}")]
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
        let has_generations = self.segments.iter().any(|segment| segment.generation > 0);
        let mut out = Vec::with_capacity(HEAD_BYTES + self.segments.len() * (SEGMENT_BYTES + GENERATION_BYTES));
        let is_compacted = self.compacted_to > Offset(0);
        out.push(match (is_compacted, has_generations) {
            (true, _) => COMPACTED_VERSION,
            (false, true) => GENERATIONS_VERSION,
            (false, false) => PLAIN_VERSION,
        });
        out.extend((self.segments.len() as u32).to_be_bytes());
        if is_compacted {
            out.extend(self.compacted_to.0.to_be_bytes());
        }
        for segment in &self.segments {
            out.extend(segment.base_offset.0.to_be_bytes());
            out.extend(segment.next_offset.0.to_be_bytes());
            out.extend(segment.data_bytes.to_be_bytes());
            out.extend(segment.index_bytes.to_be_bytes());
            out.extend(segment.max_timestamp.0.to_be_bytes());
            if has_generations || is_compacted {
                out.extend(segment.generation.to_be_bytes());
            }
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, EndsError> {
        let truncated = EndsError::Truncated { bytes: bytes.len() };
        let (&version, rest) = bytes.split_first().ok_or(truncated)?;
        let row_bytes = match version {
            PLAIN_VERSION => SEGMENT_BYTES,
            GENERATIONS_VERSION | COMPACTED_VERSION => SEGMENT_BYTES + GENERATION_BYTES,
            _ => return Err(EndsError::Version { version }),
        };
        let (count, rest) = rest.split_first_chunk().ok_or(truncated)?;
        let count = u32::from_be_bytes(*count);
        let (compacted_to, rest) = if version == COMPACTED_VERSION {
            let (to, rest) = rest.split_first_chunk().ok_or(truncated)?;
            (Offset(i64::from_be_bytes(*to)), rest)
        } else {
            (Offset(0), rest)
        };
        if compacted_to < Offset(0) {
            return Err(EndsError::Order { base_offset: compacted_to });
        }
        if rest.len() as u64 != u64::from(count) * row_bytes as u64 {
            return Err(EndsError::Length { segments: count, bytes: bytes.len() });
        }
        let segments: Vec<_> = rest.chunks_exact(row_bytes).filter_map(segment).collect();
        let mut from = Offset(0);
        for segment in &segments {
            if segment.base_offset < from || segment.next_offset <= segment.base_offset {
                return Err(EndsError::Order { base_offset: segment.base_offset });
            }
            from = segment.next_offset;
        }
        Ok(Self { segments, compacted_to })
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

/// A row of either version; `None` only of one that is too short.
fn segment(row: &[u8]) -> Option<SegmentEnds> {
    let (fields, generation) = row.split_at_checked(SEGMENT_BYTES)?;
    let fields: &[[u8; 8]; 5] = fields.as_chunks().0.try_into().ok()?;
    Some(SegmentEnds {
        base_offset: Offset(i64::from_be_bytes(fields[0])),
        generation: generation.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes)),
        next_offset: Offset(i64::from_be_bytes(fields[1])),
        data_bytes: u64::from_be_bytes(fields[2]),
        index_bytes: u64::from_be_bytes(fields[3]),
        max_timestamp: TimestampMs(i64::from_be_bytes(fields[4])),
    })
}

impl SegmentEnds {
    pub(crate) fn name(&self) -> SegmentName {
        SegmentName { base: self.base_offset, generation: self.generation }
    }
}

#[cfg(test)]
mod tests;
