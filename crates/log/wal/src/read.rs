//! Reading entries back, from any thread, while the log is written.
//!
//! The index says where; the bytes are read without a lock and checked. A segment may be freed and its file used again
//! in the meantime: then the check fails, and a second look at the index tells that from damage.

use bytes::Bytes;
use daybook_types::{Lsn, Term};
use parking_lot::RwLock;

use crate::error::{Damage, DamageReason, ReadError};
use crate::format::{RECORD_HEADER_BYTES, RecordHeader, What};
use crate::index::{Index, Run};
use crate::reader::whole_record;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub term: Term,
    pub lsn: Lsn,
    /// The caller's meaning.
    pub kind: u8,
    pub payload: Bytes,
}

/// Entries from `from` to `to` (exclusive) as far as there are and `bytes_max` allows, at least one.
pub(crate) fn read(index: &RwLock<Index>, from: Lsn, to: Lsn, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
    let mut records = Vec::new();
    let mut next = from;
    let mut bytes_left = bytes_max;
    while next < to && (records.is_empty() || bytes_left > 0) {
        let run = {
            let index = index.read();
            check_kept(&index, next)?;
            index.run(next, to, bytes_left)
        };
        let Some(run) = run else { break };
        let bytes = usize::try_from(run.end - u64::from(run.positions[0])).unwrap_or(usize::MAX);
        if !records.is_empty() && bytes > bytes_left {
            break;
        }
        match read_run(&run, bytes_max, &mut records) {
            Ok(()) => {}
            Err(_) if !index.read().holds(&run.segment) => {
                check_kept(&index.read(), next)?;
                // Truncated away meanwhile: what was read before that still counts.
                break;
            }
            Err(error) => return Err(error),
        }
        next = run.first.plus(run.positions.len() as u64);
        bytes_left = bytes_left.saturating_sub(bytes);
    }
    Ok(records)
}

fn check_kept(index: &Index, lsn: Lsn) -> Result<(), ReadError> {
    match index.purged() {
        Some((_, purged)) if lsn <= purged => Err(ReadError::Purged { from: lsn, purged }),
        _ => Ok(()),
    }
}

fn read_run(run: &Run, bytes_max: usize, records: &mut Vec<Record>) -> Result<(), ReadError> {
    let start = u64::from(run.positions[0]);
    let mut bytes = run.end - start;
    if run.positions.len() == 1 && bytes > bytes_max as u64 {
        // Behind a single entry there may lie much that was truncated.
        let mut header = [0; RECORD_HEADER_BYTES as usize];
        run.segment.file.read_at(&mut header, start)?;
        bytes = RecordHeader::decode(&header).map_or(bytes, |header| header.record_bytes().min(bytes));
    }
    let mut buffer = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
    let count = run.segment.file.read_at(&mut buffer, start)?;
    buffer.truncate(count);
    let buffer = Bytes::from(buffer);
    for (number, position) in run.positions.iter().enumerate() {
        let lsn = run.first.plus(number as u64);
        let offset = (u64::from(*position) - start) as usize;
        let record = buffer.get(offset..).and_then(|bytes| whole_record(bytes, &run.segment.seed));
        let expected = record
            .filter(|header| header.what == What::Entry && header.seq >= run.segment.first_seq)
            .and_then(|header| header.log_id.filter(|(_, found)| *found == lsn).map(|(term, _)| (term, header)));
        let Some((term, header)) = expected else {
            let byte = u64::from(*position);
            return Err(Damage::new(&run.segment.path, byte, Some(lsn), DamageReason::Checksum).into());
        };
        let payload_start = offset + RECORD_HEADER_BYTES as usize;
        let payload = buffer.slice(payload_start..payload_start + header.payload_bytes as usize);
        records.push(Record { term, lsn, kind: header.kind, payload });
    }
    Ok(())
}

/// Term of an entry that is kept, or of the one before the first kept.
pub(crate) fn term_of(index: &RwLock<Index>, lsn: Lsn) -> Result<Option<Term>, ReadError> {
    let (last, purged) = {
        let index = index.read();
        (index.last(), index.purged())
    };
    for (term, known) in [last, purged].into_iter().flatten() {
        if known == lsn {
            return Ok(Some(term));
        }
    }
    Ok(read(index, lsn, lsn.next(), 1)?.first().map(|record| record.term))
}
