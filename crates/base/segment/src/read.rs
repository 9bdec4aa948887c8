//! Reading, by any number of threads.
//!
//! A look-up asks the index for a place near by and goes from batch to batch from there, by their headers. Base offsets aren't
//! covered by a batch's checksum, so their order is checked on the way: where batches follow each other without a gap, a wrong
//! one can't fit between its neighbours.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use daybook_record::{BatchError, BatchHeader, CrcCheck, HEADER_BYTES};
use daybook_types::{Offset, TimestampMs};
use daybook_world::{DiskError, DiskFile};

use crate::files::{Seen, Segment};
use crate::index::{self, Entry, Found};
use crate::name::{Kind, SegmentName};
use crate::{Damage, PartitionFiles, ReadError, SegmentEnds};

/// Read at once while going from header to header: about an index interval and a batch.
const WINDOW_BYTES: usize = 8 * 1024;
/// Read at once while checking.
const CHUNK_BYTES: usize = 128 * 1024;

/// Whole, checked batches in a file: ready to be sent.
#[derive(Clone, Debug)]
pub struct FileSlice {
    pub file: Arc<dyn DiskFile>,
    pub at: u64,
    pub bytes: usize,
    /// Base offset of the first batch.
    pub first_offset: Offset,
    /// Where reading goes on.
    pub next_offset: Offset,
}

impl FileSlice {
    /// The bytes, for a caller that can't use sendfile.
    pub fn to_bytes(&self) -> Result<Bytes, DiskError> {
        let mut bytes = vec![0; self.bytes];
        let read = self.file.read_at(&mut bytes, self.at)?;
        // The file was checked up to there; if somebody cut it since, the receiver sees a short answer.
        bytes.truncate(read);
        Ok(bytes.into())
    }
}

impl PartitionFiles {
    /// The batch that contains `from`, or the next one if there is none, and those after it in the same segment up to `bytes_max`;
    /// always one at least. `None` at the end.
    pub fn read(&self, from: Offset, bytes_max: usize) -> Result<Option<FileSlice>, ReadError> {
        self.read_below(from, Offset(i64::MAX), bytes_max)
    }

    /// The same, without the batches that begin at `until` or after it. `None` too if the first one does.
    pub fn read_below(&self, from: Offset, until: Offset, bytes_max: usize) -> Result<Option<FileSlice>, ReadError> {
        let Some(view) = self.view(|segments| segments.partition_point(|s| s.ends.next_offset <= from))? else {
            return Ok(None);
        };
        view.read(from, until, bytes_max)
    }

    /// The first record at or after `from` whose timestamp is `at` or later. Goes by the largest timestamps that batch headers state.
    pub fn offset_for_timestamp(
        &self,
        at: TimestampMs,
        from: Offset,
    ) -> Result<Option<(Offset, TimestampMs)>, ReadError> {
        let mut from = from;
        loop {
            let candidate = |s: &Segment| s.ends.next_offset > from && s.ends.max_timestamp >= at;
            let first = |segments: &[Segment]| segments.iter().position(candidate).unwrap_or(segments.len());
            let Some(view) = self.view(first)? else { return Ok(None) };
            if let Some(found) = view.offset_for_timestamp(at, from)? {
                return Ok(Some(found));
            }
            from = view.ends.next_offset;
        }
    }

    /// The first of the records at or after `from` with the largest timestamp. Goes by the largest timestamps that batch headers state.
    pub fn max_timestamp(&self, from: Offset) -> Result<Option<(Offset, TimestampMs)>, ReadError> {
        // A segment that begins before `from` may owe its largest timestamp to what lies before it.
        let begins_before = |segment: &&Segment| segment.ends.base_offset < from && segment.ends.next_offset > from;
        let cut = |segments: &[Segment]| segments.iter().position(|s| begins_before(&s)).unwrap_or(segments.len());
        let in_cut = self.view(cut)?.map(|view| view.latest_record_from(from)).transpose()?.flatten();
        let latest = |segments: &[Segment]| {
            let whole = |segment: &&Segment| segment.ends.base_offset >= from;
            let latest = segments.iter().filter(whole).map(|segment| segment.ends.max_timestamp).max();
            let is_latest = |segment: &Segment| whole(&segment) && Some(segment.ends.max_timestamp) == latest;
            segments.iter().position(is_latest).unwrap_or(segments.len())
        };
        let in_whole = self.view(latest)?.map(|view| view.latest_record()).transpose()?.flatten();
        let is_later = |(_, timestamp): &(Offset, TimestampMs)| in_cut.is_none_or(|(_, earlier)| *timestamp > earlier);
        Ok(in_whole.filter(is_later).or(in_cut))
    }

