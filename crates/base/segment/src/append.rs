//! Appending, by the one thread that makes checkpoints.

use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;
use daybook_record::{BatchHeader, HEADER_BYTES, STAMP_BYTES};
use daybook_types::{Offset, TimestampMs};
use daybook_world::{DiskError, DiskFile};

use crate::files::Segment;
use crate::index::{ENTRY_BYTES, Entry};
use crate::name::{Kind, SegmentName};
use crate::{PartitionFiles, ReadError, SegmentEnds};

/// Batches written by one call to the disk; each is two parts, and the kernel takes 1024.
const BATCHES_PER_WRITE_MAX: usize = 512;
/// Segments that one checkpoint begins in a partition because of `segment_ms`: each is a file more to be fsynced.
const AGED_SEGMENTS_MAX: usize = 64;
/// An index entry has 32 bits for a position.
pub(crate) const SEGMENT_BYTES_MAX: u64 = i32::MAX as u64;

/// A batch with its place in the partition.
#[derive(Clone, Debug)]
pub struct StampedBatch {
    /// Its first bytes as they are stored, see [`daybook_record::stamp`].
    pub head: [u8; STAMP_BYTES],
    /// With the assigned offsets.
    pub header: BatchHeader,
    /// As the producer sent it; the first 16 bytes are not used.
    pub bytes: Bytes,
}

/// When files end and index entries are made.
#[derive(Clone, Copy, Debug)]
pub struct Roll {
    /// A new segment begins rather than pass this; a larger batch gets a segment of its own. Kafka's `segment.bytes`.
    pub segment_bytes: u64,
    /// A new segment begins with a batch whose largest timestamp is so much later than that of the segment's first. Kafka's `segment.ms`.
    pub segment_ms: i64,
    /// An entry each so many bytes. Kafka's `index.interval.bytes`.
    pub index_interval_bytes: u64,
}

/// What was appended since the last publication.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The last visible segment as it is now, if it was appended to, and those after it.
    pub segments: Vec<SegmentEnds>,
    /// Where the last indexed batch of the last segment begins.
    indexed_at: u64,
    /// Largest timestamp of the last segment's first batch; unknown while there is none.
    first_timestamp: Option<TimestampMs>,
    /// Segments begun because the one before was old.
    aged_segments: usize,
    /// Files with bytes that aren't durable.
    unsynced: Vec<(SegmentName, Kind)>,
    /// Whether the directory has names that aren't durable.
    names_unsynced: bool,
}

/// What one segment gains by an append.
struct Gain<'a> {
    batches: Vec<&'a StampedBatch>,
    entries: Vec<u8>,
    ends: SegmentEnds,
}

impl PartitionFiles {
    /// Appends `batches`, which follow each other and what is there. Readers don't see them before [`Self::publish`]. After an error
    /// [`Self::discard_unpublished`] takes back all that wasn't published.
    pub fn append(&self, batches: &[StampedBatch], roll: Roll) -> Result<(), DiskError> {
        if batches.is_empty() {
            return Ok(());
        }
        let mut pending = self.pending.lock();
        let pending = match &mut *pending {
            Some(pending) => pending,
            none => none.insert(Box::new(self.begin()?)),
        };
        let mut left = batches;
        while let Some(first) = left.first() {
            let last = pending.segments.last();
            let next_offset = last.map(|ends| ends.next_offset);
            assert!(next_offset.is_none_or(|next| next <= first.header.base_offset), "offsets are assigned in order");
            let fits = last.is_some_and(|ends| ends.data_bytes + first.header.batch_bytes as u64 <= bytes_max(roll));
            let is_aged = pending.is_aged(&first.header, roll);
            if !fits || is_aged {
                pending.aged_segments += usize::from(is_aged);
                self.begin_segment(pending, first.header.base_offset)?;
            }
            let gain = take(&mut left, pending, roll);
            self.write(pending, gain)?;
        }
        Ok(())
    }

    /// Makes durable all that was appended: contents and names.
    pub fn sync(&self) -> Result<(), DiskError> {
        let mut pending = self.pending.lock();
        let Some(pending) = pending.as_mut() else { return Ok(()) };
        for (segment, kind) in &pending.unsynced {
            self.file(*segment, *kind)?.sync_data()?;
        }
        pending.unsynced.clear();
        if pending.names_unsynced {
            self.shared.disk.sync_dir(&self.dir())?;
            pending.names_unsynced = false;
        }
        Ok(())
    }

