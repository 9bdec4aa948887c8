//! The half of a partition that only apply touches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use daybook_command::{
    AppendRefusal, Appended, CompactedTo, CompactionBounds, CompactionRefusal, TransactionRefusal, TrimRefusal,
};
use daybook_record::{BatchHeader, with_log_append_time};
use daybook_types::{LeaderEpoch, Offset, PartitionId, ProducerId, TimestampMs};

use crate::aborted::{AbortedIndex, AbortedTransaction};
use crate::compaction::Compaction;
use crate::log::{PartitionLog, Tail, TailBatch};
use crate::producer::{PRODUCERS_MAX, ProducerWindow, Verdict};
use crate::stored::StoredPartition;

/// A partition as apply sees it.
#[derive(Debug)]
pub struct Partition {
    pub(crate) log: Arc<PartitionLog>,
    /// The open transactions, by their first offsets.
    pub(crate) open: BTreeSet<(Offset, ProducerId)>,
    /// Chains what identifies each batch, in order: equal chains mean equal contents.
    contents: u64,
    compaction: Compaction,
    pub(crate) changed: Changes,
}

/// What a checkpoint has yet to keep.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub partition: bool,
    compaction: bool,
    /// The start moved: files may go.
    is_trimmed: bool,
    pub producers: BTreeSet<ProducerId>,
    pub aborted: BTreeMap<Offset, Option<Bytes>>,
}

/// What a checkpoint keeps of a partition that changed.
#[derive(Debug)]
pub struct PartitionChanges {
    pub stored: StoredPartition,
    /// Producers with their windows; `None`: forgotten.
    pub producers: Vec<(ProducerId, Option<Bytes>)>,
    /// Aborted transactions by their markers' offsets; `None`: forgotten.
    pub aborted: Vec<(Offset, Option<Bytes>)>,
    /// [`Compaction::encode`], if that changed.
    pub compaction: Option<Bytes>,
    /// Whether its start moved, so that files may go.
    pub is_trimmed: bool,
}

/// What apply knows when it appends, apart from the batch.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    pub leader_epoch: LeaderEpoch,
    /// The entry's time.
    pub time: TimestampMs,
    /// The topic wants `time` as its records' timestamp.
    pub log_append_time: bool,
}

impl Partition {
    /// A new, empty partition.
    pub fn create(id: PartitionId) -> Self {
        let stored = StoredPartition { start: Offset(0), end: Offset(0), contents: 0, max_timestamp: None };
        let mut partition = Self::restore(id, stored, BTreeMap::new(), Compaction::default(), AbortedIndex::default());
        partition.changed.partition = true;
        partition
    }

    /// The partition as a checkpoint kept it; all its records are in files.
    pub fn restore(
        id: PartitionId,
        stored: StoredPartition,
        producers: BTreeMap<ProducerId, ProducerWindow>,
        compaction: Compaction,
        aborted: AbortedIndex,
    ) -> Self {
        let open: BTreeSet<_> = producers.iter().filter_map(|(id, window)| Some((window.open_from()?, *id))).collect();
        let tail = Tail {
            start: stored.start,
            end: stored.end,
            stable: stable(&open, stored.end).max(stored.start),
            memory_start: stored.end,
            batches: VecDeque::new(),
            max_timestamp: stored.max_timestamp,
            aborted,
            compaction: compaction.bounds,
        };
        let log = PartitionLog::new(id, tail, producers);
        Self { log, open, contents: stored.contents, compaction, changed: Changes::default() }
    }

    /// The half that readers share.
    pub fn log(&self) -> &Arc<PartitionLog> {
        &self.log
    }

    /// Appends a batch, or says why not; a repeated batch is answered as the first time. Returns how many records came. Whoever waits for
    /// them is woken by `PartitionLog::wake`, which is the caller's to do.
    pub fn append(&mut self, batch: &Bytes, at: Circumstances) -> Result<(Appended, u64), AppendRefusal> {
        let header = BatchHeader::read(batch).map_err(|_| AppendRefusal::DamagedBatch)?;
        if header.is_transactional() {
            return Err(TransactionRefusal::NoTransactionalId.into());
        }
        self.append_checked(batch, &header, at)
    }

