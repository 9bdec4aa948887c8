//! Records picked one by one, here and there, by their offsets.
//!
//! Of a batch only the records asked for are read; those before them are passed over by their lengths. What was read last stays,
//! since whoever reads a stream or `$all` mostly wants its neighbours next.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use daybook_record::{Record, Records, batches, records};
use daybook_types::{Offset, PartitionId};

use crate::reader::Reader;
use crate::records::ReadError;

/// Read at once where neighbours are wanted.
const RUN_BYTES: usize = 256 * 1024;
/// Partitions of which something stays.
const PARTITIONS_MAX: usize = 64;

/// Picks records of one shard. Holds some of what it read, so make it for one read and drop it.
#[derive(Debug)]
pub struct RecordPicker<'a> {
    reader: &'a Reader,
    partitions: HashMap<PartitionId, Picked>,
}

#[derive(Debug, Default)]
struct Picked {
    /// The batch last looked into.
    open: Option<OpenBatch>,
    /// Batches read from files and not looked into yet.
    ahead: Vec<Batch>,
    /// The offsets that were read from files: those in no batch have none any more.
    covered: Range<Offset>,
    /// The offset after the last record picked.
    expected: Option<Offset>,
}

#[derive(Clone, Debug)]
struct Batch {
    /// The offsets it spans; some may have no record any more.
    span: Range<Offset>,
    bytes: Bytes,
}

#[derive(Debug)]
struct OpenBatch {
    span: Range<Offset>,
    /// All its records, to begin again from.
    whole: Records,
    /// Those from `next` on.
    left: Records,
    next: Offset,
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
        if !picked.is_open_at(offset) && !picked.open_ahead(offset)? {
            if let Some(batch) = self.reader.tail_batch(partition, offset) {
                picked.open(&Batch { span: batch.base_offset..batch.next_offset, bytes: batch.bytes })?;
            } else if picked.covered.contains(&offset) {
                return Ok(None);
            } else {
                let bytes_max = if is_run { RUN_BYTES } else { 1 };
                let fetched = match self.reader.read(partition, offset, bytes_max, true) {
                    Ok(fetched) => fetched,
                    Err(ReadError::UnknownPartition { .. } | ReadError::OffsetOutOfRange { .. }) => return Ok(None),
                    Err(error) => return Err(error),
                };
                picked.ahead = split(fetched.to_bytes()?)?;
                picked.covered = offset..fetched.next_offset;
                if !picked.open_ahead(offset)? {
                    return Ok(None);
                }
            }
        }
        picked.open.as_mut().map_or(Ok(None), |open| open.pick(offset))
    }
}

impl Picked {
    fn is_open_at(&self, offset: Offset) -> bool {
        self.open.as_ref().is_some_and(|open| open.span.contains(&offset))
    }

    /// Opens the batch that holds `offset`, if it was read.
    fn open_ahead(&mut self, offset: Offset) -> Result<bool, ReadError> {
        let Some(batch) = self.ahead.iter().find(|batch| batch.span.contains(&offset)).cloned() else {
            return Ok(false);
        };
        self.open(&batch)?;
        Ok(true)
    }

    fn open(&mut self, batch: &Batch) -> Result<(), ReadError> {
        let Range { start: next, .. } = batch.span;
        let whole = records(&batch.bytes)?.based_at(next);
        self.open = Some(OpenBatch { span: batch.span.clone(), left: whole.clone(), whole, next });
        Ok(())
    }
}

impl OpenBatch {
    fn pick(&mut self, offset: Offset) -> Result<Option<Record>, ReadError> {
        if offset < self.next {
            self.left = self.whole.clone();
        }
        self.left.skip_to(offset)?;
        let found = self.left.next().transpose()?;
        self.next = found.as_ref().map_or(self.span.end, |record| record.offset.next());
        Ok(found.filter(|record| record.offset == offset))
    }
}

fn split(fetched: Bytes) -> Result<Vec<Batch>, ReadError> {
    let mut found = Vec::new();
    for batch in batches(fetched) {
        let (header, bytes) = batch?;
        found.push(Batch { span: header.base_offset..header.next_offset(), bytes });
    }
    Ok(found)
}
