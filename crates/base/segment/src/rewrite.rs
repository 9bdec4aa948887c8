//! Writing a segment anew without records that nobody needs any more: what scavenging and compaction are made of. What may go is
//! decided by whoever asks; nothing here knows why.
//!
//! A rewritten segment is a new pair of files, of the next generation. It begins at its first batch and ends after its last, so
//! that it is read, checked and indexed as any other; what went is a gap between segments, between batches or within one. A segment of
//! which nothing is left is no more. The partition's last segment keeps its last batch whole, so that the partition ends where it ended.
//!
//! A segment that is being rewritten is closed: what is appended meanwhile begins another one.

use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;
use daybook_record::{BatchError, BatchHeader, Record, sift, verify};
use daybook_types::Offset;
use daybook_world::{DiskError, DiskFile};
use thiserror::Error;

use crate::files::Segment;
use crate::name::{Kind, SegmentName};
use crate::read::{Placed, View};
use crate::{Damage, PartitionFiles, ReadError, SegmentEnds};

/// A segment that would not shrink by so much is left as it is: writing it costs more than it brings.
const SAVED_PERCENT_MIN: u64 = 5;
/// Written at once.
const WRITE_BYTES: usize = 1024 * 1024;
/// Made durable at once, so that the log's own fsyncs don't wait behind gigabytes.
const SYNC_BYTES: u64 = 16 * 1024 * 1024;
/// What a rewrite leaves free on the disk at least: the log needs it to go on.
const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// Decides what a rewrite keeps, and how fast it goes.
pub trait Sieve {
    type Error;

    /// Whether a record stays. Asked up to twice of the same one, of the partition's records in their order each time; may at any
    /// time begin to say no, and then says no again. Not asked of control batches, which stay.
    fn keep(&mut self, record: &Record) -> Result<bool, Self::Error>;

    /// So many bytes were read or written since the last call. May wait; an error ends the rewrite and leaves everything as it was.
    fn worked(&mut self, bytes: u64) -> Result<(), Self::Error>;
}

/// What became of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Whether it was written anew; if not, too little would have gone.
    pub is_replaced: bool,
    pub bytes_before: u64,
    /// Bytes of records, as `bytes_before`; 0 where nothing is left.
    pub bytes_after: u64,
    pub records_removed: u64,
}

#[derive(Debug, Error)]
pub enum RewriteError<E> {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("the segment is being appended to or rewritten; try again after the checkpoint that runs")]
    Busy,
    #[error("a segment needs {need} bytes to be written anew, the disk has {free}; free space by other means first")]
    NoRoom { need: u64, free: u64 },
    #[error("{0}")]
    Sieve(E),
}

/// What is being rewritten in a partition, and what was.
#[derive(Debug, Default)]
pub(crate) struct Rewrites {
    running: Option<SegmentName>,
    /// To be rewritten as soon as the checkpoint that appends to it is through; the next one doesn't append to it.
    closing: Option<SegmentName>,
    /// Durable, and not yet seen by readers.
    done: Vec<Replacement>,
}

#[derive(Debug)]
struct Replacement {
    old: SegmentEnds,
    /// `None`: nothing is left.
    new: Option<SegmentEnds>,
    /// A checkpoint has taken it in.
    is_adopted: bool,
}

impl PartitionFiles {
    /// Writes the segment that begins at `base` anew without the records that `sieve` doesn't keep, if that saves enough. `None` if there
    /// is no such segment. Readers and restarts don't see it before a checkpoint has taken it in. Reads the segment once
    /// to find out what would go, and once more if it is worth it.
    pub fn rewrite<S: Sieve>(
        &self,
        base: Offset,
        index_interval_bytes: u64,
        sieve: &mut S,
    ) -> Result<Option<Rewritten>, RewriteError<S::Error>> {
        let Some((segment, is_last)) = self.segment_at(base) else { return Ok(None) };
        let Some(view) = self.open_segment(&segment)? else { return Ok(None) };
        let mut expected = Survey::default();
        each_batch(&view, is_last, sieve, |left| expected.add(left))?;
        let before = segment.ends.data_bytes;
        if !pays(expected.bytes, before) {
            return Ok(Some(Rewritten { bytes_before: before, bytes_after: before, ..Rewritten::default() }));
        }
        self.has_room(expected.bytes)?;
        let Some((closed, is_last)) = self.close_segment(&segment.ends)? else { return Ok(None) };
        let result = self.write_anew(&closed, is_last, index_interval_bytes, sieve);
        self.rewrites.lock().running = None;
        result
    }

    /// Whether something rewritten is not yet seen by readers and restarts: a checkpoint has to come.
    pub fn has_unpublished_rewrites(&self) -> bool {
        !self.is_removed() && !self.rewrites.lock().done.is_empty()
    }

    fn segment_at(&self, base: Offset) -> Option<(Segment, bool)> {
        let visible = self.visible.read();
        let at = visible.iter().position(|segment| segment.ends.base_offset == base)?;
        Some((visible[at].clone(), at + 1 == visible.len()))
    }