    /// The segment that `choose` picks, opened.
    pub(crate) fn view(&self, choose: impl Fn(&[Segment]) -> usize) -> Result<Option<View<'_>>, ReadError> {
        loop {
            if self.is_removed() {
                return Err(ReadError::Removed);
            }
            let chosen = {
                let visible = self.visible.read();
                visible.get(choose(&visible)).cloned()
            };
            let Some(Segment { ends, seen }) = chosen else { return Ok(None) };
            match self.file(ends.name(), Kind::Data) {
                Ok(data) => return Ok(Some(View { files: self, ends, seen, data })),
                // Trimmed, rewritten or removed between the choice and the opening: choose again.
                Err(error) if error.is_missing() && !self.has(ends.name()) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A segment as it was seen; `None` if it was trimmed or rewritten since.
    pub(crate) fn open_segment(&self, segment: &Segment) -> Result<Option<View<'_>>, ReadError> {
        let Segment { ends, seen } = segment.clone();
        match self.file(ends.name(), Kind::Data) {
            Ok(data) => Ok(Some(View { files: self, ends, seen, data })),
            Err(_) if self.is_removed() => Err(ReadError::Removed),
            Err(error) if error.is_missing() && !self.has(ends.name()) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn has(&self, segment: SegmentName) -> bool {
        !self.is_removed() && self.visible.read().iter().any(|visible| visible.ends.name() == segment)
    }
}

/// A segment as it was when the read began.
pub(crate) struct View<'a> {
    files: &'a PartitionFiles,
    pub ends: SegmentEnds,
    seen: Arc<Seen>,
    data: Arc<dyn DiskFile>,
}

/// A batch in a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub at: u64,
    pub header: BatchHeader,
}

impl Placed {
    pub(crate) fn end(&self) -> u64 {
        self.at + self.header.batch_bytes as u64
    }
}

impl View<'_> {
    fn read(&self, from: Offset, until: Offset, bytes_max: usize) -> Result<Option<FileSlice>, ReadError> {
        let mut scan = self.scan_from(|entry| entry.offset <= from)?;
        let first = loop {
            match scan.next()? {
                Some(placed) if placed.header.next_offset() > from => break placed,
                Some(_) => {}
                // The scan has checked that the last batch ends where the segment does, which is after `from`.
                None => {
                    let damage = Damage::End { found: from, expected: self.ends.next_offset };
                    return Err(self.damaged(self.ends.data_bytes, from, damage));
                }
            }
        };
        if first.header.base_offset >= until {
            return Ok(None);
        }
        let bytes_max = bytes_max.min(self.bytes_below(first, until)?);
        let (end, next_offset) = self.end_of_slice(first, bytes_max)?;
        self.check(first.at..end, next_offset)?;
        Ok(Some(FileSlice {
            file: self.data.clone(),
            at: first.at,
            bytes: (end - first.at) as usize,
            first_offset: first.header.base_offset,
            next_offset,
        }))
    }

    /// Bytes from `first` up to the batch that begins at `until` or after it.
    fn bytes_below(&self, first: Placed, until: Offset) -> Result<usize, ReadError> {
        if until >= self.ends.next_offset {
            return Ok(usize::MAX);
        }
        let mut scan = self.scan_from(|entry| entry.offset <= until)?;
        if scan.at < first.at {
            scan = self.scan(first.at, first.header.base_offset);
        }
        while let Some(placed) = scan.next()? {
            if placed.header.base_offset >= until {
                return Ok((placed.at - first.at) as usize);
            }
        }
        Ok(usize::MAX)
    }

