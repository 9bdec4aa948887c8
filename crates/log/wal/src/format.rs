//! The bytes of a segment file: header and record headers, made and read. Drawn in `docs/formats/wal.md`.
//!
//! All integers are little-endian. Every record begins at a multiple of [`ALIGN`], so that a search after a damaged one
//! knows where to look. A record's checksum starts from its segment's header checksum, so the bytes of another segment,
//! be they remnants of the file's former use or a copy inside a payload, never pass for records of this one.

use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest};
use daybook_types::{Lsn, Term};

pub(crate) const FORMAT_VERSION: u32 = 1;
pub(crate) const SEGMENT_HEADER_BYTES: u64 = 64;
pub(crate) const RECORD_HEADER_BYTES: u64 = 48;
pub(crate) const ALIGN: u64 = 8;
/// Largest payload of a record, so that positions in a segment fit 32 bits.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 30;

const MAGIC: [u8; 8] = *b"daybkWAL";
/// Stands for "no record precedes".
const NO_LSN: u64 = u64::MAX;

/// A record's place in Raft's log.
pub(crate) type LogId = (Term, Lsn);

/// Number of a record in the WAL, control records included; +1 from record to record, across segments, never reused.
/// The first is 1, so that 0 as "synced" means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Seq(pub u64);

impl Seq {
    pub(crate) const FIRST: Self = Self(1);

    /// Only meets its limit in a forged file; stops there instead of overflowing.
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The one before, 0 before the first.
    pub(crate) fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

/// Where the checksums of a segment's records start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(Digest);

impl Seed {
    fn new(header_crc: u32) -> Self {
        let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
        digest.update(&header_crc.to_le_bytes());
        Self(digest)
    }

    pub(crate) fn digest(&self) -> Digest {
        self.0
    }
}

/// First bytes of a segment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// Length of the file.
    pub capacity: u32,
    /// Of the first record in it.
    pub first_seq: Seq,
    /// Highest known durable when this was written.
    pub synced: Seq,
    /// The last entry before this segment.
    pub before: Option<LogId>,
    /// LSN that the first entry was expected to have; names the file, nothing depends on it.
    pub first_lsn: Lsn,
    /// Checksum of the record before this segment, 0 at the beginning of a log.
    pub prev: u32,
}

/// Why 64 bytes are no segment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    Damaged,
    Version(u32),
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> ([u8; SEGMENT_HEADER_BYTES as usize], Seed) {
        let (term, lsn) = encode_log_id(self.before);
        let mut bytes = [0; SEGMENT_HEADER_BYTES as usize];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.capacity.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_seq.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.synced.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&term.to_le_bytes());
        bytes[40..48].copy_from_slice(&lsn.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.first_lsn.0.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.prev.to_le_bytes());
        let crc = crc_fast::crc32_iscsi(&bytes[..60]);
        bytes[60..64].copy_from_slice(&crc.to_le_bytes());
        (bytes, Seed::new(crc))
    }

    pub(crate) fn decode(bytes: &[u8; SEGMENT_HEADER_BYTES as usize]) -> Result<(Self, Seed), HeaderFault> {
        let crc = u32_at(bytes, 60);
        if bytes[0..8] != MAGIC || crc != crc_fast::crc32_iscsi(&bytes[..60]) {
            return Err(HeaderFault::Damaged);
        }
        // After the checksum, so that a flipped bit isn't taken for a newer version. Magic, version and the checksum
        // keep their places in every version.
        match u32_at(bytes, 8) {
            FORMAT_VERSION => {}
            version => return Err(HeaderFault::Version(version)),
        }
        let header = Self {
            capacity: u32_at(bytes, 12),
            first_seq: Seq(u64_at(bytes, 16)),
            synced: Seq(u64_at(bytes, 24)),
            before: decode_log_id(u64_at(bytes, 32), u64_at(bytes, 40)),
            first_lsn: Lsn(u64_at(bytes, 48)),
            prev: u32_at(bytes, 56),
        };
        // Every segment has room for a record, and was begun when nothing from it on could be durable.
        let has_room = u64::from(header.capacity) >= SEGMENT_HEADER_BYTES + RECORD_HEADER_BYTES;
        if !has_room || header.first_seq == Seq(0) || header.synced >= header.first_seq {
            return Err(HeaderFault::Damaged);
        }
        Ok((header, Seed::new(crc)))
    }
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum What {
    /// An entry of the log: its own term and LSN.
    Entry = 1,
    /// From here on the log ends with the entry of this term and LSN.
    Truncate = 2,
    /// From here on nothing at or below this term and LSN is kept; beyond the last entry, the log goes on after it.
    Purge = 3,
    /// Nothing but its `synced`; closes a log, so that damage to the last entries can be told from a torn tail. Also
    /// stands in a segment that was left before it had a record, since each has at least one.
    Mark = 4,
}

