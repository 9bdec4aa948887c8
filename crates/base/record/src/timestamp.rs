//! Timestamps of a batch: set by the log, and looked up.
//!
//! Kafka's broker changes the timestamp type and the largest timestamp of a batch and leaves the base timestamp and the records
//! as they are (`DefaultRecordBatch.setMaxTimestamp`); under LogAppendTime every record has the largest timestamp.

use bytes::Bytes;
use daybook_types::{Offset, TimestampMs};

use crate::header::set_timestamps;
use crate::walk::{self, Skim};
use crate::{BatchError, BatchHeader, HEADER_BYTES, RECORDS_BYTES_MAX, TimestampType, compression};

/// A copy of `batch` whose records have the time at which the log took them. `batch` is returned as it is if it isn't one.
pub fn with_log_append_time(batch: &Bytes, now: TimestampMs) -> Bytes {
    with_timestamps(batch, TimestampType::LogAppendTime, now)
}

/// A copy of `batch` that states `max_timestamp` as its largest (CreateTime); for producers that stated another than
/// [`crate::check_records`] found. `batch` is returned as it is if it isn't one.
pub fn with_max_timestamp(batch: &Bytes, max_timestamp: TimestampMs) -> Bytes {
    with_timestamps(batch, TimestampType::CreateTime, max_timestamp)
}

fn with_timestamps(batch: &Bytes, timestamp_type: TimestampType, max_timestamp: TimestampMs) -> Bytes {
    let Ok(header) = BatchHeader::read(batch) else { return batch.clone() };
    if header.timestamp_type() == timestamp_type && header.max_timestamp == max_timestamp {
        return batch.clone();
    }
    let mut copy = batch.to_vec();
    set_timestamps(&mut copy, header.attributes.with_timestamp_type(timestamp_type), max_timestamp);
    copy.into()
}

/// The first record at or after `from` whose timestamp is `at` or later. Looks inside compressed batches.
pub fn offset_for_timestamp(
    batch: &[u8],
    at: TimestampMs,
    from: Offset,
) -> Result<Option<(Offset, TimestampMs)>, BatchError> {
    let mut found = None;
    skim(batch, |offset, timestamp| {
        let hit = timestamp >= at && offset >= from;
        if hit {
            found = Some((offset, timestamp));
        }
        hit
    })?;
    Ok(found)
}

/// The first of the records that have the batch's largest timestamp; `None` if the batch has no record.
pub fn latest_record(batch: &[u8]) -> Result<Option<(Offset, TimestampMs)>, BatchError> {
    let mut found: Option<(Offset, TimestampMs)> = None;
    skim(batch, |offset, timestamp| {
        if found.is_none_or(|(_, latest)| timestamp > latest) {
            found = Some((offset, timestamp));
        }
        false
    })?;
    Ok(found)
}

/// Shows offset and timestamp of record after record until `enough`.
fn skim(batch: &[u8], mut enough: impl FnMut(Offset, TimestampMs) -> bool) -> Result<(), BatchError> {
    let header = BatchHeader::read(batch)?;
    let body = batch.get(HEADER_BYTES..header.batch_bytes);
    let body = body.ok_or(BatchError::Truncated { have: batch.len(), need: header.batch_bytes })?;
    let codec = header.compression();
    let stream = compression::reader(codec, body, RECORDS_BYTES_MAX)?;
    let mut source = Skim::new(stream, codec, RECORDS_BYTES_MAX);
    for index in 0..header.record_count {
        let record = walk::record(&mut source, index)?;
        let offset = Offset(header.base_offset.0.saturating_add(record.offset_delta.into()));
        if enough(offset, record_timestamp(&header, record.timestamp_delta)) {
            break;
        }
    }
    Ok(())
}

pub(crate) fn record_timestamp(header: &BatchHeader, delta: i64) -> TimestampMs {
    match header.timestamp_type() {
        TimestampType::CreateTime => TimestampMs(header.base_timestamp.0.wrapping_add(delta)),
        TimestampType::LogAppendTime => header.max_timestamp,
    }
}

#[cfg(test)]
mod tests;
