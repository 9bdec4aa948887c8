//! Writes a segment's next generation.

use std::io::IoSlice;
use std::sync::Arc;

use daybook_record::BatchHeader;
use daybook_world::{DiskError, DiskFile};

use super::{Left, RewriteError, Sieve, Step, each_batch};
use crate::name::{Kind, SegmentName};
use crate::read::View;
use crate::{Damage, PartitionFiles, SegmentEnds};

/// Written at once.
const WRITE_BYTES: usize = 1024 * 1024;

/// Made durable at once, so that the log's own fsyncs don't wait behind gigabytes.
const SYNC_BYTES: u64 = 16 * 1024 * 1024;

/// A new generation of a segment under way.
pub(super) struct Writer<'a> {
    files: &'a PartitionFiles,
    generation: u32,
    index_interval_bytes: u64,
    /// With all batches so far; `None` before the first.
    pub ends: Option<SegmentEnds>,
    data: Option<Arc<dyn DiskFile>>,
    /// Batches that aren't in the file yet.
    buffer: Vec<u8>,
    unsynced: u64,
    entries: Vec<u8>,
    indexed_at: u64,
}

impl<'a> Writer<'a> {
    pub fn new(files: &'a PartitionFiles, old: &[SegmentEnds], index_interval_bytes: u64) -> Self {
        Self {
            files,
            // Four billion rewrites of one segment don't happen.
            generation: old.iter().map(|ends| ends.generation).max().unwrap_or_default().saturating_add(1),
            index_interval_bytes,
            ends: None,
            data: None,
            buffer: Vec::new(),
            unsynced: 0,
            entries: Vec::new(),
            indexed_at: 0,
        }
    }

    /// Writes all that is left of `view`. Returns how many records went.
    pub fn run<S: Sieve>(
        &mut self,
        view: &View<'_>,
        keeps_last: bool,
        sieve: &mut S,
    ) -> Result<u64, RewriteError<S::Error>> {
        let mut removed = 0;
        each_batch(view, keeps_last, sieve, |left| {
            let (header, bytes) = match left {
                Left::All(header, bytes) => (header, bytes),
                Left::Nothing(records) => {
                    removed += records;
                    return Ok(Step::Wrote(0));
                }
                Left::Some(sifted) => {
                    removed += u64::from(sifted.removed_records().unsigned_abs());
                    let built =
                        |fault| RewriteError::Read(view.damaged(0, view.ends.base_offset, Damage::Batch(fault)));
                    let bytes = sifted.build().map_err(built)?;
                    (BatchHeader::read(&bytes).map_err(built)?, bytes)
                }
            };
            self.push(&header, &bytes)?;
            Ok(Step::Wrote(bytes.len() as u64))
        })?;
        Ok(removed)
    }

    fn push(&mut self, header: &BatchHeader, bytes: &[u8]) -> Result<(), DiskError> {
        let ends = match &mut self.ends {
            Some(ends) => ends,
            none => {
                let name = SegmentName { base: header.base_offset, generation: self.generation };
                // Noted first, so that it is removed should its making fail.
                let ends = none.insert(SegmentEnds::empty(name));
                self.data = Some(self.files.create_file(name, Kind::Data)?);
                ends
            }
        };
        if let Some(entry) = ends.add(header, self.indexed_at, self.index_interval_bytes) {
            self.indexed_at = entry.at.into();
            self.entries.extend(entry.to_bytes());
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    pub fn flush(&mut self) -> Result<(), DiskError> {
        let (Some(ends), Some(data)) = (&self.ends, &self.data) else { return Ok(()) };
        let at = ends.data_bytes - self.buffer.len() as u64;
        data.write_all_at(&[IoSlice::new(&self.buffer)], at)?;
        self.unsynced += self.buffer.len() as u64;
        self.buffer.clear();
        if self.unsynced >= SYNC_BYTES {
            data.sync_data()?;
            self.unsynced = 0;
        }
        Ok(())
    }

    pub fn finish(&self) -> Result<(), DiskError> {
        let (Some(ends), Some(data)) = (&self.ends, &self.data) else { return Ok(()) };
        data.sync_data()?;
        if !self.entries.is_empty() {
            let index = self.files.create_file(ends.name(), Kind::Index)?;
            index.write_all_at(&[IoSlice::new(&self.entries)], 0)?;
            index.sync_data()?;
        }
        self.files.shared.disk.sync_dir(&self.files.dir())
    }

    /// Takes back what was written. Should it fail, the next start does it.
    pub fn remove(&self) {
        let Some(ends) = &self.ends else { return };
        if let Err(error) = self.files.remove_segment(ends)
            && !self.files.is_removed()
        {
            tracing::warn!(partition = %self.files.id, %error, "can't remove a segment that was not written to its end yet");
        }
    }
}
