//! The 61 bytes in front of a batch's records.

use daybook_types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs};

use crate::{BatchError, Compression};

/// Bytes of a batch before its first record.
pub const HEADER_BYTES: usize = 61;

/// Bytes at the start of a batch that the log sets and the CRC doesn't cover.
pub const STAMP_BYTES: usize = 16;

/// Base sequence of a batch whose producer isn't idempotent.
pub const NO_SEQUENCE: i32 = -1;

/// The length field counts from here.
pub(crate) const LENGTH_FROM: usize = 12;
/// The CRC covers from here to the end.
pub(crate) const CRC_FROM: usize = 21;
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const MAX_TIMESTAMP_AT: usize = 35;
const MAGIC: i8 = 2;

/// The header of a batch. Field for field as Kafka defines it, but for `batch_bytes`, which counts the whole batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    pub base_offset: Offset,
    /// The whole batch, this header and all before the length field included.
    pub batch_bytes: usize,
    pub leader_epoch: LeaderEpoch,
    pub crc: u32,
    pub attributes: Attributes,
    pub last_offset_delta: i32,
    pub base_timestamp: TimestampMs,
    /// As the producer wrote it. Some clients leave it at -1, so it isn't proof that no record is later.
    pub max_timestamp: TimestampMs,
    pub producer_id: ProducerId,
    pub producer_epoch: ProducerEpoch,
    pub base_sequence: i32,
    /// Smaller than `last_offset_delta + 1` in a batch that compaction has been through.
    pub record_count: i32,
}

/// The attribute bits of a batch. Always names a compression we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Attributes(i16);

/// Who set the records' timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimestampType {
    CreateTime,
    LogAppendTime,
}

impl Attributes {
    const COMPRESSION: i16 = 0b111;
    const LOG_APPEND_TIME: i16 = 1 << 3;
    const TRANSACTIONAL: i16 = 1 << 4;
    const CONTROL: i16 = 1 << 5;

    pub fn from_wire(bits: i16) -> Result<Self, BatchError> {
        let code = (bits & Self::COMPRESSION) as u8;
        match Compression::from_code(code) {
            Some(_) => Ok(Self(bits)),
            None => Err(BatchError::UnknownCompression { code }),
        }
    }

    pub fn to_wire(self) -> i16 {
        self.0
    }

    pub fn compression(self) -> Compression {
        Compression::from_code((self.0 & Self::COMPRESSION) as u8).expect("every constructor keeps to known codes")
    }

    pub fn timestamp_type(self) -> TimestampType {
        if self.has(Self::LOG_APPEND_TIME) { TimestampType::LogAppendTime } else { TimestampType::CreateTime }
    }

    pub fn is_transactional(self) -> bool {
        self.has(Self::TRANSACTIONAL)
    }

    pub fn is_control(self) -> bool {
        self.has(Self::CONTROL)
    }

    #[must_use]
    pub fn with_compression(self, compression: Compression) -> Self {
        Self((self.0 & !Self::COMPRESSION) | i16::from(compression.code()))
    }

    #[must_use]
    pub fn with_timestamp_type(self, timestamp_type: TimestampType) -> Self {
        self.with(Self::LOG_APPEND_TIME, timestamp_type == TimestampType::LogAppendTime)
    }

    #[must_use]
    pub fn with_transactional(self, on: bool) -> Self {
        self.with(Self::TRANSACTIONAL, on)
    }

    #[must_use]
    pub fn with_control(self, on: bool) -> Self {
        self.with(Self::CONTROL, on)
    }

    fn has(self, bit: i16) -> bool {
        self.0 & bit != 0
    }

    fn with(self, bit: i16, on: bool) -> Self {
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }
}

impl BatchHeader {
    /// Reads the header at the start of `bytes`, which may end before the batch does. Checks what later code relies on to stay
    /// within the batch (length, magic, known compression, no negative counts), not the CRC.
    pub fn read(bytes: &[u8]) -> Result<Self, BatchError> {
        // Length and magic stand at the same place in every message format, so they are judged before the rest must be there.
        let short = |need| BatchError::Truncated { have: bytes.len(), need };
        let length = i32::from_be_bytes(field(bytes, 8).ok_or(short(HEADER_BYTES))?);
        let magic = i8::from_be_bytes(field(bytes, MAGIC_AT).ok_or(short(HEADER_BYTES))?);
        if magic != MAGIC {
            return Err(BatchError::Magic { magic });
        }
        let batch_bytes = usize::try_from(length).map_err(|_| BatchError::Length { length })? + LENGTH_FROM;
        if batch_bytes < HEADER_BYTES {
            return Err(BatchError::Length { length });
        }
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(short(HEADER_BYTES))?;
        let header = Self {
            base_offset: Offset(i64::from_be_bytes(at(bytes, 0))),
            batch_bytes,
            leader_epoch: LeaderEpoch(i32::from_be_bytes(at(bytes, 12))),
            crc: u32::from_be_bytes(at(bytes, CRC_AT)),
            attributes: Attributes::from_wire(i16::from_be_bytes(at(bytes, CRC_FROM)))?,
            last_offset_delta: i32::from_be_bytes(at(bytes, 23)),
            base_timestamp: TimestampMs(i64::from_be_bytes(at(bytes, 27))),
            max_timestamp: TimestampMs(i64::from_be_bytes(at(bytes, MAX_TIMESTAMP_AT))),
            producer_id: ProducerId(i64::from_be_bytes(at(bytes, 43))),
            producer_epoch: ProducerEpoch(i16::from_be_bytes(at(bytes, 51))),
            base_sequence: i32::from_be_bytes(at(bytes, 53)),
            record_count: i32::from_be_bytes(at(bytes, 57)),
        };
        if header.last_offset_delta < 0 || header.record_count < 0 {
            let (count, last_offset_delta) = (header.record_count, header.last_offset_delta);
            return Err(BatchError::RecordCount { count, last_offset_delta });
        }
        Ok(header)
    }

