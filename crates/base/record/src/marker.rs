//! The control batch that ends a transaction in a partition (KIP-98): one record whose key says how, whose value who wrote it.

use bytes::Bytes;
use daybook_types::{ProducerEpoch, ProducerId, TimestampMs};

use crate::{BatchBuilder, BatchError, BatchHeader, Compression, HEADER_BYTES, NO_SEQUENCE, records};

/// Format versions of key and value, as Apache Kafka writes them.
const KEY_VERSION: i16 = 0;
const VALUE_VERSION: i16 = 0;
const ABORT: i16 = 0;
const COMMIT: i16 = 1;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarkerKind {
    Abort,
    Commit,
}

/// What a marker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    pub kind: MarkerKind,
    pub producer_id: ProducerId,
    pub producer_epoch: ProducerEpoch,
    /// The term of whoever ended the transaction.
    pub coordinator_epoch: i32,
}

impl Marker {
    /// The whole batch, as a producer would send it: base offset 0, no leader epoch.
    pub fn to_batch(&self, time: TimestampMs) -> Bytes {
        let kind = match self.kind {
            MarkerKind::Abort => ABORT,
            MarkerKind::Commit => COMMIT,
        };
        let mut key = [0; 4];
        key[..2].copy_from_slice(&KEY_VERSION.to_be_bytes());
        key[2..].copy_from_slice(&kind.to_be_bytes());
        let mut value = [0; 6];
        value[..2].copy_from_slice(&VALUE_VERSION.to_be_bytes());
        value[2..].copy_from_slice(&self.coordinator_epoch.to_be_bytes());
        let mut batch = BatchBuilder::new(Compression::None)
            .capacity(HEADER_BYTES + 32)
            .producer(self.producer_id, self.producer_epoch, NO_SEQUENCE)
            .transactional(true)
            .control(true);
        batch.push(time, Some(&key), Some(&value), &[]);
        batch.build().expect("one record of a few bytes is a batch")
    }

    /// What `batch` says; `None` if it is no marker, or one of a kind that isn't known here.
    pub fn read(batch: &Bytes) -> Result<Option<Self>, BatchError> {
        let header = BatchHeader::read(batch)?;
        if !header.is_control() || !header.is_transactional() {
            return Ok(None);
        }
        let Some(record) = records(batch)?.next().transpose()? else { return Ok(None) };
        let kind = match record.key.as_deref() {
            Some([_, _, high, low, ..]) => i16::from_be_bytes([*high, *low]),
            _ => return Ok(None),
        };
        let kind = match kind {
            ABORT => MarkerKind::Abort,
            COMMIT => MarkerKind::Commit,
            _ => return Ok(None),
        };
        let coordinator_epoch = match record.value.as_deref() {
            Some([_, _, a, b, c, d, ..]) => i32::from_be_bytes([*a, *b, *c, *d]),
            _ => -1,
        };
        let (producer_id, producer_epoch) = (header.producer_id, header.producer_epoch);
        Ok(Some(Self { kind, producer_id, producer_epoch, coordinator_epoch }))
    }
}

#[cfg(test)]
mod tests;
