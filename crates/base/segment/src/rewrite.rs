//! Writing a segment anew without records that nobody needs any more: what scavenging and compaction are made of. What may go is
//! decided by whoever asks; nothing here knows why.
//!
//! A rewritten segment is a new pair of files, of the next generation. It begins at its first batch and ends after its last, so
//! that it is read, checked and indexed as any other; what went is a gap between segments, between batches or within one. A segment of
//! which nothing is left is no more. The partition's last segment keeps its last batch whole, so that the partition ends where it ended.
//! Neighbours may become one: segments that shrink again and again would else grow many.
//!
//! A segment that is being rewritten is closed: what is appended meanwhile begins another one.

mod books;
mod writer;

use std::ops::Range;

use bytes::Bytes;
use daybook_record::{BatchError, BatchHeader, Record, sift, verify};
use daybook_types::Offset;
use daybook_world::DiskError;
use thiserror::Error;

use self::books::Replacement;
pub(crate) use self::books::Rewrites;
use self::writer::Writer;
use crate::append::SEGMENT_BYTES_MAX;
use crate::files::Segment;
use crate::name::SegmentName;
use crate::read::{Placed, View};
use crate::{Damage, PartitionFiles, ReadError, SegmentEnds};

/// A segment that would not shrink by so much is left as it is: writing it costs more than it brings.
const SAVED_PERCENT_MIN: u64 = 5;
/// What a rewrite leaves free on the disk at least: the log needs it to go on.
const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// Decides what a rewrite keeps, and how fast it goes.
pub trait Sieve {
    type Error;

    /// Whether a record stays. Asked up to twice of the same one, of the partition's records in their order each time; may at any
    /// time begin to say no, and then says no again.
    fn keep(&mut self, record: &Record) -> Result<bool, Self::Error>;

    /// What becomes of a batch, before its records are looked at; likewise. Control batches stay if nobody says otherwise.
    fn batch(&mut self, batch: &BatchHeader) -> Result<Fate, Self::Error> {
        Ok(if batch.is_control() { Fate::Stays } else { Fate::Judged })
    }

    /// Whether all must go that doesn't stay, be it ever so little; else a segment is left alone that would hardly shrink.
    fn is_thorough(&self) -> bool {
        false
    }

    /// So many bytes were read or written since the last call. May wait; an error ends the rewrite and leaves everything as it was.
    fn worked(&mut self, bytes: u64) -> Result<(), Self::Error>;
}

/// What becomes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Stays,
    Goes,
    /// Record by record.
    Judged,
}