    /// Takes back what was appended and not published; for a checkpoint that failed. All of it can be appended again, and is then
    /// written again: a failed fsync may have left pages that only look clean.
    pub fn discard_unpublished(&self) -> Result<(), DiskError> {
        self.release_rewritten();
        let Some(pending) = self.pending.lock().take() else { return Ok(()) };
        let visible = self.visible.read().last().map(|segment| segment.ends);
        for ends in &pending.segments {
            match visible {
                Some(visible) if visible.name() == ends.name() => self.cut(&visible, ends)?,
                _ => self.remove_segment(ends)?,
            }
        }
        Ok(())
    }

    fn cut(&self, to: &SegmentEnds, from: &SegmentEnds) -> Result<(), DiskError> {
        if from.data_bytes > to.data_bytes {
            self.file(to.name(), Kind::Data)?.set_len(to.data_bytes)?;
        }
        if from.index_bytes > to.index_bytes && to.index_bytes > 0 {
            self.file(to.name(), Kind::Index)?.set_len(to.index_bytes)?;
        }
        Ok(())
    }

    fn begin(&self) -> Result<Pending, DiskError> {
        let Some(ends) = self.visible.read().last().map(|segment| segment.ends) else { return Ok(Pending::default()) };
        if self.is_closed(ends.name()) {
            // What is appended begins another segment.
            return Ok(Pending::default());
        }
        let indexed_at = match ends.index_bytes {
            0 => 0,
            bytes => self.last_indexed(&ends, bytes)?,
        };
        let first_timestamp = self.time_of_first_batch(&ends)?;
        Ok(Pending { segments: vec![ends], indexed_at, first_timestamp, ..Pending::default() })
    }

    /// Where the last indexed batch begins; the end of the data if that can't be read, which only makes the next entry come later.
    fn last_indexed(&self, ends: &SegmentEnds, index_bytes: u64) -> Result<u64, DiskError> {
        let mut entry = [0; ENTRY_BYTES];
        let file = self.file(ends.name(), Kind::Index)?;
        file.read_at(&mut entry, index_bytes.saturating_sub(ENTRY_BYTES as u64))?;
        Ok(Entry::from_bytes(&entry).map_or(ends.data_bytes, |entry| entry.at.into()))
    }

    /// Largest timestamp of the first batch of the segment that begins at `base`; `None` if there is no such segment.
    pub fn first_timestamp(&self, base: Offset) -> Result<Option<TimestampMs>, ReadError> {
        let at =
            |segments: &[Segment]| segments.iter().position(|s| s.ends.base_offset == base).unwrap_or(segments.len());
        let Some(view) = self.view(at)? else { return Ok(None) };
        let mut scan = view.scan(0, base);
        Ok(scan.next()?.map(|placed| placed.header.max_timestamp))
    }

    /// `None` where it can't be read: then the segment counts as new.
    fn time_of_first_batch(&self, ends: &SegmentEnds) -> Result<Option<TimestampMs>, DiskError> {
        let mut bytes = [0; HEADER_BYTES];
        let read = self.file(ends.name(), Kind::Data)?.read_at(&mut bytes, 0)?;
        Ok(BatchHeader::read(&bytes[..read]).ok().map(|header| header.max_timestamp))
    }

    fn begin_segment(&self, pending: &mut Pending, base: Offset) -> Result<(), DiskError> {
        if self.visible.read().is_empty() && pending.segments.is_empty() {
            self.shared.disk.create_dir_all(&self.dir())?;
        }
        // Noted before anything exists, so that a failure in between leaves nothing that isn't taken back.
        let ends = SegmentEnds::empty(SegmentName { base, generation: 0 });
        pending.segments.push(ends);
        pending.indexed_at = 0;
        pending.first_timestamp = None;
        pending.names_unsynced = true;
        self.create_file(ends.name(), Kind::Data)?;
        Ok(())
    }