    /// The header as bytes, its CRC field as it stands here.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..STAMP_BYTES].copy_from_slice(&stamp(self.base_offset, self.leader_epoch, self.batch_bytes));
        bytes[MAGIC_AT] = MAGIC as u8;
        bytes[CRC_AT..CRC_FROM].copy_from_slice(&self.crc.to_be_bytes());
        bytes[CRC_FROM..23].copy_from_slice(&self.attributes.to_wire().to_be_bytes());
        bytes[23..27].copy_from_slice(&self.last_offset_delta.to_be_bytes());
        bytes[27..MAX_TIMESTAMP_AT].copy_from_slice(&self.base_timestamp.0.to_be_bytes());
        bytes[MAX_TIMESTAMP_AT..43].copy_from_slice(&self.max_timestamp.0.to_be_bytes());
        bytes[43..51].copy_from_slice(&self.producer_id.0.to_be_bytes());
        bytes[51..53].copy_from_slice(&self.producer_epoch.0.to_be_bytes());
        bytes[53..57].copy_from_slice(&self.base_sequence.to_be_bytes());
        bytes[57..HEADER_BYTES].copy_from_slice(&self.record_count.to_be_bytes());
        bytes
    }

    /// Offset of the last record the batch had when it was written.
    pub fn last_offset(&self) -> Offset {
        Offset(self.base_offset.0.saturating_add(self.last_offset_delta.into()))
    }

    /// The offset after the batch.
    pub fn next_offset(&self) -> Offset {
        Offset(self.last_offset().0.saturating_add(1))
    }

    /// Sequence number of the last record; [`NO_SEQUENCE`] if the producer isn't idempotent.
    pub fn last_sequence(&self) -> i32 {
        match self.base_sequence {
            NO_SEQUENCE => NO_SEQUENCE,
            base => sequence_plus(base, self.last_offset_delta),
        }
    }

    pub fn compression(&self) -> Compression {
        self.attributes.compression()
    }

    pub fn timestamp_type(&self) -> TimestampType {
        self.attributes.timestamp_type()
    }

    pub fn is_transactional(&self) -> bool {
        self.attributes.is_transactional()
    }

    pub fn is_control(&self) -> bool {
        self.attributes.is_control()
    }

    pub fn has_producer_id(&self) -> bool {
        self.producer_id.0 >= 0
    }
}

/// The sequence number `count` after `sequence`: after `i32::MAX` comes 0 (KIP-98).
pub fn sequence_plus(sequence: i32, count: i32) -> i32 {
    (i64::from(sequence) + i64::from(count)).rem_euclid(1 << 31) as i32
}

/// The first 16 bytes of a batch as they are stored: base offset, length, leader epoch. The CRC doesn't cover them, so the log
/// sets them without touching the rest.
pub fn stamp(base_offset: Offset, leader_epoch: LeaderEpoch, batch_bytes: usize) -> [u8; STAMP_BYTES] {
    let length = i32::try_from(batch_bytes.saturating_sub(LENGTH_FROM)).unwrap_or(i32::MAX);
    let mut bytes = [0; STAMP_BYTES];
    bytes[..8].copy_from_slice(&base_offset.0.to_be_bytes());
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes[12..].copy_from_slice(&leader_epoch.0.to_be_bytes());
    bytes
}

/// CRC32C of what the CRC of a batch covers. `batch` is at least a header long.
pub(crate) fn crc_of(batch: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(&batch[CRC_FROM..])
}

/// Writes attributes and largest timestamp into a whole batch and recomputes its CRC.
pub(crate) fn set_timestamps(batch: &mut [u8], attributes: Attributes, max_timestamp: TimestampMs) {
    batch[CRC_FROM..23].copy_from_slice(&attributes.to_wire().to_be_bytes());
    batch[MAX_TIMESTAMP_AT..43].copy_from_slice(&max_timestamp.0.to_be_bytes());
    set_crc(batch);
}

/// Computes the CRC of a whole batch and writes it in.
pub(crate) fn set_crc(batch: &mut [u8]) {
    let crc = crc_of(batch);
    batch[CRC_AT..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
}

fn field<const N: usize>(bytes: &[u8], from: usize) -> Option<[u8; N]> {
    bytes.get(from..)?.first_chunk().copied()
}

fn at<const N: usize>(bytes: &[u8; HEADER_BYTES], from: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[from..from + N]);
    field
}

#[cfg(test)]
mod tests;
