//! The one place that writes records: headers, checksums and the chain, vectored writes from the caller's buffers, and
//! the step from one segment to the next.
//!
//! Invariants: records are written in the order of their numbers, each directly behind the one before; a segment gets
//! its name only once its header is durable; the index learns of a record only once its write has succeeded.

use std::io::IoSlice;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use daybook_types::{Lsn, Term};
use daybook_world::{Disk, DiskError};
use parking_lot::RwLock;

use crate::directory::segment_path;
use crate::error::Failure;
use crate::format::{
    LogId, PAYLOAD_BYTES_MAX, RECORD_HEADER_BYTES, RecordHeader, SEGMENT_HEADER_BYTES, SegmentHeader, Seq, What,
    padding, record_bytes,
};
use crate::index::{Index, SegmentFile};
use crate::spare::{Spare, Spares};
use crate::sync::{Syncer, Written};

/// An entry to append; `parts` one after the other are its payload.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    pub term: Term,
    pub lsn: Lsn,
    /// The caller's meaning.
    pub kind: u8,
    pub parts: &'a [Bytes],
}

impl RecordRef<'_> {
    fn payload_bytes(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }
}

/// Next segment is asked for once this part of the current one is used: late enough that an idle log takes no space,
/// early enough that it is there in time.
const ASK_AT: u64 = 8;

/// What a writer shares with others.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub disk: Arc<dyn Disk>,
    pub dir: PathBuf,
    pub segment_bytes: u64,
    pub index: Arc<RwLock<Index>>,
    pub syncer: Arc<Syncer>,
    pub spares: Arc<Spares>,
}

#[derive(Debug)]
pub(crate) struct Writer {
    shared: Shared,
    active: Arc<SegmentFile>,
    at: u64,
    next_seq: Seq,
    prev: u32,
    /// The last record is a mark.
    marked: bool,
    asked_for_next: bool,
    /// Kept between appends, so that they needn't be made each time.
    headers: Vec<[u8; RECORD_HEADER_BYTES as usize]>,
    places: Vec<(LogId, u64, u64)>,
}