/// What became of a segment, or of several that are one now.
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
        self.rewrite_run(base..base.next(), index_interval_bytes, sieve)
    }

    /// As [`Self::rewrite`], of all segments that begin in `bases`, which become one. Two or more are written in any case. The
    /// caller sees to it that together they are no larger than a segment may be.
    pub fn rewrite_run<S: Sieve>(
        &self,
        bases: Range<Offset>,
        index_interval_bytes: u64,
        sieve: &mut S,
    ) -> Result<Option<Rewritten>, RewriteError<S::Error>> {
        let (run, has_last) = self.run(&bases);
        let bytes_before = run.iter().map(|segment| segment.ends.data_bytes).sum();
        let unchanged = Rewritten { bytes_before, bytes_after: bytes_before, ..Rewritten::default() };
        let mut need = bytes_before;
        if let [segment] = run.as_slice() {
            let Some(view) = self.open_segment(segment)? else { return Ok(None) };
            let thorough = sieve.is_thorough();
            let mut expected = Survey::default();
            each_batch(&view, has_last, sieve, |left| expected.add(&left, thorough))?;
            if !expected.is_worth(bytes_before, thorough) {
                return Ok(Some(unchanged));
            }
            if !thorough {
                need = expected.bytes;
            }
        }
        if run.is_empty() {
            return Ok(None);
        }
        assert!(bytes_before <= SEGMENT_BYTES_MAX, "a segment's index has 31 bits for a position");
        self.has_room(need)?;
        let Some((closed, has_last)) = self.close_run(&bases, &run)? else { return Ok(None) };
        let result = self.write_anew(&closed, has_last, index_interval_bytes, sieve);
        self.rewrites.lock().running.clear();
        result
    }

    /// Whether something rewritten is not yet seen by readers and restarts: a checkpoint has to come.
    pub fn has_unpublished_rewrites(&self) -> bool {
        !self.is_removed() && self.rewrites.lock().is_waiting()
    }

    /// Everything below `to` was rewritten with only the latest record of each key. Counts once a checkpoint has taken that in.
    pub fn note_compacted(&self, to: Offset) {
        let mut rewrites = self.rewrites.lock();
        if to > rewrites.compacted_to {
            rewrites.next_compacted_to = Some((to, false));
            drop(rewrites);
            self.shared.rewritten.lock().insert(self.id);
        }
    }

    /// How far the files are compacted, as far as readers and restarts see.
    pub fn compacted_to(&self) -> Offset {
        self.rewrites.lock().compacted_to
    }

    /// The segments that begin in `bases`, and whether the last of all is among them.
    fn run(&self, bases: &Range<Offset>) -> (Vec<Segment>, bool) {
        let visible = self.visible.read();
        let run: Vec<Segment> =
            visible.iter().filter(|segment| bases.contains(&segment.ends.base_offset)).cloned().collect();
        let last = visible.last().map(|segment| segment.ends.name());
        let has_last = run.last().is_some_and(|segment| Some(segment.ends.name()) == last);
        (run, has_last)
    }

    fn has_room<E>(&self, need: u64) -> Result<(), RewriteError<E>> {
        let free = self.shared.disk.bytes_free()?;
        if free < need.saturating_add(FREE_BYTES_MIN) { Err(RewriteError::NoRoom { need, free }) } else { Ok(()) }
    }

    /// From now on nothing is appended to the segments. Returns them as they are now, and whether the last of all is among them; `None` if
    /// they are no more.
    fn close_run<E>(
        &self,
        bases: &Range<Offset>,
        run: &[Segment],
    ) -> Result<Option<(Vec<Segment>, bool)>, RewriteError<E>> {
        let names: Vec<SegmentName> = run.iter().map(|segment| segment.ends.name()).collect();
        let pending = self.pending.lock();
        let mut rewrites = self.rewrites.lock();
        let growing = |ends: &SegmentEnds| names.contains(&ends.name());
        let growing = pending.iter().flat_map(|pending| &pending.segments).find(|ends| growing(ends));
        if let Some(ends) = growing {
            rewrites.closing = Some(ends.name());
        }
        if growing.is_some() || !rewrites.running.is_empty() || names.iter().any(|name| rewrites.is_done(*name)) {
            return Err(RewriteError::Busy);
        }
        rewrites.closing = None;
        let (found, has_last) = self.run(bases);
        if !found.iter().map(|segment| segment.ends.name()).eq(names.iter().copied()) {
            return Ok(None);
        }
        rewrites.running = names;
        Ok(Some((found, has_last)))
    }

    /// Whether nothing may be appended to a segment that readers see.
    pub(crate) fn is_closed(&self, segment: SegmentName) -> bool {
        let rewrites = self.rewrites.lock();
        rewrites.running.contains(&segment) || rewrites.closing == Some(segment) || rewrites.is_done(segment)
    }

    fn write_anew<S: Sieve>(
        &self,
        old: &[Segment],
        has_last: bool,
        index_interval_bytes: u64,
        sieve: &mut S,
    ) -> Result<Option<Rewritten>, RewriteError<S::Error>> {
        let old_ends: Vec<SegmentEnds> = old.iter().map(|segment| segment.ends).collect();
        let mut writer = Writer::new(self, &old_ends, index_interval_bytes);
        let written = self.write_all(&mut writer, old, has_last, sieve);
        let records_removed = match written {
            Ok(Some(removed)) => removed,
            Ok(None) => {
                writer.remove();
                return Ok(None);
            }
            Err(error) => {
                writer.remove();
                return Err(error);
            }
        };
        let new = writer.ends;
        let bytes_after = new.map_or(0, |ends| ends.data_bytes);
        let bytes_before = old_ends.iter().map(|ends| ends.data_bytes).sum();
        // It was the survey's guess that it is worth it; where batches are compressed that may be wrong.
        let is_worth = old.len() > 1
            || if sieve.is_thorough() { records_removed > 0 || new.is_none() } else { pays(bytes_after, bytes_before) };
        if !is_worth {
            writer.remove();
            return Ok(Some(Rewritten { bytes_before, bytes_after: bytes_before, ..Rewritten::default() }));
        }
        if !self.finish_rewrite(old_ends, new) {
            writer.remove();
            return Ok(None);
        }
        Ok(Some(Rewritten { is_replaced: true, bytes_before, bytes_after, records_removed }))
    }

    /// Returns how many records went; `None` if a segment was trimmed meanwhile.
    fn write_all<S: Sieve>(
        &self,
        writer: &mut Writer<'_>,
        old: &[Segment],
        has_last: bool,
        sieve: &mut S,
    ) -> Result<Option<u64>, RewriteError<S::Error>> {
        let mut removed = 0;
        for (number, segment) in old.iter().enumerate() {
            let Some(view) = self.open_segment(segment)? else { return Ok(None) };
            removed += writer.run(&view, has_last && number + 1 == old.len(), sieve)?;
        }
        writer.flush()?;
        writer.finish()?;
        Ok(Some(removed))
    }

    /// `false` if one of the old segments was trimmed meanwhile.
    fn finish_rewrite(&self, old: Vec<SegmentEnds>, new: Option<SegmentEnds>) -> bool {
        let mut rewrites = self.rewrites.lock();
        if !old.iter().all(|ends| self.has(ends.name())) {
            return false;
        }
        rewrites.done.push(Replacement { old, new, is_adopted: false });
        drop(rewrites);
        self.shared.rewritten.lock().insert(self.id);
        true
    }

    pub(crate) fn adopt_rewritten(&self) -> bool {
        let mut rewrites = self.rewrites.lock();
        rewrites.mark(true);
        rewrites.is_waiting()
    }

    /// The checkpoint that took them in failed: the next one does.
    pub(crate) fn release_rewritten(&self) {
        let mut rewrites = self.rewrites.lock();
        rewrites.mark(false);
        let has_some = rewrites.is_waiting();
        drop(rewrites);
        if has_some {
            self.shared.rewritten.lock().insert(self.id);
        }
    }
}

