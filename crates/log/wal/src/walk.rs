//! Walking the records of a log as they lie in its segments, and judging the place where they end.
//!
//! The walk knows no writer and changes nothing; recovery, `scan` and the fuzz target use it alike. It ends in one of
//! three ways:
//!
//! - *End*: behind the last record nothing was begun.
//! - *Torn*: behind the last record lie pieces of what was written and not yet synced.
//! - *Damage*: something that was durable is missing, as records or segment headers written later say. A record's
//!   `synced` is the highest number known durable when it was written; so a whole record with `synced` at or above the
//!   missing number is the proof.

use std::path::PathBuf;

use daybook_types::Lsn;
use daybook_world::DiskError;

use crate::error::{Damage, DamageReason, OpenError};
use crate::format::{
    ALIGN, LogId, RECORD_HEADER_BYTES, RecordHeader, SEGMENT_HEADER_BYTES, Seed, SegmentHeader, Seq, What, u64_at,
};
use crate::reader::{Reader, Source};

/// A segment with a good header.
#[derive(Clone, Debug)]
pub(crate) struct FoundSegment<'a> {
    pub path: PathBuf,
    pub source: Source<'a>,
    pub header: SegmentHeader,
    pub seed: Seed,
}

impl<'a> FoundSegment<'a> {
    fn reader(&self) -> Reader<'a> {
        Reader::new(self.source.clone(), u64::from(self.header.capacity))
    }
}

/// One step of a walk.
#[derive(Debug)]
pub(crate) enum Step {
    Record { segment: usize, at: u64, header: RecordHeader },
    End,
    Torn(TornTail),
}

/// Pieces of what was never durable.
#[derive(Clone, Debug)]
pub(crate) struct TornTail {
    /// The segment with the last good record; later ones hold nothing that counts.
    pub segment: usize,
    /// Where its good records end.
    pub at: u64,
    /// Where the last piece in it ends.
    pub end: u64,
}

/// A walk over segments that are sorted by their first record's number.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    segments: Vec<FoundSegment<'a>>,
    current: usize,
    reader: Reader<'a>,
    at: u64,
    next_seq: Seq,
    prev: u32,
    last: Option<LogId>,
    synced: Seq,
}

impl<'a> Walk<'a> {
    /// None without a segment.
    pub(crate) fn new(segments: Vec<FoundSegment<'a>>) -> Option<Self> {
        let first = segments.first()?;
        let header = first.header;
        Some(Self {
            reader: first.reader(),
            segments,
            current: 0,
            at: SEGMENT_HEADER_BYTES,
            next_seq: header.first_seq,
            prev: header.prev,
            last: header.before,
            synced: header.synced,
        })
    }

    pub(crate) fn segments(&self) -> &[FoundSegment<'a>] {
        &self.segments
    }

    /// What the log ends with so far.
    pub(crate) fn last(&self) -> Option<LogId> {
        self.last
    }

    /// Number that the next record will have.
    pub(crate) fn next_seq(&self) -> Seq {
        self.next_seq
    }

    /// Checksum of the last record.
    pub(crate) fn prev(&self) -> u32 {
        self.prev
    }

    /// Highest number that the records seen know to be durable.
    pub(crate) fn synced(&self) -> Seq {
        self.synced
    }

