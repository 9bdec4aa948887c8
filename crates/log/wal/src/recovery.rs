//! From the files of a directory to a log that can be written on: walk, cut what is torn, make durable what is whole.
//!
//! Order matters. Damage is reported before anything is changed. A torn tail is wiped and later segments are gone
//! durably before the first new record can be written, so that no remnant ever continues a new record. What is found
//! whole may so far be only in the page cache, after a kill or, worse, after an fdatasync that failed: then the kernel
//! takes the pages for clean and syncing again would write nothing. Hence what no later record vouches for is written
//! once more and synced before it counts as durable.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daybook_types::{Lsn, Term};
use daybook_world::{Disk, DiskError};

use crate::directory::inspect;
use crate::error::OpenError;
use crate::format::{LogId, SEGMENT_HEADER_BYTES, Seq, What};
use crate::index::{Index, SegmentFile};
use crate::reader::Source;
use crate::walk::{FoundSegment, Step, TornTail, Walk};

/// How finely recovery notes where records lie that it may have to write again.
const STRIDE_BYTES: u64 = 64 * 1024;

/// What opening found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The last entry, or what precedes the first to come.
    pub last: Option<(Term, Lsn)>,
    /// What precedes the first entry kept.
    pub purged: Option<(Term, Lsn)>,
    /// Entries walked over, those truncated later included.
    pub entries: u64,
    /// Bytes walked over.
    pub bytes: u64,
    pub segments: usize,
    /// The torn tail, if there was one.
    pub cut: Option<Cut>,
}

/// A torn tail: bytes that were written and never durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub file: PathBuf,
    pub byte: u64,
    /// How many, later segments included.
    pub bytes: u64,
}

/// Everything a writer needs to go on.
#[derive(Debug)]
pub(crate) struct Resumed {
    pub index: Index,
    /// Where the next record goes in the newest segment.
    pub at: u64,
    pub next_seq: Seq,
    pub prev: u32,
    /// Whether the last record is a mark that vouches for all before it.
    pub marked: bool,
    pub report: Recovered,
}

/// What a walk to the end has gathered.
struct Gathered {
    index: Index,
    at: u64,
    marked: bool,
    entries: u64,
    bytes: u64,
    torn: Option<TornTail>,
    strides: Strides,
}

/// Places in the log at coarse distances, from the last one that is known to be durable on.
#[derive(Default)]
struct Strides(VecDeque<Stride>);

struct Stride {
    seq: Seq,
    segment: usize,
    at: u64,
}

impl Strides {
    fn pass(&mut self, seq: Seq, segment: usize, at: u64, synced: Seq) {
        if self.0.back().is_none_or(|last| last.segment != segment || last.at + STRIDE_BYTES <= at) {
            self.0.push_back(Stride { seq, segment, at });
        }
        while self.0.get(1).is_some_and(|second| second.seq <= synced.next()) {
            self.0.pop_front();
        }
    }

    /// Writes what comes after `synced` once more, up to byte `end` of the last segment, and syncs it.
    fn write_again(&self, segments: &[Arc<SegmentFile>], synced: Seq, end: u64) -> Result<(), DiskError> {
        let Some(from) = self.0.iter().rev().find(|stride| stride.seq <= synced.next()).or(self.0.front()) else {
            return Ok(());
        };
        let mut buffer = vec![0; STRIDE_BYTES as usize];
        for (number, segment) in segments.iter().enumerate().skip(from.segment) {
            let mut at = if number == from.segment { from.at } else { SEGMENT_HEADER_BYTES };
            let end = if number + 1 == segments.len() { end } else { segment.capacity };
            while at < end {
                let count = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
                let count = segment.file.read_at(&mut buffer[..count], at)?;
                if count == 0 {
                    break;
                }
                segment.file.write_all_at(&[IoSlice::new(&buffer[..count])], at)?;
                at += count as u64;
            }
            segment.file.sync_data()?;
        }
        Ok(())
    }
}

/// None without a segment.
pub(crate) fn resume(
    disk: &dyn Disk,
    dir: &Path,
    segments: Vec<FoundSegment<'static>>,
) -> Result<Option<Resumed>, OpenError> {
    let Some(mut walk) = Walk::new(segments) else { return Ok(None) };
    let files: Vec<_> = walk.segments().iter().filter_map(segment_file).collect();
    let gathered = gather(&mut walk, &files)?;
    let cut = match &gathered.torn {
        Some(torn) => Some(cut(disk, &files, torn)?),
        None => None,
    };

    let kept = &files[..gathered.index.segments().count()];
    gathered.strides.write_again(kept, walk.synced(), gathered.at)?;
    disk.sync_dir(dir)?;

    let report = Recovered {
        last: gathered.index.last(),
        purged: gathered.index.purged(),
        entries: gathered.entries,
        bytes: gathered.bytes,
        segments: kept.len(),
        cut,
    };
    Ok(Some(Resumed {
        index: gathered.index,
        at: gathered.at,
        next_seq: walk.next_seq(),
        prev: walk.prev(),
        marked: gathered.marked,
        report,
    }))
}

