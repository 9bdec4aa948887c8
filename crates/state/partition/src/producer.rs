//! What an idempotent producer sent last, so that a repeat is known and a gap refused.
//!
//! The rules are Kafka's (KIP-98; `ProducerAppendInfo` and `ProducerStateEntry` in Apache Kafka).

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::{AppendRefusal, Appended};
use daybook_record::{BatchHeader, NO_SEQUENCE, sequence_plus};
use daybook_types::{Offset, ProducerEpoch, TimestampMs};

use crate::StoredPartitionError;

/// Producers a partition remembers. Beyond it those that were silent longest are forgotten: ids are never reused, so a
/// forgotten producer that returns is only unknown, and its next batch is taken as Kafka takes it. One that has a transaction open
/// is not forgotten; of those there are as many as transactional ids at most.
pub const PRODUCERS_MAX: usize = 10_000;

/// Batches remembered, as many as a producer may have in flight.
const BATCHES_REMEMBERED: usize = 5;

const FORMAT_VERSION: u8 = 3;
/// Until this version each batch had 8 bytes more, before its time.
const POSITIONS_UNTIL: u8 = 1;
/// From this version on it says where an open transaction begins.
const TRANSACTIONS_FROM: u8 = 3;

/// The last batches of one producer in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerWindow {
    epoch: i16,
    batches: VecDeque<SentBatch>,
    /// Offset of the first record of the transaction that the producer has open here.
    open_from: Option<Offset>,
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
        Self { epoch: header.producer_epoch.0, batches: VecDeque::new(), open_from: None, last_time: TimestampMs::NONE }
    }

    pub fn epoch(&self) -> ProducerEpoch {
        ProducerEpoch(self.epoch)
    }

    /// Sequence number of the last record; none after an epoch began and before its first batch.
    pub fn last_sequence(&self) -> Option<i32> {
        self.batches.back().map(|sent| sent.last_sequence)
    }

    /// Offset of the first record of the transaction that the producer has open here.
    pub fn open_from(&self) -> Option<Offset> {
        self.open_from
    }

    pub(crate) fn judge(&self, header: &BatchHeader, start: Offset) -> Result<Verdict, AppendRefusal> {
        let (epoch, sequence) = (header.producer_epoch.0, header.base_sequence);
        if epoch < self.epoch {
            return Err(AppendRefusal::ProducerFenced { epoch, current: self.epoch });
        }
        if self.open_from.is_some() && !header.is_transactional() {
            return Err(AppendRefusal::NotTransactional);
        }
        let last = match self.batches.back() {
            Some(last) if epoch == self.epoch => last,
            // A new epoch begins its numbers anew; a marker may have begun it.
            last => {
                let last = last.map_or(NO_SEQUENCE, |last| last.last_sequence);
                return if sequence == 0 {
                    Ok(Verdict::Take)
                } else {
                    Err(AppendRefusal::OutOfOrderSequence { sequence, last })
                };
            }
        };
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
        if header.is_transactional() {
            self.open_from.get_or_insert(answer.base_offset);
        }
        self.last_time = time;
    }

    /// A marker ends what is open, and what it ended. One of a later epoch begins that.
    pub(crate) fn end_transaction(&mut self, epoch: ProducerEpoch, time: TimestampMs) -> Option<Offset> {
        if epoch.0 > self.epoch {
            self.epoch = epoch.0;
            self.batches.clear();
        }
        self.last_time = time;
        self.open_from.take()
    }

    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORMAT_VERSION);
        out.put_i16(self.epoch);
        out.put_i64(self.last_time.0);
        out.put_i64(self.open_from.unwrap_or(Offset::NONE).0);
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
        let version = bytes.try_get_u8().map_err(|_| StoredPartitionError::Malformed)?;
        if version > FORMAT_VERSION {
            return Err(StoredPartitionError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        let skipped = if version <= POSITIONS_UNTIL { 8 } else { 0 };
        let batch_bytes = 32 + skipped;
        let head_bytes = if version >= TRANSACTIONS_FROM { 18 } else { 10 };
        if bytes.len() < head_bytes || !(bytes.len() - head_bytes).is_multiple_of(batch_bytes) {
            return Err(StoredPartitionError::Malformed);
        }
        let epoch = bytes.get_i16();
        let last_time = TimestampMs(bytes.get_i64());
        let open_from = if version >= TRANSACTIONS_FROM { bytes.get_i64() } else { Offset::NONE.0 };
        let open_from = (open_from != Offset::NONE.0).then_some(Offset(open_from));
        let mut batches = VecDeque::new();
        while !bytes.is_empty() {
            let (first_sequence, last_sequence) = (bytes.get_i32(), bytes.get_i32());
            let (base_offset, next_offset) = (Offset(bytes.get_i64()), Offset(bytes.get_i64()));
            bytes.advance(skipped);
            let log_append_time = TimestampMs(bytes.get_i64());
            batches.push_back(SentBatch { first_sequence, last_sequence, base_offset, next_offset, log_append_time });
        }
        Ok(Self { epoch, batches, open_from, last_time })
    }
}