/// First bytes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub crc: u32,
    pub payload_bytes: u32,
    /// Checksum of the record before.
    pub prev: u32,
    pub what: What,
    /// Of an entry, the caller's.
    pub kind: u8,
    pub seq: Seq,
    /// Highest known durable when this was written.
    pub synced: Seq,
    pub log_id: Option<LogId>,
}

impl RecordHeader {
    /// Fills in the checksum over what follows it: header, payload, padding.
    pub(crate) fn encode(&mut self, seed: &Seed, parts: &[Bytes]) -> [u8; RECORD_HEADER_BYTES as usize] {
        let (term, lsn) = encode_log_id(self.log_id);
        let mut bytes = [0; RECORD_HEADER_BYTES as usize];
        bytes[4..8].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.prev.to_le_bytes());
        bytes[12] = self.what as u8;
        bytes[13] = self.kind;
        bytes[16..24].copy_from_slice(&self.seq.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.synced.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&term.to_le_bytes());
        bytes[40..48].copy_from_slice(&lsn.to_le_bytes());
        let mut digest = seed.digest();
        digest.update(&bytes[4..]);
        for part in parts {
            digest.update(part);
        }
        digest.update(padding(self.payload_bytes));
        self.crc = finish(&digest);
        bytes[0..4].copy_from_slice(&self.crc.to_le_bytes());
        bytes
    }

    /// The fields, if they are of their kinds; says nothing about the checksum.
    pub(crate) fn decode(bytes: &[u8; RECORD_HEADER_BYTES as usize]) -> Option<Self> {
        let what = match bytes[12] {
            1 => What::Entry,
            2 => What::Truncate,
            3 => What::Purge,
            4 => What::Mark,
            _ => return None,
        };
        let payload_bytes = u32_at(bytes, 4);
        let reserved = u16::from_le_bytes([bytes[14], bytes[15]]);
        if reserved != 0 || payload_bytes as usize > PAYLOAD_BYTES_MAX {
            return None;
        }
        Some(Self {
            crc: u32_at(bytes, 0),
            payload_bytes,
            prev: u32_at(bytes, 8),
            what,
            kind: bytes[13],
            seq: Seq(u64_at(bytes, 16)),
            synced: Seq(u64_at(bytes, 24)),
            log_id: decode_log_id(u64_at(bytes, 32), u64_at(bytes, 40)),
        })
    }

    /// With header and padding.
    pub(crate) fn record_bytes(&self) -> u64 {
        record_bytes(u64::from(self.payload_bytes))
    }
}

/// Bytes of a record with a payload of this length.
pub(crate) fn record_bytes(payload_bytes: u64) -> u64 {
    (RECORD_HEADER_BYTES + payload_bytes).next_multiple_of(ALIGN)
}

/// The zeros after a payload of this length.
pub(crate) fn padding(payload_bytes: u32) -> &'static [u8] {
    let count = u64::from(payload_bytes).next_multiple_of(ALIGN) - u64::from(payload_bytes);
    &[0; ALIGN as usize][..count as usize]
}

pub(crate) fn finish(digest: &Digest) -> u32 {
    // The 32-bit algorithm leaves the upper half empty.
    digest.finalize() as u32
}

fn encode_log_id(log_id: Option<LogId>) -> (u64, u64) {
    log_id.map_or((0, NO_LSN), |(term, lsn)| (term.0, lsn.0))
}

fn decode_log_id(term: u64, lsn: u64) -> Option<LogId> {
    (lsn != NO_LSN).then_some((Term(term), Lsn(lsn)))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