fn segment_file(segment: &FoundSegment<'static>) -> Option<Arc<SegmentFile>> {
    let Source::File(file) = &segment.source else { return None };
    Some(Arc::new(SegmentFile {
        path: segment.path.clone(),
        file: file.clone(),
        seed: segment.seed,
        first_seq: segment.header.first_seq,
        capacity: u64::from(segment.header.capacity),
    }))
}

fn gather(walk: &mut Walk<'static>, files: &[Arc<SegmentFile>]) -> Result<Gathered, OpenError> {
    let before = walk.segments().first().and_then(|segment| segment.header.before);
    let mut gathered = Gathered {
        index: Index::after(before),
        at: SEGMENT_HEADER_BYTES,
        marked: false,
        entries: 0,
        bytes: 0,
        torn: None,
        strides: Strides::default(),
    };
    let mut entered = 0;
    let mut enter_to = |index: &mut Index, segment: usize| {
        let new = entered <= segment;
        while entered <= segment {
            index.add_segment(files[entered].clone());
            entered += 1;
        }
        new
    };
    loop {
        match walk.step()? {
            Step::Record { segment, at, header } => {
                enter_to(&mut gathered.index, segment);
                gathered.strides.pass(header.seq, segment, at, walk.synced());
                let end = at + header.record_bytes();
                match (header.what, header.log_id) {
                    (What::Entry, Some(log_id)) => {
                        gathered.index.add_entry(log_id, at, end);
                        gathered.entries += 1;
                    }
                    (what, log_id) => apply_control(&mut gathered.index, what, log_id, end),
                }
                gathered.marked = header.what == What::Mark;
                gathered.bytes += header.record_bytes();
                gathered.at = end;
            }
            Step::Torn(torn) => {
                if enter_to(&mut gathered.index, torn.segment) {
                    gathered.at = SEGMENT_HEADER_BYTES;
                }
                gathered.torn = Some(torn);
                return Ok(gathered);
            }
            Step::End => {
                if enter_to(&mut gathered.index, files.len() - 1) {
                    gathered.at = SEGMENT_HEADER_BYTES;
                }
                return Ok(gathered);
            }
        }
    }
}

fn apply_control(index: &mut Index, what: What, log_id: Option<LogId>, end: u64) {
    index.add_control(end);
    match (what, log_id) {
        (What::Truncate, last) => index.truncate(last),
        (What::Purge, Some(purged)) => index.purge(purged),
        (What::Purge | What::Mark | What::Entry, _) => {}
    }
}

/// Makes the log end where its whole records end. The names are durable with the caller's sync of the directory; until
/// then the same would be found and cut again.
fn cut(disk: &dyn Disk, files: &[Arc<SegmentFile>], torn: &TornTail) -> Result<Cut, DiskError> {
    static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
    let (here, later) = (&files[torn.segment], &files[torn.segment + 1..]);
    let bytes = torn.end - torn.at + later.iter().map(|segment| segment.capacity).sum::<u64>();
    tracing::warn!(
        file = %here.path.display(),
        byte = torn.at,
        bytes,
        segments_dropped = later.len(),
        "cutting a torn tail off the log: it was never durable"
    );
    for segment in later {
        disk.remove(&segment.path)?;
    }
    let mut at = torn.at;
    while at < torn.end {
        let count = ZEROS.len().min(usize::try_from(torn.end - at).unwrap_or(usize::MAX));
        here.file.write_all_at(&[IoSlice::new(&ZEROS[..count])], at)?;
        at += count as u64;
    }
    here.file.sync_data()?;
    Ok(Cut { file: here.path.clone(), byte: torn.at, bytes })
}

/// Recovers one segment from its bytes alone: the pure core of opening, for fuzzing. Changes nothing, panics on
/// nothing.
pub fn recover_bytes(bytes: &[u8]) -> Result<Recovered, OpenError> {
    let path = Path::new("bytes");
    let segment = inspect(path, Source::Bytes(bytes))?;
    let before = segment.header.before;
    let mut report = Recovered { last: before, purged: before, entries: 0, bytes: 0, segments: 1, cut: None };
    let Some(mut walk) = Walk::new(vec![segment]) else { return Ok(report) };
    loop {
        match walk.step()? {
            Step::Record { header, .. } => {
                report.entries += u64::from(header.what == What::Entry);
                report.bytes += header.record_bytes();
                let end = walk.last().map(|(_, lsn)| lsn);
                let purged = report.purged.map(|(_, lsn)| lsn);
                let moves = match header.what {
                    What::Purge => purged < header.log_id.map(|(_, lsn)| lsn),
                    What::Truncate => end < purged,
                    What::Entry | What::Mark => false,
                };
                if moves {
                    report.purged = header.log_id;
                }
            }
            Step::Torn(torn) => {
                report.cut = Some(Cut { file: path.to_owned(), byte: torn.at, bytes: torn.end - torn.at });
                break;
            }
            Step::End => break,
        }
    }
    report.last = walk.last();
    Ok(report)
}