    /// Where the last whole batch ends that fits into `bytes_max` from the beginning of `first`, and the offset that follows.
    fn end_of_slice(&self, first: Placed, bytes_max: usize) -> Result<(u64, Offset), ReadError> {
        let limit = first.at.saturating_add(bytes_max as u64).max(first.end());
        if limit >= self.ends.data_bytes {
            return Ok((self.ends.data_bytes, self.ends.next_offset));
        }
        if limit == first.end() {
            return Ok((limit, first.header.next_offset()));
        }
        let mut scan = self.scan_from(|entry| u64::from(entry.at) <= limit)?;
        if scan.at < first.at {
            scan = self.scan(first.at, first.header.base_offset);
        }
        loop {
            // Not the next batch's own base offset: a damaged one would make the reader skip what lies between.
            let expected = scan.expected;
            match scan.next()? {
                Some(placed) if placed.end() > limit => return Ok((placed.at, expected)),
                Some(_) => {}
                None => break,
            }
        }
        Ok((self.ends.data_bytes, self.ends.next_offset))
    }

    fn offset_for_timestamp(&self, at: TimestampMs, from: Offset) -> Result<Option<(Offset, TimestampMs)>, ReadError> {
        // Timestamps need not ascend, but the largest so far does: what is left out is all earlier than `at`.
        let mut scan = self.scan_from(|entry| entry.max_timestamp_before < at || entry.offset <= from)?;
        while let Some(placed) = scan.next()? {
            if placed.header.max_timestamp < at || placed.header.next_offset() <= from {
                continue;
            }
            let batch = self.batch(placed)?;
            let found = daybook_record::offset_for_timestamp(&batch, at, from);
            if let Some(found) = found.map_err(|fault| self.undecodable(placed, fault))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn latest_record(&self) -> Result<Option<(Offset, TimestampMs)>, ReadError> {
        let latest = self.ends.max_timestamp;
        let mut scan = self.scan_from(|entry| entry.max_timestamp_before < latest)?;
        while let Some(placed) = scan.next()? {
            if placed.header.max_timestamp >= latest {
                let batch = self.batch(placed)?;
                return daybook_record::latest_record(&batch).map_err(|fault| self.undecodable(placed, fault));
            }
        }
        Ok(None)
    }

    /// As [`Self::latest_record`], of those at or after `from`.
    fn latest_record_from(&self, from: Offset) -> Result<Option<(Offset, TimestampMs)>, ReadError> {
        let mut latest: Option<(Offset, TimestampMs)> = None;
        let mut scan = self.scan_from(|entry| entry.offset <= from)?;
        while let Some(placed) = scan.next()? {
            let is_later = latest.is_none_or(|(_, found)| placed.header.max_timestamp > found);
            if placed.header.next_offset() <= from || !is_later {
                continue;
            }
            let batch = self.batch(placed)?;
            let fail = |fault| self.undecodable(placed, fault);
            for record in daybook_record::records(&batch).map_err(fail)? {
                let record = record.map_err(fail)?;
                if record.offset >= from && latest.is_none_or(|(_, found)| record.timestamp > found) {
                    latest = Some((record.offset, record.timestamp));
                }
            }
        }
        Ok(latest)
    }

    pub(crate) fn batch(&self, placed: Placed) -> Result<Bytes, ReadError> {
        // Checked first: only then is the length believed.
        self.check(placed.at..placed.end(), placed.header.next_offset())?;
        let mut bytes = vec![0; placed.header.batch_bytes];
        self.fill(&mut bytes, placed.at, placed.header.base_offset)?;
        Ok(bytes.into())
    }

    /// A scan from the last indexed batch for which `below` holds, or from the start of the segment.
    fn scan_from(&self, below: impl Fn(&Entry) -> bool) -> Result<Scan<'_>, ReadError> {
        let start = self.scan(0, self.ends.base_offset);
        let entry = match self.search_index(below)? {
            Found::Entry(entry) => entry,
            Found::Before => return Ok(start),
            Found::Unreadable => {
                self.note_bad_index();
                return Ok(start);
            }
        };
        let mut scan = self.scan(entry.at.into(), entry.offset);
        if scan.peek().is_ok() {
            return Ok(scan);
        }
        // Entry or batch is wrong; from the start it will show which.
        self.note_bad_index();
        Ok(start)
    }

    fn search_index(&self, below: impl Fn(&Entry) -> bool) -> Result<Found, ReadError> {
        let bytes = self.ends.index_bytes;
        if bytes == 0 || self.seen.index_is_bad.load(Ordering::Relaxed) {
            return Ok(Found::Before);
        }
        match self.files.file(self.ends.name(), Kind::Index) {
            Ok(file) => Ok(index::last_where(&*file, bytes, below)?),
            // Trimmed or rewritten since this read began; the data is still open.
            Err(error) if error.is_missing() && !self.files.has(self.ends.name()) => Ok(Found::Before),
            Err(error) if error.is_missing() => Ok(Found::Unreadable),
            Err(error) => Err(error.into()),
        }
    }

    fn note_bad_index(&self) {
        if !self.seen.index_is_bad.swap(true, Ordering::Relaxed) && !self.files.is_removed() {
            let file = self.files.path(self.ends.name(), Kind::Index);
            tracing::warn!(file = %file.display(), "segment index is damaged, scanning instead");
        }
    }

    pub(crate) fn scan(&self, at: u64, expected: Offset) -> Scan<'_> {
        Scan { view: self, at, expected, exact: true, window: Vec::new(), window_at: 0 }
    }

