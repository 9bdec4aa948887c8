//! A batch without some of its records: what compaction and its like leave of it.
//!
//! Records are copied as bytes: neither their offsets nor their timestamps are told by the neighbours they lose. What says where the
//! batch stands (base offset, last offset delta, base timestamp, producer, sequence, leader epoch) stays, as Kafka's log cleaner does it.

use std::ops::Range;

use bytes::Bytes;
use daybook_types::{Offset, TimestampMs};

use crate::header::{LENGTH_FROM, set_crc};
use crate::timestamp::record_timestamp;
use crate::walk::{self, Memory, Source};
use crate::{BatchError, BatchHeader, HEADER_BYTES, RECORDS_BYTES_MAX, Record, TimestampType, compression};

/// A batch whose records were judged.
#[derive(Debug)]
pub struct Sifted {
    header: BatchHeader,
    /// All records, decompressed.
    body: Bytes,
    /// Where those that stay are in `body`; neighbours are one range.
    kept: Vec<Range<usize>>,
    kept_records: i32,
    /// Of those that stay.
    max_timestamp: TimestampMs,
}

/// Asks `keep` of every record of `batch`, in order.
pub fn sift<E: From<BatchError>>(batch: &Bytes, mut keep: impl FnMut(&Record) -> Result<bool, E>) -> Result<Sifted, E> {
    let header = BatchHeader::read(batch)?;
    let have = batch.len();
    if have < header.batch_bytes {
        return Err(BatchError::Truncated { have, need: header.batch_bytes }.into());
    }
    let body = batch.slice(HEADER_BYTES..header.batch_bytes);
    let body = compression::decompress(header.compression(), &body, RECORDS_BYTES_MAX)?;
    let mut source = Memory::new(body.clone());
    let mut sifted = Sifted { header, body, kept: Vec::new(), kept_records: 0, max_timestamp: TimestampMs::NONE };
    for index in 0..header.record_count {
        let from = source.consumed();
        let parts = walk::record(&mut source, index)?;
        let record = Record {
            offset: Offset(header.base_offset.0.saturating_add(parts.offset_delta.into())),
            timestamp: record_timestamp(&header, parts.timestamp_delta),
            key: parts.key,
            value: parts.value,
            headers: parts.headers,
        };
        if keep(&record)? {
            sifted.take(from..source.consumed(), record.timestamp);
        }
    }
    walk::end(&mut source, header.record_count)?;
    Ok(sifted)
}

impl Sifted {
    fn take(&mut self, range: Range<usize>, timestamp: TimestampMs) {
        match self.kept.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.kept.push(range),
        }
        self.kept_records += 1;
        self.max_timestamp = self.max_timestamp.max(timestamp);
    }

    pub fn kept_records(&self) -> i32 {
        self.kept_records
    }

    pub fn removed_records(&self) -> i32 {
        self.header.record_count - self.kept_records
    }

    /// About how many bytes are left of the batch; none without records. A guess where it is compressed.
    pub fn bytes_about(&self) -> usize {
        if self.kept_records == 0 {
            return 0;
        }
        let kept: usize = self.kept.iter().map(Range::len).sum();
        let share = (self.header.batch_bytes - HEADER_BYTES) as u128 * kept as u128 / self.body.len().max(1) as u128;
        HEADER_BYTES + share as usize
    }

    /// The batch with the records that stay, compressed as it was.
    pub fn build(&self) -> Result<Bytes, BatchError> {
        if self.kept_records == 0 {
            return Err(BatchError::Empty);
        }
        let codec = self.header.compression();
        let records: Vec<u8> = self.kept.iter().flat_map(|range| &self.body[range.clone()]).copied().collect();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + records.len());
        bytes.resize(HEADER_BYTES, 0);
        let mut bytes = compression::compress(codec, &records, bytes)
            .map_err(|_| BatchError::Undecodable { compression: codec })?;
        if bytes.len() - LENGTH_FROM > i32::MAX as usize {
            return Err(BatchError::Oversized { bytes: bytes.len() });
        }
        let max_timestamp = match self.header.timestamp_type() {
            TimestampType::CreateTime => self.max_timestamp,
            // The time of every record.
            TimestampType::LogAppendTime => self.header.max_timestamp,
        };
        let header =
            BatchHeader { batch_bytes: bytes.len(), record_count: self.kept_records, max_timestamp, ..self.header };
        bytes[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        set_crc(&mut bytes);
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests;