impl Writer {
    pub(crate) fn new(
        shared: Shared,
        active: Arc<SegmentFile>,
        at: u64,
        next_seq: Seq,
        prev: u32,
        marked: bool,
    ) -> Self {
        Self {
            shared,
            active,
            at,
            next_seq,
            prev,
            marked,
            asked_for_next: false,
            headers: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Writes entries; the caller has checked that the log hasn't failed.
    pub(crate) fn entries(&mut self, records: &[RecordRef<'_>]) -> Result<(), Failure> {
        let mut next = self.shared.index.read().next();
        for record in records {
            assert!(
                next.is_none_or(|next| next == record.lsn) && record.lsn.0 != u64::MAX,
                "append of LSN {} where {next:?} comes next",
                record.lsn
            );
            assert!(record.payload_bytes() <= PAYLOAD_BYTES_MAX, "a payload of {} bytes", record.payload_bytes());
            next = Some(record.lsn.next());
        }
        let mut rest = records;
        while let Some(first) = rest.first() {
            let fitting = self.fitting(rest);
            if fitting == 0 {
                self.next_segment(record_bytes(first.payload_bytes() as u64))?;
                continue;
            }
            let (now, later) = rest.split_at(fitting);
            self.write(now).map_err(|error| self.shared.syncer.fail(error))?;
            rest = later;
        }
        if !self.asked_for_next && self.at > self.active.capacity / ASK_AT {
            self.asked_for_next = true;
            self.shared.spares.ask();
        }
        Ok(())
    }

    /// The log ends with `last` from now on.
    pub(crate) fn truncate(&mut self, last: Option<LogId>) -> Result<(), Failure> {
        let shared = self.shared.clone();
        self.control(What::Truncate, last, || {
            shared.index.write().truncate(last);
            shared.syncer.note_truncated(last.map(|(_, lsn)| lsn));
        })
    }

    /// Nothing at or below `purged` is kept from now on. Returns the segments that are free once this is durable.
    pub(crate) fn purge(&mut self, purged: LogId) -> Result<Vec<Arc<SegmentFile>>, Failure> {
        let shared = self.shared.clone();
        self.control(What::Purge, Some(purged), || shared.index.write().purge(purged))?;
        Ok(self.shared.index.write().take_free())
    }

    /// Vouches for all that is durable so far, if there is room and no mark yet. True if one was written.
    pub(crate) fn mark(&mut self) -> Result<bool, Failure> {
        if self.marked || self.next_seq == Seq::FIRST || self.at + record_bytes(0) > self.active.capacity {
            return Ok(false);
        }
        self.control(What::Mark, None, || {})?;
        self.marked = true;
        Ok(true)
    }

    fn control(&mut self, what: What, log_id: Option<LogId>, apply: impl FnOnce()) -> Result<(), Failure> {
        if self.at + record_bytes(0) > self.active.capacity {
            self.next_segment(record_bytes(0))?;
        }
        let (bytes, header) = self.encode(what, 0, log_id, &[]);
        let written = self.active.file.write_all_at(&[IoSlice::new(&bytes)], self.at);
        written.map_err(|error| self.shared.syncer.fail(error))?;
        let end = self.at + header.record_bytes();
        self.shared.index.write().add_control(end);
        apply();
        self.advance(end);
        Ok(())
    }

    /// How many of these, from the first on, the current segment takes.
    fn fitting(&self, records: &[RecordRef<'_>]) -> usize {
        let mut room = self.active.capacity - self.at;
        let fits = |record: &&RecordRef<'_>| match room.checked_sub(record_bytes(record.payload_bytes() as u64)) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        };
        records.iter().take_while(fits).count()
    }

    fn write(&mut self, records: &[RecordRef<'_>]) -> Result<(), DiskError> {
        self.headers.clear();
        self.places.clear();
        let start = self.at;
        let mut at = start;
        for record in records {
            let log_id = (record.term, record.lsn);
            let (bytes, header) = self.encode(What::Entry, record.kind, Some(log_id), record.parts);
            let end = at + header.record_bytes();
            self.headers.push(bytes);
            self.places.push((log_id, at, end));
            at = end;
        }
        let parts: usize = records.iter().map(|record| record.parts.len() + 2).sum();
        let mut slices = Vec::with_capacity(parts);
        for (record, header) in records.iter().zip(&self.headers) {
            slices.push(IoSlice::new(header));
            slices.extend(record.parts.iter().map(|part| IoSlice::new(part)));
            slices.push(IoSlice::new(padding(record.payload_bytes() as u32)));
        }
        self.active.file.write_all_at(&slices, start)?;

        let mut index = self.shared.index.write();
        for (log_id, at, end) in &self.places {
            index.add_entry(*log_id, *at, *end);
        }
        drop(index);
        self.advance(at);
        Ok(())
    }

    /// The next record's header; from here on it is the one before.
    fn encode(
        &mut self,
        what: What,
        kind: u8,
        log_id: Option<LogId>,
        parts: &[Bytes],
    ) -> ([u8; RECORD_HEADER_BYTES as usize], RecordHeader) {
        let payload_bytes: usize = parts.iter().map(Bytes::len).sum();
        let mut header = RecordHeader {
            crc: 0,
            payload_bytes: u32::try_from(payload_bytes).expect("checked against the maximum"),
            prev: self.prev,
            what,
            kind,
            seq: self.next_seq,
            synced: self.shared.syncer.durable_seq(),
            log_id,
        };
        let bytes = header.encode(&self.active.seed, parts);
        self.prev = header.crc;
        self.next_seq = self.next_seq.next();
        (bytes, header)
    }

    fn advance(&mut self, to: u64) {
        let bytes = to - self.at;
        self.at = to;
        self.marked = false;
        let last = self.shared.index.read().last().map(|(_, lsn)| lsn);
        self.shared.syncer.note_written(&self.active, bytes, Written { seq: self.next_seq.before(), last });
    }

    /// Goes on in a new segment, which takes at least one record of `least` bytes.
    fn next_segment(&mut self, least: u64) -> Result<(), Failure> {
        if self.at == SEGMENT_HEADER_BYTES {
            // Else two segments would begin with the same number, and nothing said which comes first.
            self.control(What::Mark, None, || {})?;
        }
        let bytes = self.shared.segment_bytes.max(SEGMENT_HEADER_BYTES + least);
        let made = begin_segment(&self.shared, bytes, self.next_seq, self.prev);
        self.active = made.map_err(|error| self.shared.syncer.fail(error))?;
        self.at = SEGMENT_HEADER_BYTES;
        self.asked_for_next = false;
        self.shared.syncer.note_name();
        self.shared.index.write().add_segment(self.active.clone());
        Ok(())
    }
}

/// Puts a header in a spare file and names it. The name is durable with the next sync of the directory.
fn begin_segment(shared: &Shared, bytes: u64, first_seq: Seq, prev: u32) -> Result<Arc<SegmentFile>, DiskError> {
    let spare = shared.spares.take(bytes)?;
    let before = shared.index.read().last();
    let place = NewSegment { bytes, first_seq, synced: shared.syncer.durable_seq(), before, prev };
    activate(&*shared.disk, &shared.dir, spare, &place)
}

/// What a new segment's header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewSegment {
    pub bytes: u64,
    pub first_seq: Seq,
    pub synced: Seq,
    pub before: Option<LogId>,
    pub prev: u32,
}

pub(crate) fn activate(
    disk: &dyn Disk,
    dir: &std::path::Path,
    spare: Spare,
    new: &NewSegment,
) -> Result<Arc<SegmentFile>, DiskError> {
    let first_lsn = new.before.map(|(_, lsn)| lsn.next()).unwrap_or_default();
    let header = SegmentHeader {
        capacity: u32::try_from(new.bytes).expect("segments are shorter than 4 GiB"),
        first_seq: new.first_seq,
        synced: new.synced,
        before: new.before,
        first_lsn,
        prev: new.prev,
    };
    let (bytes, seed) = header.encode();
    spare.file.write_all_at(&[IoSlice::new(&bytes)], 0)?;
    spare.file.sync_data()?;
    let mut path = segment_path(dir, first_lsn, None);
    if disk.exists(&path)? {
        path = segment_path(dir, first_lsn, Some(new.first_seq));
    }
    disk.rename(&spare.path, &path)?;
    // Opened anew, so that errors name the file as it is called now.
    let file = disk.open(&path)?;
    Ok(Arc::new(SegmentFile { path, file, seed, first_seq: new.first_seq, capacity: new.bytes }))
}