    /// Checks what of `range` this process hasn't; `range` begins and ends where batches do, and the batch after it begins at
    /// `next_offset` or later.
    fn check(&self, range: Range<u64>, next_offset: Offset) -> Result<(), ReadError> {
        let missing = self.seen.checked.lock().missing(range.clone());
        for part in missing {
            let last = part.end == range.end;
            self.check_part(part, last.then_some(next_offset))?;
        }
        self.seen.checked.lock().insert(range);
        Ok(())
    }

    /// Reads every byte of `part`: checksums, and offsets in order.
    fn check_part(&self, part: Range<u64>, next_offset: Option<Offset>) -> Result<(), ReadError> {
        let mut chunk = vec![0; CHUNK_BYTES.min((part.end - part.start) as usize)];
        let mut at = part.start;
        let mut expected = None;
        while at < part.end {
            let mut filled = chunk.len().min((part.end - at) as usize);
            self.fill(&mut chunk[..filled], at, expected.unwrap_or(self.ends.base_offset))?;
            let mut read = 0;
            // Whole batches of this chunk.
            while filled > read {
                let placed = self.placed(&chunk[read..filled], at, part.end);
                let placed = match placed {
                    Ok(placed) => placed,
                    // The header may only be cut by the chunk; it is looked at again at the start of the next one.
                    Err(_) if read > 0 && filled - read < HEADER_BYTES => break,
                    Err(damage) => return Err(self.damaged(at, expected.unwrap_or(self.ends.base_offset), damage)),
                };
                let header = placed.header;
                if let Some(expected) = expected.filter(|expected| header.base_offset < *expected) {
                    let damage = Damage::Order { found: header.base_offset, expected };
                    return Err(self.damaged(at, expected, damage));
                }
                let mut crc = CrcCheck::new(&header);
                let mut left = header.batch_bytes;
                if left > filled - read {
                    if read > 0 {
                        break; // begins a chunk of its own
                    }
                    while left > 0 {
                        filled = chunk.len().min(left);
                        self.fill(&mut chunk[..filled], placed.end() - left as u64, header.base_offset)?;
                        crc.update(&chunk[..filled]);
                        left -= filled;
                    }
                    filled = 0;
                } else {
                    crc.update(&chunk[read..read + left]);
                    read += left;
                }
                crc.finish().map_err(|fault| self.damaged(at, header.base_offset, Damage::Batch(fault)))?;
                at = placed.end();
                expected = Some(header.next_offset());
            }
        }
        match (expected, next_offset) {
            (Some(found), Some(expected)) if found > expected => {
                Err(self.damaged(part.end, expected, Damage::Order { found: expected, expected: found }))
            }
            _ => Ok(()),
        }
    }

