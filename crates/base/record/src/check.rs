//! Is this a batch, whole and undamaged, and may a client write it?

use bytes::Bytes;
use daybook_types::TimestampMs;

use crate::header::{CRC_FROM, crc_of};
use crate::timestamp::record_timestamp;
use crate::walk::{self, Skim, Source};
use crate::{BatchError, BatchHeader, HEADER_BYTES, RecordFault, compression};

/// Reads the header of `batch`, which must be exactly one batch, and checks its CRC. For bytes from our own files and from other
/// brokers: batches that compaction has been through and control batches pass.
pub fn verify(batch: &[u8]) -> Result<BatchHeader, BatchError> {
    let header = BatchHeader::read(batch)?;
    if batch.len() < header.batch_bytes {
        return Err(BatchError::Truncated { have: batch.len(), need: header.batch_bytes });
    }
    if batch.len() > header.batch_bytes {
        return Err(BatchError::Trailing { bytes: batch.len() - header.batch_bytes });
    }
    let computed = crc_of(batch);
    if computed != header.crc {
        return Err(BatchError::Crc { stored: header.crc, computed });
    }
    Ok(header)
}

/// [`verify`] for a batch that comes in parts, so that a large one, or a length that is damaged, takes no memory.
pub struct CrcCheck {
    stored: u32,
    computed: crc_fast::Digest,
    /// Bytes still to come before those that the CRC covers.
    uncovered: usize,
}

impl CrcCheck {
    /// For the batch that begins with `header`.
    pub fn new(header: &BatchHeader) -> Self {
        let computed = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
        Self { stored: header.crc, computed, uncovered: CRC_FROM }
    }

    /// Takes the next bytes of the batch, the header's included.
    pub fn update(&mut self, part: &[u8]) {
        let skipped = self.uncovered.min(part.len());
        self.uncovered -= skipped;
        self.computed.update(&part[skipped..]);
    }

    pub fn finish(self) -> Result<(), BatchError> {
        let computed = self.computed.finalize() as u32;
        if computed == self.stored { Ok(()) } else { Err(BatchError::Crc { stored: self.stored, computed }) }
    }
}

/// [`verify`], and what a client may write (as Kafka's `LogValidator`): as many records as offsets and at least one, no control
/// batch, a sequence where there is a producer id. Doesn't look at records. Timestamps before the epoch are refused but for
/// Kafka's -1; a largest one below the first is let pass, since real clients write it.
pub fn check(batch: &[u8]) -> Result<BatchHeader, BatchError> {
    let header = verify(batch)?;
    let BatchHeader { record_count: count, last_offset_delta, base_sequence, .. } = header;
    if count < 1 || count - 1 != last_offset_delta {
        return Err(BatchError::RecordCount { count, last_offset_delta });
    }
    if header.is_control() {
        return Err(BatchError::Control);
    }
    if header.has_producer_id() && base_sequence < 0 {
        return Err(BatchError::Sequence { base_sequence });
    }
    match [header.base_timestamp, header.max_timestamp].into_iter().find(|&timestamp| timestamp < TimestampMs::NONE) {
        Some(timestamp) => Err(BatchError::Timestamp { timestamp }),
        None => Ok(header),
    }
}

/// Records without a key that [`CheckedRecords`] names; of a batch with more it is no use to know all.
pub const WITHOUT_KEY_MAX: usize = 1024;

/// What [`check_records`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRecords {
    /// Decompressed size of all records.
    pub records_bytes: usize,
    /// Numbers in their batch of the first [`WITHOUT_KEY_MAX`] records that have no key: a compacted topic can't take them.
    pub without_key: Vec<i32>,
    pub min_timestamp: TimestampMs,
    /// Where this isn't the header's, [`crate::with_max_timestamp`] corrects the batch, as Kafka's broker does.
    pub max_timestamp: TimestampMs,
}

/// Walks the records of a batch that [`check`] passed: sizes exact, offset deltas 0, 1, 2, …, nothing after the last. Decompresses
/// as a stream; more than `bytes_max` decompressed bytes are an error.
pub fn check_records(batch: &[u8], bytes_max: usize) -> Result<CheckedRecords, BatchError> {
    let header = BatchHeader::read(batch)?;
    let body = batch.get(HEADER_BYTES..).unwrap_or_default();
    match header.compression() {
        // Without the indirection of a boxed stream: this is a produce request's usual case.
        plain @ crate::Compression::None => walk_all(Skim::new(body, plain, bytes_max), &header),
        codec => walk_all(Skim::new(compression::reader(codec, body, bytes_max)?, codec, bytes_max), &header),
    }
}

fn walk_all(mut source: impl Source, header: &BatchHeader) -> Result<CheckedRecords, BatchError> {
    let mut without_key = Vec::new();
    let mut timestamps: Option<(TimestampMs, TimestampMs)> = None;
    for index in 0..header.record_count {
        let record = walk::record(&mut source, index)?;
        if record.offset_delta != index {
            return Err(BatchError::Record { index, fault: RecordFault::OffsetDelta { delta: record.offset_delta } });
        }
        if record.key.is_none() && without_key.len() < WITHOUT_KEY_MAX {
            without_key.push(index);
        }
        let at = record_timestamp(header, record.timestamp_delta);
        timestamps = Some(timestamps.map_or((at, at), |(min, max)| (min.min(at), max.max(at))));
    }
    walk::end(&mut source, header.record_count)?;
    let (min_timestamp, max_timestamp) = timestamps.unwrap_or((TimestampMs::NONE, TimestampMs::NONE));
    Ok(CheckedRecords { records_bytes: source.consumed(), without_key, min_timestamp, max_timestamp })
}

/// Splits a records field into its batches, without a copy. Ends after the first error; a fetch answer may end in half a batch,
/// which shows as [`BatchError::Truncated`].
pub fn batches(records: Bytes) -> Batches {
    Batches { left: records }
}

/// The batches of a records field.
#[derive(Clone, Debug)]
pub struct Batches {
    left: Bytes,
}

impl Iterator for Batches {
    type Item = Result<(BatchHeader, Bytes), BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        let have = self.left.len();
        let next = match BatchHeader::read(&self.left) {
            Ok(header) if header.batch_bytes > have => Err(BatchError::Truncated { have, need: header.batch_bytes }),
            Ok(header) => Ok((header, self.left.split_to(header.batch_bytes))),
            Err(error) => Err(error),
        };
        if next.is_err() {
            self.left = Bytes::new();
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests;
