//! The sparse index of a segment: one file that answers for offsets, timestamps and positions.
//!
//! An entry names a batch by its base offset and says where it begins and how late the batches *before* it are. All three grow
//! from entry to entry, so each can be searched for. The segment's first batch needs no entry. Each entry carries a CRC32C: a
//! timestamp can't be checked against the batch, and a wrong one would make a search pass what it looks for.

use daybook_types::{Offset, TimestampMs};
use daybook_world::{DiskError, DiskFile};

pub(crate) const ENTRY_BYTES: usize = 24;
/// Entries read at once, when the search is down to so many: 4 KiB.
const BLOCK_ENTRIES: u64 = 170;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Base offset of the batch.
    pub offset: Offset,
    /// Where it begins in the data file. A segment is at most 2 GiB, but for a single larger batch.
    pub at: u32,
    /// The largest timestamp of the batches before it.
    pub max_timestamp_before: TimestampMs,
}

impl Entry {
    pub(crate) fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.offset.0.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.max_timestamp_before.0.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.at.to_be_bytes());
        let crc = crc_fast::crc32_iscsi(&bytes[..20]);
        bytes[20..].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    /// `None` if the checksum is wrong.
    pub(crate) fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let (offset, rest) = bytes.split_first_chunk()?;
        let (timestamp, rest) = rest.split_first_chunk()?;
        let (at, crc) = rest.split_first_chunk()?;
        let entry = Self {
            offset: Offset(i64::from_be_bytes(*offset)),
            max_timestamp_before: TimestampMs(i64::from_be_bytes(*timestamp)),
            at: u32::from_be_bytes(*at),
        };
        (crc == crc_fast::crc32_iscsi(&bytes[..20]).to_be_bytes()).then_some(entry)
    }
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Entry(Entry),
    /// Even the first entry lies beyond.
    Before,
    /// The index can't be used.
    Unreadable,
}

/// The last entry for which `below` holds; it must hold for all before one for which it holds. `bytes` of the file count.
pub(crate) fn last_where(file: &dyn DiskFile, bytes: u64, below: impl Fn(&Entry) -> bool) -> Result<Found, DiskError> {
    // `below` holds for all entries before `low` and for none from `high` on.
    let (mut low, mut high) = (0, bytes / ENTRY_BYTES as u64);
    let mut found = None;
    while high - low > BLOCK_ENTRIES {
        let middle = low + (high - low) / 2;
        let mut entry = [0; ENTRY_BYTES];
        let read = file.read_at(&mut entry, middle * ENTRY_BYTES as u64)?;
        match Entry::from_bytes(&entry) {
            Some(entry) if read == ENTRY_BYTES => {
                if below(&entry) {
                    (low, found) = (middle + 1, Some(entry));
                } else {
                    high = middle;
                }
            }
            _ => return Ok(Found::Unreadable),
        }
    }
    let mut block = vec![0; (high - low) as usize * ENTRY_BYTES];
    if file.read_at(&mut block, low * ENTRY_BYTES as u64)? != block.len() {
        return Ok(Found::Unreadable);
    }
    // Only the entries looked at are checked: a checksum costs more than the comparison.
    let entries: &[[u8; ENTRY_BYTES]] = block.as_chunks().0;
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match Entry::from_bytes(&entries[middle]) {
            Some(entry) if below(&entry) => (low, found) = (middle + 1, Some(entry)),
            Some(_) => high = middle,
            None => return Ok(Found::Unreadable),
        }
    }
    Ok(found.map_or(Found::Before, Found::Entry))
}

#[cfg(test)]
mod tests;
