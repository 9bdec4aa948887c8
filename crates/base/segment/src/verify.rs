//! Walks all that readers see, for `daybook log verify`.

use daybook_record::{BatchError, verify};
use daybook_types::TimestampMs;

use crate::index::{ENTRY_BYTES, Entry};
use crate::name::Kind;
use crate::read::{Placed, View};
use crate::{Damage, PartitionFiles, ReadError};

/// What was read without finding damage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub segments: u64,
    pub batches: u64,
    pub records: u64,
    /// Of records.
    pub bytes: u64,
    pub index_entries: u64,
}

impl PartitionFiles {
    /// Reads every batch and every index entry: checksums, order of offsets, ends and largest timestamps as noted, entries that point
    /// at batches. `progress` gets the number of bytes read since its last call. Ends at the first damage.
    pub fn verify(&self, mut progress: impl FnMut(u64)) -> Result<Verified, ReadError> {
        let mut verified = Verified::default();
        let mut from = daybook_types::Offset(0);
        while let Some(view) = self.view(|segments| segments.partition_point(|s| s.ends.next_offset <= from))? {
            let mut index = IndexWalk::open(self, &view)?;
            let mut latest = TimestampMs::NONE;
            let mut scan = view.scan(0, view.ends.base_offset);
            while let Some(placed) = scan.next()? {
                index.pass(&view, placed, latest)?;
                verify_batch(&view, placed)?;
                latest = latest.max(placed.header.max_timestamp);
                verified.batches += 1;
                verified.records += placed.header.record_count as u64;
                verified.bytes += placed.header.batch_bytes as u64;
                progress(placed.header.batch_bytes as u64);
            }
            if latest != view.ends.max_timestamp {
                let damage = Damage::Timestamp { found: latest, expected: view.ends.max_timestamp };
                return Err(view.damaged(view.ends.data_bytes, view.ends.next_offset, damage));
            }
            verified.index_entries += index.finish(&view)?;
            verified.segments += 1;
            from = view.ends.next_offset;
        }
        Ok(verified)
    }
}

fn verify_batch(view: &View<'_>, placed: Placed) -> Result<(), ReadError> {
    let damaged = |fault: BatchError| view.damaged(placed.at, placed.header.base_offset, Damage::Batch(fault));
    let mut bytes = vec![0; placed.header.batch_bytes];
    view.fill(&mut bytes, placed.at, placed.header.base_offset)?;
    verify(&bytes).map_err(damaged)?;
    Ok(())
}

/// The entries of an index, held against the batches as these go by.
struct IndexWalk {
    /// The whole file: at most 24 bytes for each interval of a segment.
    bytes: Vec<u8>,
    next: usize,
}

impl IndexWalk {
    fn open(files: &PartitionFiles, view: &View<'_>) -> Result<Self, ReadError> {
        let end = view.ends.index_bytes;
        let mut bytes = vec![0; end as usize];
        if end > 0 {
            let read = files.file(view.ends.name(), Kind::Index)?.read_at(&mut bytes, 0)?;
            if (read as u64) < end {
                return Err(damaged(view, read, Damage::Short { end }));
            }
        }
        if !bytes.len().is_multiple_of(ENTRY_BYTES) {
            return Err(damaged(view, bytes.len(), Damage::EntryPart));
        }
        Ok(Self { bytes, next: 0 })
    }

    /// `latest` is the largest timestamp before the batch.
    fn pass(&mut self, view: &View<'_>, placed: Placed, latest: TimestampMs) -> Result<(), ReadError> {
        let Some(entry) = self.bytes[self.next * ENTRY_BYTES..].first_chunk() else { return Ok(()) };
        let at = self.next * ENTRY_BYTES;
        let entry = Entry::from_bytes(entry).ok_or_else(|| damaged(view, at, Damage::EntryCrc))?;
        if u64::from(entry.at) > placed.at {
            return Ok(());
        }
        if u64::from(entry.at) < placed.at {
            // The walk has been past it, so it points into a batch, or back.
            return Err(damaged(view, at, if self.next == 0 { Damage::EntryTarget } else { Damage::EntryOrder }));
        }
        if entry.offset != placed.header.base_offset || entry.max_timestamp_before != latest {
            return Err(damaged(view, at, Damage::EntryTarget));
        }
        self.next += 1;
        Ok(())
    }

    /// All entries must have met their batch. Returns how many.
    fn finish(self, view: &View<'_>) -> Result<u64, ReadError> {
        let count = self.bytes.len() / ENTRY_BYTES;
        if self.next < count {
            return Err(damaged(view, self.next * ENTRY_BYTES, Damage::EntryTarget));
        }
        Ok(count as u64)
    }
}

fn damaged(view: &View<'_>, at: usize, damage: Damage) -> ReadError {
    ReadError::Damaged { file: view.file(Kind::Index), at: at as u64, offset: view.ends.base_offset, damage }
}
