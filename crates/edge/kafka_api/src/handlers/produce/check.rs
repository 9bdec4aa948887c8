//! May this batch be written to this topic? The checks of Kafka's `ProduceRequest` and `LogValidator`, as far as they need no
//! record decoded; records are looked at only where the topic or the batch demands it.

use bytes::Bytes;
use daybook_catalog::{TimestampKind, Topic, TopicSettings};
use daybook_event::Facts;
use daybook_record::{
    BatchError, BatchHeader, CheckedRecords, Compression, RECORDS_BYTES_MAX, TimestampType, batches, check_records,
    records, with_max_timestamp,
};
use daybook_types::TimestampMs;

use crate::error_code::{self, ErrorCode};

/// First version in which batches may be compressed with zstd (KIP-110).
const ZSTD_FROM: i16 = 7;

/// Why a partition's records weren't taken.
#[derive(Debug)]
pub(super) struct Refusal {
    pub error: ErrorCode,
    pub message: Option<String>,
    /// Numbers in their batch of the records at fault, where it is not the batch as a whole.
    pub records: Vec<i32>,
}

impl Refusal {
    pub fn new(error: ErrorCode, message: impl Into<String>) -> Self {
        Self { error, message: Some(message.into()), records: Vec::new() }
    }
}

impl From<ErrorCode> for Refusal {
    fn from(error: ErrorCode) -> Self {
        Self { error, message: None, records: Vec::new() }
    }
}

/// The batch to be written, as it came unless its largest timestamp had to be corrected; and whether it is of a transaction.
pub(super) fn check(
    topic: &Topic,
    records: Option<Bytes>,
    version: i16,
    now: TimestampMs,
) -> Result<(Bytes, bool), Refusal> {
    let settings = &topic.settings;
    let (batch_bytes, batch) = only_batch(records)?;
    if batch_bytes > settings.max_message_bytes {
        let message = format!(
            "the batch has {batch_bytes} bytes, max.message.bytes of topic {} is {}",
            topic.name, settings.max_message_bytes
        );
        return Err(Refusal::new(ErrorCode::MessageTooLarge, message));
    }
    let header =
        daybook_record::check(&batch).map_err(|fault| Refusal::new(error_code::of_batch(&fault), fault.to_string()))?;
    if header.is_transactional() && !header.has_producer_id() {
        return Err(Refusal::new(ErrorCode::InvalidRecord, "a transactional batch needs a producer id"));
    }
    if header.compression() == Compression::Zstd && version < ZSTD_FROM {
        let message = format!("zstd needs produce version {ZSTD_FROM} or later");
        return Err(Refusal::new(ErrorCode::UnsupportedCompressionType, message));
    }
    let (batch, header) = look_at_records(settings, batch, header)?;
    if settings.streams {
        check_events(&batch)?;
    }
    check_timestamps(settings, &header, now)?;
    Ok((batch, header.is_transactional()))
}

fn only_batch(records: Option<Bytes>) -> Result<(usize, Bytes), Refusal> {
    let invalid = |message: &str| Refusal::new(ErrorCode::InvalidRecord, message);
    let records = records.unwrap_or_default();
    let mut found = batches(records);
    let (header, batch) = found
        .next()
        .ok_or_else(|| invalid("a produce request has a record batch for each partition"))?
        .map_err(|fault| Refusal::new(error_code::of_batch(&fault), fault.to_string()))?;
    match found.next() {
        None => Ok((header.batch_bytes, batch)),
        Some(_) => Err(invalid("a produce request has exactly one record batch for each partition")),
    }
}

/// Walks the records: of a batch that isn't compressed always, since that costs some 20 ns a record and keeps out those whose header
/// counts other records than there are. Decompressing costs far more, so compressed ones are looked into only for a compacted topic,
/// where each record needs a key, and where the largest timestamp can't be true: some clients leave it unset, and look-ups by time
/// depend on it.
fn look_at_records(
    settings: &TopicSettings,
    batch: Bytes,
    header: BatchHeader,
) -> Result<(Bytes, BatchHeader), Refusal> {
    let is_max_doubtful = header.max_timestamp < header.base_timestamp;
    let is_compressed = header.compression() != Compression::None;
    if is_compressed && !settings.cleanup_compact && !is_max_doubtful {
        return Ok((batch, header));
    }
    let CheckedRecords { without_key, max_timestamp, .. } = check_records(&batch, RECORDS_BYTES_MAX)
        .map_err(|fault| Refusal::new(error_code::of_batch(&fault), fault.to_string()))?;
    if settings.cleanup_compact && !without_key.is_empty() {
        let message = "a compacted topic takes no record without a key".to_owned();
        return Err(Refusal { error: ErrorCode::InvalidRecord, message: Some(message), records: without_key });
    }
    if header.max_timestamp == max_timestamp || header.timestamp_type() == TimestampType::LogAppendTime {
        return Ok((batch, header));
    }
    Ok((with_max_timestamp(&batch, max_timestamp), BatchHeader { max_timestamp, ..header }))
}

/// Every record of an event topic goes into the index of streams, so it must be readable; and so must what it expects of its stream.
fn check_events(batch: &Bytes) -> Result<(), Refusal> {
    let damaged = |fault: &BatchError| Refusal::new(error_code::of_batch(fault), fault.to_string());
    for (number, record) in records(batch).map_err(|fault| damaged(&fault))?.enumerate() {
        let record = record.map_err(|fault| damaged(&fault))?;
        Facts::of(&record).map_err(|fault| Refusal {
            error: ErrorCode::InvalidRecord,
            message: Some(fault.to_string()),
            records: vec![number as i32],
        })?;
    }
    Ok(())
}

fn check_timestamps(settings: &TopicSettings, header: &BatchHeader, now: TimestampMs) -> Result<(), Refusal> {
    if settings.timestamp_kind == TimestampKind::LogAppendTime {
        return Ok(());
    }
    if header.timestamp_type() == TimestampType::LogAppendTime {
        return Err(Refusal::new(ErrorCode::InvalidTimestamp, "only the log sets the time of appending"));
    }
    for timestamp in [header.base_timestamp, header.max_timestamp] {
        let age_ms = now.0.saturating_sub(timestamp.0);
        let is_early = age_ms > settings.message_timestamp_before_max_ms;
        let is_late = age_ms.saturating_neg() > settings.message_timestamp_after_max_ms;
        if timestamp != TimestampMs::NONE && (is_early || is_late) {
            let message = format!(
                "timestamp {timestamp} is not within {} ms before and {} ms after the server's time {now}",
                settings.message_timestamp_before_max_ms, settings.message_timestamp_after_max_ms
            );
            return Err(Refusal::new(ErrorCode::InvalidTimestamp, message));
        }
    }
    Ok(())
}
