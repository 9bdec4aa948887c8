//! Which transactions were aborted in a partition: kept for as long as its log has them, because readers of committed records
//! leave out what they wrote.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_types::{Offset, ProducerId};

use crate::StoredPartitionError;

const FORMAT_VERSION: u8 = 1;

/// A transaction of one producer in one partition that was aborted: records of that producer within the offsets don't count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    pub producer: ProducerId,
    pub first_offset: Offset,
    /// Where its marker stands.
    pub last_offset: Offset,
    /// The last stable offset after it: every transaction that ended later began there or after it.
    pub(crate) stable: Offset,
}

/// Aborted transactions in the order of their markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbortedIndex {
    list: VecDeque<AbortedTransaction>,
}

impl AbortedIndex {
    /// In the order of their markers, as a checkpoint kept them.
    pub fn restore(list: impl IntoIterator<Item = AbortedTransaction>) -> Self {
        Self { list: list.into_iter().collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &AbortedTransaction> {
        self.list.iter()
    }

    /// Those with records or a marker in `offsets`: what a reader must know of who reads just these, the producer's later records
    /// being another transaction's.
    pub fn overlapping(&self, offsets: Range<Offset>) -> Vec<AbortedTransaction> {
        let mut found = Vec::new();
        for aborted in self.list.range(self.ending_at(offsets.start)..) {
            if aborted.first_offset < offsets.end {
                found.push(*aborted);
            }
            if aborted.stable >= offsets.end {
                break;
            }
        }
        found
    }

    /// The transaction that a record at `offset` by `producer` was part of, if it was aborted. The record must be of a transaction.
    pub fn of_record(&self, producer: ProducerId, offset: Offset) -> Option<&AbortedTransaction> {
        for aborted in self.list.range(self.ending_at(offset)..) {
            if aborted.producer == producer && aborted.first_offset <= offset {
                return Some(aborted);
            }
            // What ended later began later still.
            if aborted.stable > offset {
                return None;
            }
        }
        None
    }

    pub(crate) fn push(&mut self, aborted: AbortedTransaction) {
        self.list.push_back(aborted);
    }

    /// The markers of those that ended before `start`, which go.
    pub(crate) fn forget_below(&mut self, start: Offset) -> Vec<Offset> {
        let gone = self.ending_at(start);
        self.list.drain(..gone).map(|aborted| aborted.last_offset).collect()
    }

    fn ending_at(&self, offset: Offset) -> usize {
        self.list.partition_point(|aborted| aborted.last_offset < offset)
    }
}

impl AbortedTransaction {
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORMAT_VERSION);
        out.put_i64(self.producer.0);
        out.put_i64(self.first_offset.0);
        out.put_i64(self.last_offset.0);
        out.put_i64(self.stable.0);
        out.freeze()
    }

    pub fn decode(mut bytes: Bytes) -> Result<Self, StoredPartitionError> {
        let version = bytes.try_get_u8().map_err(|_| StoredPartitionError::Malformed)?;
        if version > FORMAT_VERSION {
            return Err(StoredPartitionError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        if bytes.len() != 32 {
            return Err(StoredPartitionError::Malformed);
        }
        Ok(Self {
            producer: ProducerId(bytes.get_i64()),
            first_offset: Offset(bytes.get_i64()),
            last_offset: Offset(bytes.get_i64()),
            stable: Offset(bytes.get_i64()),
        })
    }
}