    /// Reader of the segment of the last step.
    pub(crate) fn reader(&self) -> &Reader<'a> {
        &self.reader
    }

    pub(crate) fn step(&mut self) -> Result<Step, OpenError> {
        loop {
            if let Some(header) = self.next_record()? {
                let step = Step::Record { segment: self.current, at: self.at, header };
                self.last = self.log_end_after(&header)?;
                self.at += header.record_bytes();
                self.next_seq = self.next_seq.next();
                self.prev = header.crc;
                self.synced = self.synced.max(header.synced);
                return Ok(step);
            }
            match self.segments.get(self.current + 1) {
                Some(next) if next.header.first_seq == self.next_seq => {
                    if next.header.prev != self.prev || next.header.before != self.last {
                        let lsn = self.missing_lsn();
                        return Err(Damage::new(&next.path, 0, lsn, DamageReason::OutOfPlace).into());
                    }
                    self.reader = next.reader();
                    self.synced = self.synced.max(next.header.synced);
                    self.current += 1;
                    self.at = SEGMENT_HEADER_BYTES;
                }
                _ => return self.judge(),
            }
        }
    }

    /// The record here, if it is whole and the next one.
    fn next_record(&mut self) -> Result<Option<RecordHeader>, DiskError> {
        let Some(header) = self.reader.header(self.at)? else { return Ok(None) };
        let follows = header.seq == self.next_seq && header.prev == self.prev && header.synced < header.seq;
        if follows && self.reader.is_whole(self.at, &header, &self.segments[self.current].seed)? {
            Ok(Some(header))
        } else {
            Ok(None)
        }
    }

    /// What the log ends with after this record. A whole record that can't stand here was written by a faulty program.
    fn log_end_after(&self, header: &RecordHeader) -> Result<Option<LogId>, Damage> {
        let last_lsn = self.last.map(|(_, lsn)| lsn);
        let fits = match (header.what, header.log_id) {
            (What::Entry, Some((_, lsn))) => last_lsn.is_none_or(|last| last.next() == lsn),
            (What::Truncate, to) => to.is_none_or(|(_, lsn)| last_lsn.is_some_and(|last| lsn <= last)),
            (What::Purge, log_id) => log_id.is_some(),
            (What::Mark, log_id) => log_id.is_none(),
            (What::Entry, None) => false,
        };
        if !fits {
            let file = &self.segments[self.current].path;
            return Err(Damage::new(file, self.at, self.missing_lsn(), DamageReason::OutOfPlace));
        }
        Ok(match header.what {
            What::Entry | What::Truncate => header.log_id,
            What::Purge if last_lsn < header.log_id.map(|(_, lsn)| lsn) => header.log_id,
            What::Purge | What::Mark => self.last,
        })
    }

    /// Of the first entry that is not to be had if the log ends here.
    fn missing_lsn(&self) -> Option<Lsn> {
        let expected = self.segments[self.current].header.first_lsn;
        Some(self.last.map_or(expected, |(_, lsn)| lsn.next()))
    }

    /// The records end here: by right, torn, or by damage?
    fn judge(&mut self) -> Result<Step, OpenError> {
        let here = &self.segments[self.current];
        let (at, lsn) = (self.at, self.missing_lsn());
        let damage = |reason| OpenError::from(Damage::new(&here.path, at, lsn, reason));
        let lost = |proof_file: &PathBuf, proof_byte| {
            damage(DamageReason::RecordLost { proof_file: proof_file.clone(), proof_byte })
        };

        let begun = self
            .reader
            .header(self.at)?
            .filter(|header| header.seq == self.next_seq && header.prev == self.prev && header.synced < header.seq);
        let found = search(&mut self.reader, here, self.at, self.next_seq)?;
        match found.verdict {
            Verdict::Lost { proof_byte } => return Err(lost(&here.path, proof_byte)),
            Verdict::Undecidable => return Err(damage(DamageReason::Undecidable)),
            Verdict::NothingLost => {}
        }
        for later in &self.segments[self.current + 1..] {
            if later.header.synced >= self.next_seq {
                return Err(lost(&later.path, 0));
            }
            if later.header.first_seq < self.next_seq {
                return Err(Damage::new(&later.path, 0, self.missing_lsn(), DamageReason::SegmentTwice).into());
            }
            match search(&mut later.reader(), later, SEGMENT_HEADER_BYTES, self.next_seq)?.verdict {
                Verdict::Lost { proof_byte } => return Err(lost(&later.path, proof_byte)),
                Verdict::Undecidable => return Err(damage(DamageReason::Undecidable)),
                Verdict::NothingLost => {}
            }
        }

        let is_last = self.current + 1 == self.segments.len();
        if begun.is_none() && found.end.is_none() && is_last {
            return Ok(Step::End);
        }
        let begun_end = begun.map_or(self.at, |header| self.at + header.record_bytes());
        let end = found.end.unwrap_or(self.at).max(begun_end).min(self.reader.length());
        Ok(Step::Torn(TornTail { segment: self.current, at: self.at, end }))
    }
}

#[derive(Debug)]
struct Search {
    verdict: Verdict,
    /// Where the last whole record that was found ends.
    end: Option<u64>,
}

#[derive(Debug)]
enum Verdict {
    NothingLost,
    Lost { proof_byte: u64 },
    Undecidable,
}

/// Looks from `from` on for whole records numbered `missing` or more, up to the first that says `missing` was durable.
fn search(reader: &mut Reader<'_>, segment: &FoundSegment<'_>, from: u64, missing: Seq) -> Result<Search, DiskError> {
    const HEADER: usize = RECORD_HEADER_BYTES as usize;
    const STEP: usize = ALIGN as usize;
    let length = reader.length();
    let records_max = length / RECORD_HEADER_BYTES;
    let least = missing.max(segment.header.first_seq);
    let most = Seq(segment.header.first_seq.0.saturating_add(records_max));
    // A payload may be made so that it looks like record headers everywhere, each of which claims a long record.
    // Checking them all would take quadratic time; honest pieces don't overlap and so come to `length` at most.
    let mut bytes_to_check = length.saturating_mul(4).saturating_add(1 << 20);
    let mut end = None;
    let mut at = from;
    while at + RECORD_HEADER_BYTES <= length {
        let window = reader.from(at, HEADER)?;
        if window.len() < HEADER {
            break;
        }
        let candidate =
            window.windows(HEADER).step_by(STEP).position(|bytes| (least.0..=most.0).contains(&u64_at(bytes, 16)));
        let Some(steps) = candidate else {
            // The next place that had no whole header in this window.
            at += ((window.len() - HEADER) / STEP + 1) as u64 * ALIGN;
            continue;
        };
        at += steps as u64 * ALIGN;
        let plausible =
            reader.header(at)?.filter(|header| header.synced < header.seq && header.record_bytes() <= length - at);
        let Some(header) = plausible else {
            at += ALIGN;
            continue;
        };
        if reader.is_whole(at, &header, &segment.seed)? {
            if header.synced >= missing {
                return Ok(Search { verdict: Verdict::Lost { proof_byte: at }, end });
            }
            at += header.record_bytes();
            end = Some(at);
        } else {
            at += ALIGN;
            match bytes_to_check.checked_sub(header.record_bytes()) {
                Some(left) => bytes_to_check = left,
                None => return Ok(Search { verdict: Verdict::Undecidable, end }),
            }
        }
    }
    Ok(Search { verdict: Verdict::NothingLost, end })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