    pub(crate) fn append_checked(
        &mut self,
        batch: &Bytes,
        header: &BatchHeader,
        at: Circumstances,
    ) -> Result<(Appended, u64), AppendRefusal> {
        if let Some(answer) = self.repeated_by(header)? {
            return Ok((answer, 0));
        }
        let start = self.log.look(|tail| tail.start);
        let (bytes, max_timestamp) = if at.log_append_time {
            (with_log_append_time(batch, at.time), at.time)
        } else {
            (batch.clone(), header.max_timestamp)
        };
        let (base_offset, next_offset) = self.next_offsets(header);
        let answer = Appended {
            base_offset,
            next_offset,
            log_append_time: if at.log_append_time { at.time } else { TimestampMs::NONE },
            start_offset: start,
        };
        // The CRC covers all but what the log itself sets; with an append time it is that time that tells.
        let told = if at.log_append_time { u64::from(header.crc) ^ at.time.0 as u64 } else { u64::from(header.crc) };
        if header.has_producer_id() {
            self.remember(header, &answer, at);
        }
        let batch = TailBatch { base_offset, next_offset, leader_epoch: at.leader_epoch, max_timestamp, bytes };
        self.push(batch, told, None);
        Ok((answer, (next_offset.0 - base_offset.0) as u64))
    }

    /// The offsets of a batch, first and after the last, were it appended now.
    pub(crate) fn next_offsets(&self, header: &BatchHeader) -> (Offset, Offset) {
        let end = self.log.look(|tail| tail.end);
        let count = i64::from(header.last_offset_delta.unsigned_abs()) + 1;
        (end, Offset(end.0 + count))
    }

    /// Puts a batch at the end, and with it what it says of stable and aborted.
    pub(crate) fn push(&mut self, batch: TailBatch, told: u64, aborted: Option<AbortedTransaction>) {
        let identity = [
            batch.base_offset.0 as u64,
            batch.next_offset.0 as u64,
            told,
            batch.bytes.len() as u64,
            batch.leader_epoch.0 as u64,
        ];
        for word in identity {
            self.contents = chain(self.contents, word);
        }
        let stable = stable(&self.open, batch.next_offset);
        self.log.push(batch, stable, aborted);
        self.changed.partition = true;
    }

    /// The first answer, if a batch repeats one of its producer's; or why it can't be taken.
    pub fn repeated(&self, batch: &Bytes) -> Result<Option<Appended>, AppendRefusal> {
        self.repeated_by(&BatchHeader::read(batch).map_err(|_| AppendRefusal::DamagedBatch)?)
    }

    fn repeated_by(&self, header: &BatchHeader) -> Result<Option<Appended>, AppendRefusal> {
        if !header.has_producer_id() {
            return Ok(None);
        }
        let start = self.log.look(|tail| tail.start);
        match self.log.producers.lock().get(&header.producer_id).map(|window| window.judge(header, start)) {
            Some(verdict) => match verdict? {
                Verdict::Repeat(answer) => Ok(Some(answer)),
                Verdict::Take => Ok(None),
            },
            None => Ok(None),
        }
    }

    /// Moves the start to `to`, or to the end; never back. Returns where it is then. Readers that wait are woken: what they wait for may
    /// be out of range now.
    pub fn trim(&mut self, to: Option<Offset>) -> Result<Offset, TrimRefusal> {
        let (start, end) = self.log.look(|tail| (tail.start, tail.end));
        let to = to.unwrap_or(end);
        if to > end {
            return Err(TrimRefusal::OutOfRange { partition: self.log.id, asked: to, end });
        }
        if to <= start {
            return Ok(start);
        }
        self.log.begin_at(to);
        self.forget_aborted_below(to);
        self.changed.partition = true;
        self.changed.is_trimmed = true;
        self.log.wake();
        Ok(to)
    }