    /// The batch whose bytes, as many as are there, begin with `bytes`; it must end at `end` or before.
    fn placed(&self, bytes: &[u8], at: u64, end: u64) -> Result<Placed, Damage> {
        let header = BatchHeader::read(bytes).map_err(Damage::Batch)?;
        if header.batch_bytes as u64 > end - at {
            return Err(Damage::Overlong { batch_bytes: header.batch_bytes });
        }
        Ok(Placed { at, header })
    }

    pub(crate) fn fill(&self, buffer: &mut [u8], at: u64, offset: Offset) -> Result<(), ReadError> {
        let read = self.data.read_at(buffer, at)?;
        if read < buffer.len() {
            return Err(self.damaged(at + read as u64, offset, Damage::Short { end: self.ends.data_bytes }));
        }
        Ok(())
    }

    fn undecodable(&self, placed: Placed, fault: BatchError) -> ReadError {
        self.damaged(placed.at, placed.header.base_offset, Damage::Batch(fault))
    }

    pub(crate) fn damaged(&self, at: u64, offset: Offset, damage: Damage) -> ReadError {
        ReadError::Damaged { file: self.file(Kind::Data), at, offset, damage }
    }

    pub(crate) fn file(&self, kind: Kind) -> PathBuf {
        self.files.path(self.ends.name(), kind)
    }
}

/// Goes from batch to batch by their headers. Checks that they follow each other within the segment, not their checksums.
pub(crate) struct Scan<'a> {
    view: &'a View<'a>,
    pub at: u64,
    /// The next batch begins there, or later if not `exact`.
    expected: Offset,
    exact: bool,
    window: Vec<u8>,
    window_at: u64,
}

impl Scan<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<Placed>, ReadError> {
        let placed = self.peek()?;
        if let Some(placed) = placed {
            self.at = placed.end();
            self.expected = placed.header.next_offset();
            self.exact = false;
        }
        Ok(placed)
    }

    fn peek(&mut self) -> Result<Option<Placed>, ReadError> {
        let (view, end) = (self.view, self.view.ends);
        if self.at >= end.data_bytes {
            if self.expected != end.next_offset {
                let damage = Damage::End { found: self.expected, expected: end.next_offset };
                return Err(view.damaged(self.at, self.expected, damage));
            }
            return Ok(None);
        }
        let at = self.at;
        let placed = view.placed(self.header_bytes()?, at, end.data_bytes);
        let placed = placed.map_err(|damage| view.damaged(self.at, self.expected, damage))?;
        let found = placed.header.base_offset;
        let follows = if self.exact { found == self.expected } else { found >= self.expected };
        if !follows {
            return Err(view.damaged(self.at, self.expected, Damage::Order { found, expected: self.expected }));
        }
        if placed.header.next_offset() > end.next_offset {
            let damage = Damage::End { found: placed.header.next_offset(), expected: end.next_offset };
            return Err(view.damaged(self.at, self.expected, damage));
        }
        Ok(Some(placed))
    }

    /// The bytes at `self.at`, as many as a header has, or as the segment still has.
    fn header_bytes(&mut self) -> Result<&[u8], ReadError> {
        let left = (self.view.ends.data_bytes - self.at) as usize;
        let wanted = left.min(HEADER_BYTES);
        let window = self.window_at..self.window_at + self.window.len() as u64;
        if self.at < window.start || self.at + wanted as u64 > window.end {
            // After a batch larger than the window, the next may be too, and only its header is wanted.
            let hop = !self.window.is_empty() && self.at.saturating_sub(self.window_at) > WINDOW_BYTES as u64;
            let bytes = if hop { wanted } else { left.min(WINDOW_BYTES) };
            self.window.resize(bytes, 0);
            self.window_at = self.at;
            self.view.fill(&mut self.window, self.at, self.expected)?;
        }
        let from = (self.at - self.window_at) as usize;
        Ok(&self.window[from..from + wanted])
    }
}
