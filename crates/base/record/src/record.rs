//! Records, one by one.

use bytes::Bytes;
use daybook_types::{Offset, TimestampMs};

use crate::timestamp::record_timestamp;
use crate::walk::{self, Memory};
use crate::{BatchError, BatchHeader, HEADER_BYTES, RECORDS_BYTES_MAX, compression};

/// Name and value of a record's header. Names should be UTF-8; nobody checks.
pub type RecordHeader = (Bytes, Option<Bytes>);

/// A record with its place in the partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub offset: Offset,
    pub timestamp: TimestampMs,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    /// In their order, with all duplicates.
    pub headers: Vec<RecordHeader>,
}

/// The records of `batch`: slices of it if it isn't compressed, else of its records decompressed at once, of which there may be
/// [`RECORDS_BYTES_MAX`] bytes. Ends after the first error.
pub fn records(batch: &Bytes) -> Result<Records, BatchError> {
    let header = BatchHeader::read(batch)?;
    let have = batch.len();
    if have < header.batch_bytes {
        return Err(BatchError::Truncated { have, need: header.batch_bytes });
    }
    let body = batch.slice(HEADER_BYTES..header.batch_bytes);
    let body = compression::decompress(header.compression(), &body, RECORDS_BYTES_MAX)?;
    Ok(Records { header, source: Memory::new(body), index: 0, ended: false })
}

/// The records of a batch. A clone goes on from the same place, over the same bytes.
#[derive(Clone, Debug)]
pub struct Records {
    header: BatchHeader,
    source: Memory,
    index: i32,
    ended: bool,
}

impl Records {
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The same records counted from another base offset, for a batch that does not bear its own yet.
    pub fn based_at(mut self, base_offset: Offset) -> Self {
        self.header.base_offset = base_offset;
        self
    }

    /// Passes over the records before `offset` by their lengths. What is in them is not read, and not checked.
    pub fn skip_to(&mut self, offset: Offset) -> Result<(), BatchError> {
        let delta = offset.0.saturating_sub(self.header.base_offset.0);
        if !self.ended {
            let count = self.header.record_count;
            let skipped = self.source.skip(&mut self.index, count, |offset_delta| i64::from(offset_delta) < delta);
            self.ended = skipped.is_err();
            skipped?;
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Record, BatchError> {
        let parts = walk::record(&mut self.source, self.index)?;
        Ok(Record {
            offset: Offset(self.header.base_offset.0.saturating_add(parts.offset_delta.into())),
            timestamp: record_timestamp(&self.header, parts.timestamp_delta),
            key: parts.key,
            value: parts.value,
            headers: parts.headers,
        })
    }
}

impl Iterator for Records {
    type Item = Result<Record, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.index == self.header.record_count {
            self.ended = true;
            return walk::end(&mut self.source, self.index).err().map(Err);
        }
        let record = self.read();
        self.index += 1;
        self.ended = record.is_err();
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // The count comes from the bytes and may lie, so it isn't promised to whoever reserves memory by it.
        (0, None)
    }
}

#[cfg(test)]
mod tests;