    fn has_room<E>(&self, need: u64) -> Result<(), RewriteError<E>> {
        let free = self.shared.disk.bytes_free()?;
        if free < need.saturating_add(FREE_BYTES_MIN) { Err(RewriteError::NoRoom { need, free }) } else { Ok(()) }
    }

    /// From now on nothing is appended to the segment. Returns it as it is now, and whether it is the last one.
    fn close_segment<E>(&self, ends: &SegmentEnds) -> Result<Option<(Segment, bool)>, RewriteError<E>> {
        let name = ends.name();
        let pending = self.pending.lock();
        let mut rewrites = self.rewrites.lock();
        let is_growing = pending.iter().any(|pending| pending.segments.iter().any(|ends| ends.name() == name));
        if is_growing {
            rewrites.closing = Some(name);
        }
        if is_growing || rewrites.running.is_some() || rewrites.is_done(name) {
            return Err(RewriteError::Busy);
        }
        rewrites.closing = None;
        let found = self.segment_at(name.base).filter(|(segment, _)| segment.ends.name() == name);
        if found.is_some() {
            rewrites.running = Some(name);
        }
        Ok(found)
    }

    /// Whether nothing may be appended to a segment that readers see.
    pub(crate) fn is_closed(&self, segment: SegmentName) -> bool {
        let rewrites = self.rewrites.lock();
        [rewrites.running, rewrites.closing].contains(&Some(segment)) || rewrites.is_done(segment)
    }

    fn write_anew<S: Sieve>(
        &self,
        old: &Segment,
        is_last: bool,
        index_interval_bytes: u64,
        sieve: &mut S,
    ) -> Result<Option<Rewritten>, RewriteError<S::Error>> {
        let Some(view) = self.open_segment(old)? else { return Ok(None) };
        let mut writer = Writer::new(self, &old.ends, index_interval_bytes);
        match writer.run(&view, is_last, sieve) {
            Ok(removed) => {
                let new = writer.ends;
                let bytes_after = new.map_or(0, |ends| ends.data_bytes);
                let bytes_before = old.ends.data_bytes;
                let rewritten = Rewritten { is_replaced: true, bytes_before, bytes_after, records_removed: removed };
                if !pays(bytes_after, bytes_before) {
                    writer.remove();
                    return Ok(Some(Rewritten { bytes_before, bytes_after: bytes_before, ..Rewritten::default() }));
                }
                if !self.finish_rewrite(old.ends, new) {
                    writer.remove();
                    return Ok(None);
                }
                Ok(Some(rewritten))
            }
            Err(error) => {
                writer.remove();
                Err(error)
            }
        }
    }

    /// `false` if the old segment was trimmed meanwhile.
    fn finish_rewrite(&self, old: SegmentEnds, new: Option<SegmentEnds>) -> bool {
        let mut rewrites = self.rewrites.lock();
        if !self.has(old.name()) {
            return false;
        }
        rewrites.done.push(Replacement { old, new, is_adopted: false });
        drop(rewrites);
        self.shared.rewritten.lock().insert(self.id);
        true
    }

    pub(crate) fn adopt_rewritten(&self) -> bool {
        let mut rewrites = self.rewrites.lock();
        rewrites.done.iter_mut().for_each(|replacement| replacement.is_adopted = true);
        !rewrites.done.is_empty()
    }

    /// The checkpoint that took them in failed: the next one does.
    pub(crate) fn release_rewritten(&self) {
        let mut rewrites = self.rewrites.lock();
        let mut has_some = false;
        for replacement in &mut rewrites.done {
            has_some = true;
            replacement.is_adopted = false;
        }
        drop(rewrites);
        if has_some {
            self.shared.rewritten.lock().insert(self.id);
        }
    }
}

impl Rewrites {
    fn is_done(&self, segment: SegmentName) -> bool {
        self.done.iter().any(|replacement| replacement.old.name() == segment)
    }

    /// What the checkpoint notes of a segment that readers see.
    pub(crate) fn adopted(&self, ends: SegmentEnds) -> Option<SegmentEnds> {
        let of = |replacement: &&Replacement| replacement.is_adopted && replacement.old.name() == ends.name();
        self.done.iter().find(of).map_or(Some(ends), |replacement| replacement.new)
    }

    /// Puts what was taken in in the place of what it replaces, which is returned.
    pub(crate) fn publish(&mut self, visible: &mut Vec<Segment>) -> Vec<SegmentEnds> {
        let mut replaced = Vec::new();
        for Replacement { old, new, .. } in self.done.extract_if(.., |replacement| replacement.is_adopted) {
            let Some(at) = visible.iter().position(|segment| segment.ends.name() == old.name()) else { continue };
            match new {
                // This process wrote it, after checking what it read.
                Some(new) => visible[at] = Segment::appended(new),
                None => drop(visible.remove(at)),
            }
            replaced.push(old);
        }
        replaced
    }

    /// Forgets what replaces segments that are `gone`, and returns it.
    pub(crate) fn forget(&mut self, gone: &[SegmentEnds]) -> Vec<SegmentEnds> {
        let is_gone = |replacement: &mut Replacement| gone.iter().any(|ends| ends.name() == replacement.old.name());
        self.done.extract_if(.., is_gone).filter_map(|replacement| replacement.new).collect()
    }
}

