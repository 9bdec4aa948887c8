//! What an idempotent producer sent last, so that a repeat is known and a gap refused.
//!
//! The rules are Kafka's (KIP-98; `ProducerAppendInfo` and `ProducerStateEntry` in Apache Kafka).

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::{AppendRefusal, Appended};
use daybook_record::{BatchHeader, sequence_plus};
use daybook_types::{Offset, TimestampMs};

use crate::StoredPartitionError;

/// Producers a partition remembers. Beyond it those that were silent longest are forgotten: ids are never reused, so a
/// forgotten producer that returns is only unknown, and its next batch is taken as Kafka takes it.
pub const PRODUCERS_MAX: usize = 10_000;

/// Batches remembered, as many as a producer may have in flight.
const BATCHES_REMEMBERED: usize = 5;

const FORMAT_VERSION: u8 = 2;
/// Until this version each batch had 8 bytes more, before its time.
const POSITIONS_UNTIL: u8 = 1;

/// The last batches of one producer in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerWindow {
    epoch: i16,
    batches: VecDeque<SentBatch>,
    /// When the last batch was applied, in the log's time.
    pub last_time: TimestampMs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentBatch {
    first_sequence: i32,
    last_sequence: i32,
    base_offset: Offset,
    next_offset: Offset,
    log_append_time: TimestampMs,
}

/// What the window says of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Take,
    /// It is here already, with this answer.
    Repeat(Appended),
}

impl ProducerWindow {
    pub(crate) fn new(header: &BatchHeader) -> Self {
        Self { epoch: header.producer_epoch.0, batches: VecDeque::new(), last_time: TimestampMs::NONE }
    }

    pub(crate) fn judge(&self, header: &BatchHeader, start: Offset) -> Result<Verdict, AppendRefusal> {
        let (epoch, sequence) = (header.producer_epoch.0, header.base_sequence);
        let Some(last) = self.batches.back() else { return Ok(Verdict::Take) };
        if epoch < self.epoch {
            return Err(AppendRefusal::ProducerFenced { epoch, current: self.epoch });
        }
        if epoch > self.epoch {
            // A new epoch begins its numbers anew.
            return match sequence {
                0 => Ok(Verdict::Take),
                _ => Err(AppendRefusal::OutOfOrderSequence { sequence, last: last.last_sequence }),
            };
        }
        let repeated =
            |sent: &&SentBatch| sent.first_sequence == sequence && sent.last_sequence == header.last_sequence();
        if let Some(sent) = self.batches.iter().find(repeated) {
            return Ok(Verdict::Repeat(Appended {
                base_offset: sent.base_offset,
                next_offset: sent.next_offset,
                log_append_time: sent.log_append_time,
                start_offset: start,
            }));
        }
        if sequence_plus(last.last_sequence, 1) == sequence {
            Ok(Verdict::Take)
        } else {
            Err(AppendRefusal::OutOfOrderSequence { sequence, last: last.last_sequence })
        }
    }

    pub(crate) fn note(&mut self, header: &BatchHeader, answer: &Appended, time: TimestampMs) {
        if header.producer_epoch.0 != self.epoch {
            self.epoch = header.producer_epoch.0;
            self.batches.clear();
        }
        if self.batches.len() == BATCHES_REMEMBERED {
            self.batches.pop_front();
        }
        self.batches.push_back(SentBatch {
            first_sequence: header.base_sequence,
            last_sequence: header.last_sequence(),
            base_offset: answer.base_offset,
            next_offset: answer.next_offset,
            log_append_time: answer.log_append_time,
        });
        self.last_time = time;
    }

    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORMAT_VERSION);
        out.put_i16(self.epoch);
        out.put_i64(self.last_time.0);
        for sent in &self.batches {
            out.put_i32(sent.first_sequence);
            out.put_i32(sent.last_sequence);
            out.put_i64(sent.base_offset.0);
            out.put_i64(sent.next_offset.0);
            out.put_i64(sent.log_append_time.0);
        }
        out.freeze()
    }

    pub fn decode(mut bytes: Bytes) -> Result<Self, StoredPartitionError> {
        const HEAD_BYTES: usize = 10;
        let version = bytes.try_get_u8().map_err(|_| StoredPartitionError::Malformed)?;
        if version > FORMAT_VERSION {
            return Err(StoredPartitionError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        let skipped = if version <= POSITIONS_UNTIL { 8 } else { 0 };
        let batch_bytes = 32 + skipped;
        if bytes.len() < HEAD_BYTES || !(bytes.len() - HEAD_BYTES).is_multiple_of(batch_bytes) {
            return Err(StoredPartitionError::Malformed);
        }
        let epoch = bytes.get_i16();
        let last_time = TimestampMs(bytes.get_i64());
        let mut batches = VecDeque::new();
        while !bytes.is_empty() {
            let (first_sequence, last_sequence) = (bytes.get_i32(), bytes.get_i32());
            let (base_offset, next_offset) = (Offset(bytes.get_i64()), Offset(bytes.get_i64()));
            bytes.advance(skipped);
            let log_append_time = TimestampMs(bytes.get_i64());
            batches.push_back(SentBatch { first_sequence, last_sequence, base_offset, next_offset, log_append_time });
        }
        Ok(Self { epoch, batches, last_time })
    }
}