    /// Decides a compaction up to `to` at `time`, see [`Compaction`]. Returns what is to be compacted now.
    pub fn compact(
        &mut self,
        compacted: &CompactedTo,
        time: TimestampMs,
        grace_ms: i64,
    ) -> Result<CompactionBounds, CompactionRefusal> {
        let to = compacted.to;
        // What isn't decided yet may neither go nor displace anything.
        let end = self.log.look(|tail| tail.stable);
        if to > end || to < Offset(0) {
            return Err(CompactionRefusal::OutOfRange { partition: self.log.id, asked: to, end });
        }
        let before = self.compaction.clone();
        self.compaction.pass(to, time, grace_ms);
        if self.compaction != before {
            self.changed.partition = true;
            self.changed.compaction = true;
            self.log.show_compaction(self.compaction.bounds);
        }
        // What they wrote is gone, and every reader has had the time to pass their markers, which may go now: with their marker gone, the
        // producer's next records would be taken for theirs.
        self.forget_aborted_below(self.compaction.bounds.tombstones_below.min(compacted.done_to));
        Ok(self.compaction.bounds)
    }

    pub fn compaction(&self) -> &Compaction {
        &self.compaction
    }

    /// The partition is deleted: wakes whoever waits for its records.
    pub fn close(&self) {
        self.log.wake();
    }

    /// What must be kept to restore this partition, if it changed since the last call.
    pub fn take_changes(&mut self) -> Option<PartitionChanges> {
        if !self.changed.partition {
            return None;
        }
        let Changes { partition: _, compaction, is_trimmed, producers, aborted } = std::mem::take(&mut self.changed);
        let windows = self.log.producers.lock();
        let producers = producers.into_iter().map(|id| (id, windows.get(&id).map(ProducerWindow::encode))).collect();
        drop(windows);
        let compaction = compaction.then(|| self.compaction.encode());
        let aborted = aborted.into_iter().collect();
        Some(PartitionChanges { stored: self.stored(), producers, aborted, compaction, is_trimmed })
    }

    pub fn stored(&self) -> StoredPartition {
        self.log.look(|tail| StoredPartition {
            start: tail.start,
            end: tail.end,
            contents: self.contents,
            max_timestamp: tail.max_timestamp,
        })
    }

    /// Every producer that is remembered, with its window, by id.
    pub fn producers(&self) -> Vec<(ProducerId, ProducerWindow)> {
        self.log.producers()
    }

    fn remember(&mut self, header: &BatchHeader, answer: &Appended, at: Circumstances) {
        let id = header.producer_id;
        let mut producers = self.log.producers.lock();
        if producers.len() >= PRODUCERS_MAX && !producers.contains_key(&id) {
            forget_the_silent(&mut producers, &mut self.changed.producers);
        }
        let window = producers.entry(id).or_insert_with(|| ProducerWindow::new(header));
        window.note(header, answer, at.time);
        if let Some(first) = window.open_from() {
            self.open.insert((first, id));
        }
        self.changed.producers.insert(id);
    }
}

/// A tenth at once, so that it isn't done at each append. Who has a transaction open stays.
fn forget_the_silent(producers: &mut BTreeMap<ProducerId, ProducerWindow>, changed: &mut BTreeSet<ProducerId>) {
    let silent = producers.iter().filter(|(_, window)| window.open_from().is_none());
    let mut by_silence: Vec<(TimestampMs, ProducerId)> = silent.map(|(id, window)| (window.last_time, *id)).collect();
    by_silence.sort_unstable();
    for (_, id) in by_silence.into_iter().take(PRODUCERS_MAX / 10) {
        producers.remove(&id);
        changed.insert(id);
    }
}

/// Up to where everything is decided.
pub(crate) fn stable(open: &BTreeSet<(Offset, ProducerId)>, end: Offset) -> Offset {
    open.first().map_or(end, |(first, _)| *first)
}

/// One step of a hash chain (the finaliser of SplitMix64). Tells equal from different; keeps nobody out.
fn chain(seed: u64, word: u64) -> u64 {
    let mut mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ word;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