fn pays(after: u64, before: u64) -> bool {
    after.saturating_mul(100) <= before.saturating_mul(100 - SAVED_PERCENT_MIN)
}

/// What is left of a batch.
enum Left {
    All(BatchHeader, Bytes),
    Some(daybook_record::Sifted),
    /// So many records went.
    Nothing(u64),
}

/// What a rewrite would leave.
#[derive(Default)]
struct Survey {
    bytes: u64,
    has_removed: bool,
}

impl Survey {
    fn add<E>(&mut self, left: &Left, until_removed: bool) -> Result<Step, RewriteError<E>> {
        let (bytes, removed) = match left {
            Left::All(header, _) => (header.batch_bytes, false),
            Left::Some(sifted) => (sifted.bytes_about(), true),
            Left::Nothing(_) => (0, true),
        };
        self.bytes += bytes as u64;
        self.has_removed |= removed;
        Ok(if until_removed && removed { Step::End } else { Step::Wrote(0) })
    }

    fn is_worth(&self, before: u64, thorough: bool) -> bool {
        if thorough { self.has_removed } else { pays(self.bytes, before) }
    }
}

/// How going through a segment goes on.
enum Step {
    /// So many bytes were written.
    Wrote(u64),
    End,
}

/// Hands what is left of batch after batch to `each`, which returns how many bytes it wrote.
fn each_batch<S: Sieve>(
    view: &View<'_>,
    keeps_last: bool,
    sieve: &mut S,
    mut each: impl FnMut(Left) -> Result<Step, RewriteError<S::Error>>,
) -> Result<(), RewriteError<S::Error>> {
    let mut scan = view.scan(0, view.ends.base_offset);
    while let Some(placed) = scan.next()? {
        let bytes = view.batch(placed)?;
        // Once more: these are the bytes that are written, and damage must not get a checksum that fits it.
        let header = verify(&bytes).map_err(|fault| damaged(view, placed, fault))?;
        let is_last = placed.end() == view.ends.data_bytes;
        let fate =
            if keeps_last && is_last { Fate::Stays } else { sieve.batch(&header).map_err(RewriteError::Sieve)? };
        let left = match fate {
            Fate::Stays => Left::All(header, bytes),
            Fate::Goes => Left::Nothing(u64::from(header.record_count.unsigned_abs())),
            Fate::Judged => {
                let sifted =
                    sift(&bytes, |record| sieve.keep(record).map_err(Stop::Sieve)).map_err(|stop| match stop {
                        Stop::Batch(fault) => RewriteError::Read(damaged(view, placed, fault)),
                        Stop::Sieve(error) => RewriteError::Sieve(error),
                    })?;
                match (sifted.removed_records(), sifted.kept_records()) {
                    (0, _) => Left::All(header, bytes),
                    (removed, 0) => Left::Nothing(u64::from(removed.unsigned_abs())),
                    _ => Left::Some(sifted),
                }
            }
        };
        let step = each(left)?;
        let Step::Wrote(written) = step else { return Ok(()) };
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
