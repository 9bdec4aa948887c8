//! The names in a WAL's directory, and finding its segments.

use std::path::{Path, PathBuf};

use daybook_types::Lsn;
use daybook_world::Disk;

use crate::error::{Damage, DamageReason, OpenError};
use crate::format::{FORMAT_VERSION, HeaderFault, SEGMENT_HEADER_BYTES, SegmentHeader, Seq};
use crate::reader::Source;
use crate::walk::FoundSegment;

const SEGMENT_SUFFIX: &str = ".wal";
const SPARE_SUFFIX: &str = ".spare";
pub(crate) const HARD_STATE: &str = "hard_state";
pub(crate) const HARD_STATE_NEW: &str = "hard_state.new";

/// A segment is named after its first LSN. After a truncation two segments may begin with the same one; the names only
/// serve people, the order is in the headers.
pub(crate) fn segment_path(dir: &Path, first_lsn: Lsn, first_seq: Option<Seq>) -> PathBuf {
    match first_seq {
        None => dir.join(format!("{:020}{SEGMENT_SUFFIX}", first_lsn.0)),
        Some(seq) => dir.join(format!("{:020}-{:020}{SEGMENT_SUFFIX}", first_lsn.0, seq.0)),
    }
}

pub(crate) fn spare_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:010}{SPARE_SUFFIX}"))
}

/// What lies in the directory, sorted by meaning. Names that aren't ours are left alone.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub segments: Vec<PathBuf>,
    pub spares: Vec<PathBuf>,
    /// Above the numbers of all spares.
    pub next_spare: u64,
    pub hard_state: bool,
    pub hard_state_new: bool,
}

impl Listing {
    pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> Result<Self, OpenError> {
        let mut listing = Self::default();
        for name in disk.list(dir)? {
            if name.ends_with(SEGMENT_SUFFIX) {
                listing.segments.push(dir.join(&name));
            } else if let Some(number) = name.strip_suffix(SPARE_SUFFIX) {
                listing.spares.push(dir.join(&name));
                let number: u64 = number.parse().unwrap_or(0);
                listing.next_spare = listing.next_spare.max(number.saturating_add(1));
            } else if name == HARD_STATE {
                listing.hard_state = true;
            } else if name == HARD_STATE_NEW {
                listing.hard_state_new = true;
            }
        }
        if listing.segments.is_empty() && listing.hard_state {
            return Err(Damage::new(dir, 0, None, DamageReason::SegmentsGone).into());
        }
        Ok(listing)
    }
}

/// Opens the segments and checks their headers; in the order of their records.
pub(crate) fn find_segments(disk: &dyn Disk, paths: &[PathBuf]) -> Result<Vec<FoundSegment<'static>>, OpenError> {
    let mut segments = Vec::with_capacity(paths.len());
    for path in paths {
        segments.push(inspect(path, Source::File(disk.open(path)?))?);
    }
    segments.sort_by_key(|segment| segment.header.first_seq);
    for pair in segments.windows(2) {
        if pair[0].header.first_seq == pair[1].header.first_seq {
            let lsn = Some(pair[1].header.first_lsn);
            return Err(Damage::new(&pair[1].path, 0, lsn, DamageReason::SegmentTwice).into());
        }
    }
    Ok(segments)
}

/// A segment gets its name only once its header is durable and its length too; so what doesn't fit here is damage,
/// never a torn tail.
pub(crate) fn inspect<'a>(path: &Path, source: Source<'a>) -> Result<FoundSegment<'a>, OpenError> {
    let named_lsn = || {
        let name = path.file_name()?.to_str()?;
        name.get(..20)?.parse().ok().map(Lsn)
    };
    let mut bytes = [0; SEGMENT_HEADER_BYTES as usize];
    source.read_at(&mut bytes, 0)?;
    let (header, seed) = SegmentHeader::decode(&bytes).map_err(|fault| match fault {
        HeaderFault::Damaged => OpenError::from(Damage::new(path, 0, named_lsn(), DamageReason::SegmentHeader)),
        HeaderFault::Version(version) => OpenError::Version { file: path.to_owned(), version, known: FORMAT_VERSION },
    })?;
    let (length, expected_bytes) = (source.len()?, u64::from(header.capacity));
    if length < expected_bytes {
        return Err(Damage::new(path, length, None, DamageReason::CutShort { expected_bytes }).into());
    }
    Ok(FoundSegment { path: path.to_owned(), source, header, seed })
}