fn pays(after: u64, before: u64) -> bool {
    after.saturating_mul(100) <= before.saturating_mul(100 - SAVED_PERCENT_MIN)
}

/// What is left of a batch.
enum Left {
    All(BatchHeader, Bytes),
    Some(daybook_record::Sifted),
}

/// What a rewrite would leave.
#[derive(Default)]
struct Survey {
    bytes: u64,
}

impl Survey {
    fn add<E>(&mut self, left: Left) -> Result<u64, RewriteError<E>> {
        self.bytes += match left {
            Left::All(header, _) => header.batch_bytes as u64,
            Left::Some(sifted) => sifted.bytes_about() as u64,
        };
        Ok(0)
    }
}

/// Hands what is left of batch after batch to `each`, which returns how many bytes it wrote.
fn each_batch<S: Sieve>(
    view: &View<'_>,
    keeps_last: bool,
    sieve: &mut S,
    mut each: impl FnMut(Left) -> Result<u64, RewriteError<S::Error>>,
) -> Result<(), RewriteError<S::Error>> {
    let mut scan = view.scan(0, view.ends.base_offset);
    while let Some(placed) = scan.next()? {
        let bytes = view.batch(placed)?;
        // Once more: these are the bytes that are written, and damage must not get a checksum that fits it.
        let header = verify(&bytes).map_err(|fault| damaged(view, placed, fault))?;
        let is_last = placed.end() == view.ends.data_bytes;
        let left = if header.is_control() || (keeps_last && is_last) {
            Left::All(header, bytes)
        } else {
            let sifted = sift(&bytes, |record| sieve.keep(record).map_err(Stop::Sieve)).map_err(|stop| match stop {
                Stop::Batch(fault) => RewriteError::Read(damaged(view, placed, fault)),
                Stop::Sieve(error) => RewriteError::Sieve(error),
            })?;
            if sifted.removed_records() == 0 { Left::All(header, bytes) } else { Left::Some(sifted) }
        };
        let written = each(left)?;
        sieve.worked(header.batch_bytes as u64 + written).map_err(RewriteError::Sieve)?;
    }
    Ok(())
}

/// Why the records of a batch were not all judged.
enum Stop<E> {
    Batch(BatchError),
    Sieve(E),
}

impl<E> From<BatchError> for Stop<E> {
    fn from(fault: BatchError) -> Self {
        Self::Batch(fault)
    }
}

fn damaged(view: &View<'_>, placed: Placed, fault: BatchError) -> ReadError {
    view.damaged(placed.at, placed.header.base_offset, Damage::Batch(fault))
}

/// A new generation of a segment under way.
struct Writer<'a> {
    files: &'a PartitionFiles,
    generation: u32,
    index_interval_bytes: u64,
    /// With all batches so far; `None` before the first.
    ends: Option<SegmentEnds>,
    data: Option<Arc<dyn DiskFile>>,
    /// Batches that aren't in the file yet.
    buffer: Vec<u8>,
    unsynced: u64,
    entries: Vec<u8>,
    indexed_at: u64,
}

impl<'a> Writer<'a> {
    fn new(files: &'a PartitionFiles, old: &SegmentEnds, index_interval_bytes: u64) -> Self {
        Self {
            files,
            // Four billion rewrites of one segment don't happen.
            generation: old.generation.saturating_add(1),
            index_interval_bytes,
            ends: None,
            data: None,
            buffer: Vec::new(),
            unsynced: 0,
            entries: Vec::new(),
            indexed_at: 0,
        }
    }

    /// Writes all that is left of `view`, durable. Returns how many records went.
    fn run<S: Sieve>(
        &mut self,
        view: &View<'_>,
        keeps_last: bool,
        sieve: &mut S,
    ) -> Result<u64, RewriteError<S::Error>> {
        let mut removed = 0;
        each_batch(view, keeps_last, sieve, |left| {
            let (header, bytes) = match left {
                Left::All(header, bytes) => (header, bytes),
                Left::Some(sifted) => {
                    removed += u64::from(sifted.removed_records().unsigned_abs());
                    if sifted.kept_records() == 0 {
                        return Ok(0);
                    }
                    let built =
                        |fault| RewriteError::Read(view.damaged(0, view.ends.base_offset, Damage::Batch(fault)));
                    let bytes = sifted.build().map_err(built)?;
                    (BatchHeader::read(&bytes).map_err(built)?, bytes)
                }
            };
            self.push(&header, &bytes)?;
            Ok(bytes.len() as u64)
        })?;
        self.flush()?;
        self.finish()?;
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

    fn flush(&mut self) -> Result<(), DiskError> {
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

    fn finish(&self) -> Result<(), DiskError> {
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
    fn remove(&self) {
        let Some(ends) = &self.ends else { return };
        if let Err(error) = self.files.remove_segment(ends)
            && !self.files.is_removed()
        {
            tracing::warn!(partition = %self.files.id, %error, "can't remove a segment that was not written to its end yet");
        }
    }
}
