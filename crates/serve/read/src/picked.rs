//! Records picked one by one, here and there, by their offsets.
//!
//! Whole batches are read; the last ones stay, since whoever reads a stream or `$all` mostly wants their neighbours next.

use std::collections::HashMap;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use daybook_record::{Record, batches, records};
use daybook_types::{Offset, PartitionId};

use crate::reader::Reader;
use crate::records::{Piece, ReadError};

/// Read at once where neighbours are wanted.
const RUN_BYTES: usize = 256 * 1024;
/// Partitions whose last batches stay.
const PARTITIONS_MAX: usize = 64;

/// Picks records of one shard. Holds some of what it read, so make it for one read and drop it.
#[derive(Debug)]
pub struct RecordPicker<'a> {
    reader: &'a Reader,
    partitions: HashMap<PartitionId, Picked>,
}

#[derive(Debug, Default)]
struct Picked {
    /// Records of the batch last looked into, ascending.
    records: Vec<Record>,
    /// The offsets that batch spans; those without a record have none any more.
    looked_into: Range<Offset>,
    /// Batches read and not looked into yet, with the offset after each.
    ahead: Vec<(Offset, Offset, Bytes)>,
    /// The offsets that were read: those in no batch have none any more.
    covered: Range<Offset>,
    /// The offset after the last record picked.
    expected: Option<Offset>,
}

impl<'a> RecordPicker<'a> {
    pub fn new(reader: &'a Reader) -> Self {
        Self { reader, partitions: HashMap::new() }
    }

    /// The record at `offset`; `None` if the log has it no more. Blocks where it lies in a file.
    pub fn pick(&mut self, partition: PartitionId, offset: Offset) -> Result<Option<Record>, ReadError> {
        if self.partitions.len() >= PARTITIONS_MAX && !self.partitions.contains_key(&partition) {
            self.partitions.clear();
        }
        let picked = self.partitions.entry(partition).or_default();
        let is_run = picked.expected == Some(offset);
        picked.expected = Some(offset.next());
        if let Some(record) = picked.find(offset) {
            return Ok(Some(record));
        }
        if picked.looked_into.contains(&offset) {
            return Ok(None);
        }
        if !picked.look_into(offset)? {
            if picked.covered.contains(&offset) {
                return Ok(None);
            }
            let bytes_max = if is_run { RUN_BYTES } else { 1 };
            let fetched = match self.reader.read(partition, offset, bytes_max, true) {
                Ok(fetched) => fetched,
                Err(ReadError::UnknownPartition { .. } | ReadError::OffsetOutOfRange { .. }) => return Ok(None),
                Err(error) => return Err(error),
            };
            picked.ahead = split(&fetched.pieces)?;
            picked.covered = offset..fetched.next_offset;
            picked.look_into(offset)?;
        }
        Ok(picked.find(offset))
    }
}

impl Picked {
    fn find(&self, offset: Offset) -> Option<Record> {
        let at = self.records.binary_search_by_key(&offset, |record| record.offset).ok()?;
        Some(self.records[at].clone())
    }

    /// Decodes the batch that holds `offset`, if it was read.
    fn look_into(&mut self, offset: Offset) -> Result<bool, ReadError> {
        let holds = |(base, next, _): &(Offset, Offset, Bytes)| *base <= offset && offset < *next;
        let Some((base, next, batch)) = self.ahead.iter().find(|batch| holds(batch)) else { return Ok(false) };
        self.records = records(batch)?.collect::<Result<_, _>>()?;
        self.looked_into = *base..*next;
        Ok(true)
    }
}

/// The batches of a fetch, in one piece of memory.
fn split(pieces: &[Piece]) -> Result<Vec<(Offset, Offset, Bytes)>, ReadError> {
    let mut whole = BytesMut::new();
    for piece in pieces {
        match piece {
            Piece::Memory(bytes) => whole.extend_from_slice(bytes),
            Piece::File(slice) => whole.extend_from_slice(&slice.to_bytes()?),
        }
    }
    let mut found = Vec::new();
    for batch in batches(whole.freeze()) {
        let (header, bytes) = batch?;
        let next = Offset(header.base_offset.0 + i64::from(header.last_offset_delta) + 1);
        found.push((header.base_offset, next, bytes));
    }
    Ok(found)
}
