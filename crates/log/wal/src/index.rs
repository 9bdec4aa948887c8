//! Where each entry lies: the one thing in memory that grows with the log, by four bytes an entry.
//!
//! Knows no disk: it is told of segments and records, by recovery and by the writer alike, so that both come to the
//! same picture. The LSNs of the entries kept rise without gaps from segment to segment; what a truncation took is out
//! of the picture at once, though its bytes stay in the file.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use daybook_types::Lsn;
use daybook_world::DiskFile;

use crate::format::{LogId, SEGMENT_HEADER_BYTES, Seed, Seq};

/// What never changes about a segment in use.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    pub path: PathBuf,
    pub file: Arc<dyn DiskFile>,
    pub seed: Seed,
    pub first_seq: Seq,
    pub capacity: u64,
}

#[derive(Debug)]
struct Segment {
    file: Arc<SegmentFile>,
    /// LSN of the first position; without positions, the one that would come next.
    base: Lsn,
    positions: Vec<u32>,
    /// End of the last record.
    end: u64,
}

impl Segment {
    fn last(&self) -> Option<Lsn> {
        let count = self.positions.len() as u64;
        (count > 0).then(|| Lsn(self.base.0 + count - 1))
    }
}

/// A run of entries that lie in one segment.
#[derive(Debug)]
pub(crate) struct Run {
    pub segment: Arc<SegmentFile>,
    pub first: Lsn,
    pub positions: Vec<u32>,
    /// Where the bytes of the last one end at the latest.
    pub end: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Index {
    segments: VecDeque<Segment>,
    purged: Option<LogId>,
    last: Option<LogId>,
}

impl Index {
    /// An index of a log that goes on after `before`.
    pub(crate) fn after(before: Option<LogId>) -> Self {
        Self { segments: VecDeque::new(), purged: before, last: before }
    }

    pub(crate) fn last(&self) -> Option<LogId> {
        self.last
    }

    pub(crate) fn purged(&self) -> Option<LogId> {
        self.purged
    }

    /// The first entry kept.
    pub(crate) fn first(&self) -> Option<Lsn> {
        let kept = match self.purged {
            Some((_, lsn)) => lsn.next(),
            None => self.segments.iter().find(|segment| !segment.positions.is_empty())?.base,
        };
        self.last.is_some_and(|(_, last)| kept <= last).then_some(kept)
    }

    /// The LSN the next entry must have; in an empty log any.
    pub(crate) fn next(&self) -> Option<Lsn> {
        self.last.map(|(_, lsn)| lsn.next())
    }

    pub(crate) fn segments(&self) -> impl DoubleEndedIterator<Item = &Arc<SegmentFile>> {
        self.segments.iter().map(|segment| &segment.file)
    }

    pub(crate) fn holds(&self, segment: &Arc<SegmentFile>) -> bool {
        self.segments.iter().any(|held| Arc::ptr_eq(&held.file, segment))
    }

    pub(crate) fn add_segment(&mut self, file: Arc<SegmentFile>) {
        let base = self.next().unwrap_or_default();
        self.segments.push_back(Segment { file, base, positions: Vec::new(), end: SEGMENT_HEADER_BYTES });
    }

    /// An entry at `at` of the newest segment.
    pub(crate) fn add_entry(&mut self, log_id: LogId, at: u64, end: u64) {
        let segment = self.newest();
        if segment.positions.is_empty() {
            segment.base = log_id.1;
        }
        segment.positions.push(u32::try_from(at).expect("segments are shorter than 4 GiB"));
        segment.end = end;
        self.last = Some(log_id);
    }

    /// A control record of the newest segment; what it means is told by `truncate` or `purge`.
    pub(crate) fn add_control(&mut self, end: u64) {
        self.newest().end = end;
    }

    /// The log ends with `last` from now on.
    pub(crate) fn truncate(&mut self, last: Option<LogId>) {
        let next = last.map(|(_, lsn)| lsn.next()).unwrap_or_default();
        for segment in self.segments.iter_mut().rev() {
            if segment.base < next {
                segment.positions.truncate(usize::try_from(next.0 - segment.base.0).unwrap_or(usize::MAX));
                break;
            }
            segment.positions.clear();
            segment.base = next;
        }
        self.last = last;
        // Recovery may begin at a segment whose header names an entry that a truncation took later; what lay below was
        // purged.
        if self.purged.map(|(_, lsn)| lsn) > last.map(|(_, lsn)| lsn) {
            self.purged = last;
        }
    }

    /// Nothing at or below `purged` is kept from now on; beyond the end, the log goes on after it.
    pub(crate) fn purge(&mut self, purged: LogId) {
        if self.last.is_none_or(|(_, last)| last < purged.1) {
            for segment in &mut self.segments {
                segment.positions.clear();
                segment.base = purged.1.next();
            }
            self.last = Some(purged);
        }
        if self.purged.is_none_or(|(_, before)| before < purged.1) {
            self.purged = Some(purged);
        }
    }

    /// Takes out the oldest segments that hold nothing kept. The newest always stays.
    pub(crate) fn take_free(&mut self) -> Vec<Arc<SegmentFile>> {
        let Some((_, purged)) = self.purged else { return Vec::new() };
        let mut free = Vec::new();
        while self.segments.len() > 1 {
            match self.segments.front() {
                Some(oldest) if oldest.last().is_none_or(|last| last <= purged) => {
                    free.extend(self.segments.pop_front().map(|segment| segment.file));
                }
                _ => break,
            }
        }
        free
    }

    /// Log bytes of what lies after `lsn`.
    pub(crate) fn bytes_after(&self, lsn: Lsn) -> u64 {
        let Some(first) = self.first() else { return 0 };
        let Some((number, offset)) = self.locate(lsn.next().max(first)) else { return 0 };
        let segment = &self.segments[number];
        let later: u64 = self.segments.range(number + 1..).map(|later| later.end - SEGMENT_HEADER_BYTES).sum();
        segment.end - u64::from(segment.positions[offset]) + later
    }

    /// Entries from `from` to at most `to` (exclusive) that lie in one segment within `bytes_max`, or one that is
    /// larger.
    pub(crate) fn run(&self, from: Lsn, to: Lsn, bytes_max: usize) -> Option<Run> {
        let (number, offset) = self.locate(from)?;
        let segment = &self.segments[number];
        let start = u64::from(segment.positions[offset]);
        let asked = usize::try_from(to.0.saturating_sub(from.0)).unwrap_or(usize::MAX);
        let available = &segment.positions[offset..];
        let mut count = 0;
        let mut end = start;
        while count < asked.min(available.len()) {
            let next_end = available.get(count + 1).map_or(segment.end, |at| u64::from(*at));
            if count > 0 && next_end - start > bytes_max as u64 {
                break;
            }
            end = next_end;
            count += 1;
        }
        let positions = available[..count].to_vec();
        (count > 0).then(|| Run { segment: segment.file.clone(), first: from, positions, end })
    }

    /// Segment and place in its positions.
    fn locate(&self, lsn: Lsn) -> Option<(usize, usize)> {
        if self.last.is_none_or(|(_, last)| last < lsn) {
            return None;
        }
        let mut number = self.segments.partition_point(|segment| segment.base <= lsn);
        while number > 0 {
            number -= 1;
            let segment = &self.segments[number];
            if let Some(offset) = usize::try_from(lsn.0.wrapping_sub(segment.base.0)).ok()
                && offset < segment.positions.len()
            {
                return Some((number, offset));
            }
        }
        None
    }

    fn newest(&mut self) -> &mut Segment {
        self.segments.back_mut().expect("a segment is added before its records")
    }
}
