//! Transactions in one partition: their batches, and the markers that end them.

use bytes::Bytes;
use daybook_command::{AppendRefusal, Appended, TransactionRefusal};
use daybook_record::{BatchHeader, Marker, MarkerKind};
use daybook_types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use crate::aborted::AbortedTransaction;
use crate::log::TailBatch;
use crate::partition::{Circumstances, Partition, stable};

impl Partition {
    /// Appends a batch of an open transaction; that it is open, and the producer's, is the caller's to know.
    pub fn append_in_transaction(
        &mut self,
        batch: &Bytes,
        at: Circumstances,
    ) -> Result<(Appended, u64), AppendRefusal> {
        let header = BatchHeader::read(batch).map_err(|_| AppendRefusal::DamagedBatch)?;
        if !header.is_transactional() || !header.has_producer_id() {
            return Err(TransactionRefusal::NoTransactionalId.into());
        }
        self.append_checked(batch, &header, at)
    }

    /// Ends the producer's transaction here by a marker, whether it wrote anything or not. Returns the marker's offset. Whoever
    /// waits is woken by `PartitionLog::wake`, which is the caller's to do.
    pub fn end_transaction(
        &mut self,
        producer: ProducerId,
        epoch: ProducerEpoch,
        commits: bool,
        at: Circumstances,
    ) -> Offset {
        let kind = if commits { MarkerKind::Commit } else { MarkerKind::Abort };
        let LeaderEpoch(coordinator_epoch) = at.leader_epoch;
        let marker = Marker { kind, producer_id: producer, producer_epoch: epoch, coordinator_epoch };
        let bytes = marker.to_batch(at.time);
        let header = BatchHeader::read(&bytes).expect("it was built just now");
        let (base_offset, next_offset) = self.next_offsets(&header);
        let mut producers = self.log.producers.lock();
        let mut first = None;
        if let Some(window) = producers.get_mut(&producer) {
            first = window.end_transaction(epoch, at.time);
            self.changed.producers.insert(producer);
        }
        drop(producers);
        let mut aborted = None;
        if let Some(first_offset) = first {
            self.open.remove(&(first_offset, producer));
            if !commits {
                let stable = stable(&self.open, next_offset);
                let transaction = AbortedTransaction { producer, first_offset, last_offset: base_offset, stable };
                self.changed.aborted.insert(base_offset, Some(transaction.encode()));
                aborted = Some(transaction);
            }
        }
        let batch = TailBatch {
            base_offset,
            next_offset,
            leader_epoch: at.leader_epoch,
            max_timestamp: header.max_timestamp,
            bytes,
        };
        self.push(batch, header.crc.into(), aborted);
        base_offset
    }

    /// Epoch of a producer that is remembered here, and whether it has a transaction open.
    pub fn producer(&self, producer: ProducerId) -> Option<(ProducerEpoch, bool)> {
        let producers = self.log.producers.lock();
        producers.get(&producer).map(|window| (window.epoch(), window.open_from().is_some()))
    }

    /// The first offset has moved: transactions that ended before it are forgotten.
    pub(crate) fn forget_aborted_below(&mut self, start: Offset) {
        for marker in self.log.forget_aborted_below(start) {
            self.changed.aborted.insert(marker, None);
            self.changed.partition = true;
        }
    }
}
