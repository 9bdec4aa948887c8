//! Makes batches, for our own clients, tools and tests.

use bytes::{BufMut, Bytes, BytesMut};
use daybook_types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs};

use crate::header::{LENGTH_FROM, set_crc};
use crate::{
    Attributes, BatchError, BatchHeader, Compression, HEADER_BYTES, NO_SEQUENCE, Record, RecordHeader, compression,
    varint,
};

/// Gathers records and builds one batch of them. Its base offset is 0 and its leader epoch -1, as a producer sends it, unless set.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    /// Room for the header, then the records.
    bytes: BytesMut,
    attributes: Attributes,
    base_offset: Offset,
    leader_epoch: LeaderEpoch,
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    base_sequence: i32,
    record_count: i32,
    base_timestamp: TimestampMs,
    max_timestamp: TimestampMs,
}

impl BatchBuilder {
    pub fn new(compression: Compression) -> Self {
        let mut bytes = BytesMut::new();
        bytes.put_bytes(0, HEADER_BYTES);
        Self {
            bytes,
            attributes: Attributes::default().with_compression(compression),
            base_offset: Offset(0),
            leader_epoch: LeaderEpoch(-1),
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch(-1),
            base_sequence: NO_SEQUENCE,
            record_count: 0,
            base_timestamp: TimestampMs::NONE,
            max_timestamp: TimestampMs::NONE,
        }
    }

    /// Makes room for `bytes` of records beforehand.
    #[must_use]
    pub fn capacity(mut self, bytes: usize) -> Self {
        self.bytes.reserve(bytes);
        self
    }

    #[must_use]
    pub fn base_offset(mut self, base_offset: Offset) -> Self {
        self.base_offset = base_offset;
        self
    }

    #[must_use]
    pub fn leader_epoch(mut self, leader_epoch: LeaderEpoch) -> Self {
        self.leader_epoch = leader_epoch;
        self
    }

    /// Marks the batch as an idempotent producer's.
    #[must_use]
    pub fn producer(mut self, id: ProducerId, epoch: ProducerEpoch, base_sequence: i32) -> Self {
        (self.producer_id, self.producer_epoch, self.base_sequence) = (id, epoch, base_sequence);
        self
    }

    #[must_use]
    pub fn transactional(mut self, on: bool) -> Self {
        self.attributes = self.attributes.with_transactional(on);
        self
    }

    #[must_use]
    pub fn control(mut self, on: bool) -> Self {
        self.attributes = self.attributes.with_control(on);
        self
    }

    /// Appends a record. The first one's timestamp becomes the base of all.
    pub fn push(
        &mut self,
        timestamp: TimestampMs,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[RecordHeader],
    ) -> &mut Self {
        if self.record_count == 0 {
            self.base_timestamp = timestamp;
        }
        self.max_timestamp = self.max_timestamp.max(timestamp);
        let timestamp_delta = timestamp.0.wrapping_sub(self.base_timestamp.0);
        let offset_delta = i64::from(self.record_count);
        let length = 1
            + varint::bytes_of(timestamp_delta)
            + varint::bytes_of(offset_delta)
            + nullable_bytes(key)
            + nullable_bytes(value)
            + varint::bytes_of(headers.len() as i64)
            + headers
                .iter()
                .map(|(name, value)| nullable_bytes(Some(name)) + nullable_bytes(value.as_deref()))
                .sum::<usize>();
        let out = &mut self.bytes;
        out.reserve(length + 5);
        varint::put(out, length as i64);
        out.put_u8(0);
        varint::put(out, timestamp_delta);
        varint::put(out, offset_delta);
        put_nullable(out, key);
        put_nullable(out, value);
        varint::put(out, headers.len() as i64);
        for (name, value) in headers {
            put_nullable(out, Some(name));
            put_nullable(out, value.as_deref());
        }
        // More records than fit the count are more bytes than fit the length, which `build` refuses.
        self.record_count = self.record_count.saturating_add(1);
        self
    }

    /// [`Self::push`], but for the offset: records of a batch have consecutive ones.
    pub fn push_record(&mut self, record: &Record) -> &mut Self {
        self.push(record.timestamp, record.key.as_deref(), record.value.as_deref(), &record.headers)
    }

    pub fn len(&self) -> usize {
        self.record_count as usize
    }

    pub fn is_empty(&self) -> bool {
        self.record_count == 0
    }

    /// Size of the batch were it not compressed.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The batch, CRC and all.
    pub fn build(self) -> Result<Bytes, BatchError> {
        if self.record_count == 0 {
            return Err(BatchError::Empty);
        }
        let codec = self.attributes.compression();
        let mut bytes = self.bytes;
        if codec != Compression::None {
            let mut out = Vec::with_capacity(HEADER_BYTES + bytes.len() / 2);
            out.extend_from_slice(&bytes[..HEADER_BYTES]);
            let out = compression::compress(codec, &bytes[HEADER_BYTES..], out)
                .map_err(|_| BatchError::Undecodable { compression: codec })?;
            bytes = Bytes::from(out).into();
        }
        if bytes.len() - LENGTH_FROM > i32::MAX as usize {
            return Err(BatchError::Oversized { bytes: bytes.len() });
        }
        let header = BatchHeader {
            base_offset: self.base_offset,
            batch_bytes: bytes.len(),
            leader_epoch: self.leader_epoch,
            crc: 0,
            attributes: self.attributes,
            last_offset_delta: self.record_count - 1,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            base_sequence: self.base_sequence,
            record_count: self.record_count,
        };
        bytes[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        set_crc(&mut bytes);
        Ok(bytes.freeze())
    }
}

fn nullable_bytes(piece: Option<&[u8]>) -> usize {
    piece.map_or(1, |piece| varint::bytes_of(piece.len() as i64) + piece.len())
}

fn put_nullable(out: &mut BytesMut, piece: Option<&[u8]>) {
    match piece {
        None => varint::put(out, -1),
        Some(piece) => {
            varint::put(out, piece.len() as i64);
            out.put_slice(piece);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