    fn write(&self, pending: &mut Pending, gain: Gain<'_>) -> Result<(), DiskError> {
        let Some(ends) = pending.segments.last().copied() else { return Ok(()) };
        let name = ends.name();
        pending.touch(name, Kind::Data);
        let data = self.file(name, Kind::Data)?;
        write_batches(&data, &gain.batches, ends.data_bytes)?;
        if !gain.entries.is_empty() {
            pending.touch(name, Kind::Index);
            let index = if ends.index_bytes == 0 {
                pending.names_unsynced = true;
                self.create_file(name, Kind::Index)?
            } else {
                self.file(name, Kind::Index)?
            };
            index.write_all_at(&[IoSlice::new(&gain.entries)], ends.index_bytes)?;
        }
        if let Some(last) = pending.segments.last_mut() {
            *last = gain.ends;
        }
        Ok(())
    }
}

impl Pending {
    /// Whether the last segment is too old for a batch to go there.
    fn is_aged(&self, header: &BatchHeader, roll: Roll) -> bool {
        let age = |first: TimestampMs| header.max_timestamp.0.saturating_sub(first.0);
        let known = self.first_timestamp.filter(|first| *first >= TimestampMs(0));
        self.aged_segments < AGED_SEGMENTS_MAX && known.is_some_and(|first| age(first) > roll.segment_ms)
    }

    fn touch(&mut self, segment: SegmentName, kind: Kind) {
        if !self.unsynced.contains(&(segment, kind)) {
            self.unsynced.push((segment, kind));
        }
    }
}

/// Takes from `left` the batches that the last segment has room for: its first at least.
fn take<'a>(left: &mut &'a [StampedBatch], pending: &mut Pending, roll: Roll) -> Gain<'a> {
    let mut ends = *pending.segments.last().expect("append makes sure of a segment");
    let mut gain = Gain { batches: Vec::new(), entries: Vec::new(), ends };
    while let Some((batch, rest)) = left.split_first() {
        let header = &batch.header;
        let has_room = ends.data_bytes + header.batch_bytes as u64 <= bytes_max(roll);
        let fits = ends.data_bytes == 0 || (has_room && !pending.is_aged(header, roll));
        if ends.data_bytes == 0 {
            pending.first_timestamp = Some(header.max_timestamp);
        }
        if !fits || gain.batches.len() == BATCHES_PER_WRITE_MAX {
            break;
        }
        assert!(ends.next_offset <= header.base_offset, "offsets are assigned in order");
        assert_eq!(header.batch_bytes, batch.bytes.len(), "a batch is as long as its header says");
        if let Some(entry) = ends.add(header, pending.indexed_at, roll.index_interval_bytes) {
            pending.indexed_at = entry.at.into();
            gain.entries.extend(entry.to_bytes());
        }
        gain.batches.push(batch);
        *left = rest;
    }
    gain.ends = ends;
    gain
}

impl SegmentEnds {
    pub(crate) fn empty(name: SegmentName) -> Self {
        Self {
            base_offset: name.base,
            generation: name.generation,
            next_offset: name.base,
            data_bytes: 0,
            index_bytes: 0,
            max_timestamp: TimestampMs::NONE,
        }
    }

    /// Ends after one more batch, which stands at the end as it was. Returns its entry if it gets one: it does an interval after
    /// the one at `indexed_at`. The caller sees to it that the segment doesn't grow past [`SEGMENT_BYTES_MAX`].
    pub(crate) fn add(&mut self, header: &BatchHeader, indexed_at: u64, index_interval_bytes: u64) -> Option<Entry> {
        let is_due = self.data_bytes > 0 && self.data_bytes - indexed_at >= index_interval_bytes;
        let at = self.data_bytes as u32;
        let entry =
            is_due.then_some(Entry { offset: header.base_offset, at, max_timestamp_before: self.max_timestamp });
        if is_due {
            self.index_bytes += ENTRY_BYTES as u64;
        }
        self.data_bytes += header.batch_bytes as u64;
        self.next_offset = header.next_offset();
        self.max_timestamp = self.max_timestamp.max(header.max_timestamp);
        entry
    }
}

fn write_batches(file: &Arc<dyn DiskFile>, batches: &[&StampedBatch], at: u64) -> Result<(), DiskError> {
    let mut parts = Vec::with_capacity(2 * batches.len());
    for batch in batches {
        parts.push(IoSlice::new(&batch.head));
        parts.push(IoSlice::new(&batch.bytes[STAMP_BYTES..]));
    }
    file.write_all_at(&parts, at)
}

fn bytes_max(roll: Roll) -> u64 {
    roll.segment_bytes.min(SEGMENT_BYTES_MAX)
}
