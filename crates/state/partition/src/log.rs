//! The half of a partition that readers share.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use daybook_command::CompactionBounds;
use daybook_record::{STAMP_BYTES, stamp};
use daybook_types::{LeaderEpoch, Offset, PartitionId, ProducerId, TimestampMs};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use crate::aborted::{AbortedIndex, AbortedTransaction};
use crate::producer::ProducerWindow;

/// Start, end and in-memory tail of a partition. One writer (apply), many readers.
#[derive(Debug)]
pub struct PartitionLog {
    pub id: PartitionId,
    tail: RwLock<Tail>,
    /// What each producer sent last. Here because administrators may ask for it; apply alone changes it.
    pub(crate) producers: Mutex<BTreeMap<ProducerId, ProducerWindow>>,
    waiting: Mutex<Vec<Weak<Notify>>>,
}

/// What a partition holds, and the batches that only memory has.
#[derive(Debug)]
pub struct Tail {
    /// First offset that may be read.
    pub start: Offset,
    /// Offset that the next record gets; Kafka's high watermark.
    pub end: Offset,
    /// Below it every transaction has ended; Kafka's last stable offset.
    pub stable: Offset,
    /// Where `batches` begins. Below it, records are in files.
    pub memory_start: Offset,
    pub batches: VecDeque<TailBatch>,
    /// Largest timestamp seen, and the base offset of the first batch that has it.
    pub max_timestamp: Option<(TimestampMs, Offset)>,
    /// How far the files are to be compacted.
    pub compaction: CompactionBounds,
    /// Transactions that were aborted, as far as the log still has them.
    pub aborted: AbortedIndex,
}

/// What became of a record of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Committed,
    Aborted,
    /// It isn't decided yet.
    Open,
}

/// A batch as it was sent, and what the log gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailBatch {
    pub base_offset: Offset,
    pub next_offset: Offset,
    pub leader_epoch: LeaderEpoch,
    pub max_timestamp: TimestampMs,
    /// The whole batch; its first bytes are still the sender's, see `head`.
    pub bytes: Bytes,
}

/// Resolves when a partition that was looked at changes.
#[derive(Debug)]
pub struct Appearance {
    notify: Arc<Notify>,
}

impl TailBatch {
    /// The bytes that replace the batch's first ones: base offset and leader epoch, which its CRC does not cover.
    pub fn head(&self) -> [u8; STAMP_BYTES] {
        stamp(self.base_offset, self.leader_epoch, self.bytes.len())
    }
}

impl PartitionLog {
    pub(crate) fn new(id: PartitionId, tail: Tail, producers: BTreeMap<ProducerId, ProducerWindow>) -> Arc<Self> {
        Arc::new(Self { id, tail: RwLock::new(tail), producers: Mutex::new(producers), waiting: Mutex::default() })
    }

    /// Looks at the tail. Apply waits while `look` runs: keep it short.
    pub fn look<T>(&self, look: impl FnOnce(&Tail) -> T) -> T {
        look(&self.tail.read())
    }

    /// Wakes `appearance` at the next change.
    pub fn watch(&self, appearance: &Appearance) {
        let mut waiting = self.waiting.lock();
        if waiting.len() == waiting.capacity() {
            // Before the list grows, those go who no longer wait.
            waiting.retain(|notify| notify.strong_count() > 0);
        }
        waiting.push(Arc::downgrade(&appearance.notify));
    }

    /// The files hold everything below `offset` now.
    pub fn forget_below(&self, offset: Offset) {
        let mut tail = self.tail.write();
        let gone = tail.batches.partition_point(|batch| batch.next_offset <= offset);
        let dropped: Vec<TailBatch> = tail.batches.drain(..gone).collect();
        tail.memory_start = tail.memory_start.max(offset);
        if tail.batches.is_empty() {
            tail.batches.shrink_to_fit();
        }
        drop(tail);
        // Freeing thousands of batches takes time that readers and apply must not wait for.
        drop(dropped);
    }

    /// The aborted transactions with records or a marker in `offsets`.
    pub fn aborted(&self, offsets: Range<Offset>) -> Vec<AbortedTransaction> {
        self.look(|tail| if tail.aborted.is_empty() { Vec::new() } else { tail.aborted.overlapping(offsets) })
    }

    /// What became of a transactional record of `producer` at `offset`, from the partition's start on. What removes records by
    /// rewriting files asks this: aborted ones may go, open ones may neither go nor displace others. Everything below `Tail::stable`
    /// is decided. A record that isn't transactional is nobody's to ask about.
    pub fn fate(&self, producer: ProducerId, offset: Offset) -> Fate {
        self.look(|tail| {
            if tail.aborted.of_record(producer, offset).is_some() {
                Fate::Aborted
            } else if offset >= tail.stable && self.is_open(producer, offset) {
                Fate::Open
            } else {
                Fate::Committed
            }
        })
    }

    /// Every producer that is remembered, with its window, by id.
    pub fn producers(&self) -> Vec<(ProducerId, ProducerWindow)> {
        self.producers.lock().iter().map(|(id, window)| (*id, window.clone())).collect()
    }

    fn is_open(&self, producer: ProducerId, offset: Offset) -> bool {
        let first = self.producers.lock().get(&producer).and_then(ProducerWindow::open_from);
        first.is_some_and(|first| first <= offset)
    }

    pub(crate) fn forget_aborted_below(&self, start: Offset) -> Vec<Offset> {
        self.tail.write().aborted.forget_below(start)
    }

    pub(crate) fn push(&self, batch: TailBatch, stable: Offset, aborted: Option<AbortedTransaction>) {
        let mut tail = self.tail.write();
        tail.end = batch.next_offset;
        tail.stable = stable.max(tail.start);
        if let Some(aborted) = aborted {
            tail.aborted.push(aborted);
        }
        if tail.max_timestamp.is_none_or(|(latest, _)| batch.max_timestamp > latest) {
            tail.max_timestamp = Some((batch.max_timestamp, batch.base_offset));
        }
        tail.batches.push_back(batch);
    }

    pub(crate) fn begin_at(&self, start: Offset) {
        let mut tail = self.tail.write();
        tail.start = start;
        tail.stable = tail.stable.max(start);
    }

    pub(crate) fn show_compaction(&self, bounds: CompactionBounds) {
        self.tail.write().compaction = bounds;
    }

    /// Wakes all who wait: there are new records, or the partition is gone. Called when everything that is posted of the records is
    /// there, so that nobody looks too early and then waits for the next ones.
    pub fn wake(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        for notify in waiting.iter().filter_map(Weak::upgrade) {
            notify.notify_one();
        }
    }
}

impl Tail {
    /// Index of the batch in memory that holds `offset`, or of the first one after it.
    pub fn batch_at(&self, offset: Offset) -> usize {
        self.batches.partition_point(|batch| batch.next_offset <= offset)
    }
}

impl Default for Appearance {
    fn default() -> Self {
        Self { notify: Arc::new(Notify::new()) }
    }
}

impl Appearance {
    /// Waits for the next change of a watched partition; returns at once if one came since the watch began.
    pub async fn appeared(&self) {
        self.notify.notified().await;
    }
}
