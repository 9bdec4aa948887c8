//! The half of a partition that only apply touches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::{AppendRefusal, Appended, CompactionBounds, CompactionRefusal, TrimRefusal};
use daybook_record::{BatchHeader, with_log_append_time};
use daybook_types::{LeaderEpoch, Offset, PartitionId, ProducerId, TimestampMs};
use thiserror::Error;

use crate::compaction::Compaction;
use crate::log::{PartitionLog, Tail, TailBatch};
use crate::producer::{PRODUCERS_MAX, ProducerWindow, Verdict};

const FORMAT_VERSION: u8 = 1;

/// A partition as apply sees it.
#[derive(Debug)]
pub struct Partition {
    log: Arc<PartitionLog>,
    producers: BTreeMap<ProducerId, ProducerWindow>,
    /// Chains what identifies each batch, in order: equal chains mean equal contents.
    contents: u64,
    compaction: Compaction,
    changed: Changes,
}

/// What a checkpoint has yet to keep.
#[derive(Debug, Default)]
struct Changes {
    partition: bool,
    compaction: bool,
    /// The start moved: files may go.
    is_trimmed: bool,
    producers: BTreeSet<ProducerId>,
}

/// A partition as a checkpoint keeps it, producers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredPartition {
    pub start: Offset,
    pub end: Offset,
    pub contents: u64,
    pub max_timestamp: Option<(TimestampMs, Offset)>,
}

/// Stored state that can't be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoredPartitionError {
    #[error("the stored partition has format version {found}, this program knows up to {known}")]
    NewerFormat { found: u8, known: u8 },
    #[error("the stored partition is malformed")]
    Malformed,
}

/// Producers with their windows as a checkpoint keeps them; `None`: forgotten.
pub type ChangedProducers = Vec<(ProducerId, Option<Bytes>)>;

/// What a checkpoint keeps of a partition that changed.
#[derive(Clone, Debug)]
pub struct PartitionChanges {
    pub stored: StoredPartition,
    pub producers: ChangedProducers,
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
        let mut partition = Self::restore(id, stored, BTreeMap::new(), Compaction::default());
        partition.changed.partition = true;
        partition
    }

    /// The partition as a checkpoint kept it; all its records are in files.
    pub fn restore(
        id: PartitionId,
        stored: StoredPartition,
        producers: BTreeMap<ProducerId, ProducerWindow>,
        compaction: Compaction,
    ) -> Self {
        let tail = Tail {
            start: stored.start,
            end: stored.end,
            memory_start: stored.end,
            batches: VecDeque::new(),
            max_timestamp: stored.max_timestamp,
            compaction: compaction.bounds,
        };
        let log = PartitionLog::new(id, tail);
        Self { log, producers, contents: stored.contents, compaction, changed: Changes::default() }
    }

    /// The half that readers share.
    pub fn log(&self) -> &Arc<PartitionLog> {
        &self.log
    }

    /// Appends a batch, or says why not; a repeated batch is answered as the first time. Returns how many records came. Whoever waits for
    /// them is woken by `PartitionLog::wake`, which is the caller's to do.
    pub fn append(&mut self, batch: &Bytes, at: Circumstances) -> Result<(Appended, u64), AppendRefusal> {
        let header = BatchHeader::read(batch).map_err(|_| AppendRefusal::DamagedBatch)?;
        let (start, end) = self.log.look(|tail| (tail.start, tail.end));
        if header.has_producer_id()
            && let Some(window) = self.producers.get(&header.producer_id)
            && let Verdict::Repeat(answer) = window.judge(&header, start)?
        {
            return Ok((answer, 0));
        }
        let count = u64::from(header.last_offset_delta.unsigned_abs()) + 1;
        let next_offset = Offset(end.0 + count as i64);
        let (bytes, max_timestamp) = if at.log_append_time {
            (with_log_append_time(batch, at.time), at.time)
        } else {
            (batch.clone(), header.max_timestamp)
        };
        let answer = Appended {
            base_offset: end,
            next_offset,
            log_append_time: if at.log_append_time { at.time } else { TimestampMs::NONE },
            start_offset: start,
        };
        // The CRC covers all but what the log itself sets; with an append time it is that time that tells.
        let told = if at.log_append_time { u64::from(header.crc) ^ at.time.0 as u64 } else { u64::from(header.crc) };
        for word in [end.0 as u64, next_offset.0 as u64, told, bytes.len() as u64, at.leader_epoch.0 as u64] {
            self.contents = chain(self.contents, word);
        }
        self.log.push(TailBatch { base_offset: end, next_offset, leader_epoch: at.leader_epoch, max_timestamp, bytes });
        if header.has_producer_id() {
            self.remember(&header, &answer, at);
        }
        self.changed.partition = true;
        Ok((answer, count))
    }

    /// The first answer, if a batch repeats one of its producer's; or why it can't be taken.
    pub fn repeated(&self, batch: &Bytes) -> Result<Option<Appended>, AppendRefusal> {
        let header = BatchHeader::read(batch).map_err(|_| AppendRefusal::DamagedBatch)?;
        let start = self.log.look(|tail| tail.start);
        match self.producers.get(&header.producer_id).filter(|_| header.has_producer_id()) {
            Some(window) => match window.judge(&header, start)? {
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
        self.changed.partition = true;
        self.changed.is_trimmed = true;
        self.log.wake();
        Ok(to)
    }

    /// Decides a compaction up to `to` at `time`, see [`Compaction`]. Returns what is to be compacted now.
    pub fn compact(
        &mut self,
        to: Offset,
        time: TimestampMs,
        grace_ms: i64,
    ) -> Result<CompactionBounds, CompactionRefusal> {
        let end = self.log.look(|tail| tail.end);
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
        let Changes { partition: _, compaction, is_trimmed, producers } = std::mem::take(&mut self.changed);
        let producers =
            producers.into_iter().map(|id| (id, self.producers.get(&id).map(ProducerWindow::encode))).collect();
        let compaction = compaction.then(|| self.compaction.encode());
        Some(PartitionChanges { stored: self.stored(), producers, compaction, is_trimmed })
    }

    pub fn stored(&self) -> StoredPartition {
        self.log.look(|tail| StoredPartition {
            start: tail.start,
            end: tail.end,
            contents: self.contents,
            max_timestamp: tail.max_timestamp,
        })
    }

    pub fn producers(&self) -> impl Iterator<Item = (ProducerId, &ProducerWindow)> {
        self.producers.iter().map(|(id, window)| (*id, window))
    }

    fn remember(&mut self, header: &BatchHeader, answer: &Appended, at: Circumstances) {
        let id = header.producer_id;
        if self.producers.len() >= PRODUCERS_MAX && !self.producers.contains_key(&id) {
            self.forget_the_silent();
        }
        let window = self.producers.entry(id).or_insert_with(|| ProducerWindow::new(header));
        window.note(header, answer, at.time);
        self.changed.producers.insert(id);
    }

    /// A tenth at once, so that it isn't done at each append.
    fn forget_the_silent(&mut self) {
        let mut by_silence: Vec<(TimestampMs, ProducerId)> =
            self.producers.iter().map(|(id, window)| (window.last_time, *id)).collect();
        by_silence.sort_unstable();
        for (_, id) in by_silence.into_iter().take(PRODUCERS_MAX / 10) {
            self.producers.remove(&id);
            self.changed.producers.insert(id);
        }
    }
}

impl StoredPartition {
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORMAT_VERSION);
        out.put_i64(self.start.0);
        out.put_i64(self.end.0);
        out.put_u64(self.contents);
        if let Some((timestamp, base_offset)) = self.max_timestamp {
            out.put_i64(timestamp.0);
            out.put_i64(base_offset.0);
        }
        out.freeze()
    }

    pub fn decode(mut bytes: Bytes) -> Result<Self, StoredPartitionError> {
        let version = bytes.try_get_u8().map_err(|_| StoredPartitionError::Malformed)?;
        if version > FORMAT_VERSION {
            return Err(StoredPartitionError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        if bytes.len() != 24 && bytes.len() != 40 {
            return Err(StoredPartitionError::Malformed);
        }
        let (start, end, contents) = (Offset(bytes.get_i64()), Offset(bytes.get_i64()), bytes.get_u64());
        let max_timestamp = (!bytes.is_empty()).then(|| (TimestampMs(bytes.get_i64()), Offset(bytes.get_i64())));
        Ok(Self { start, end, contents, max_timestamp })
    }
}

/// One step of a hash chain (the finaliser of SplitMix64). Tells equal from different; keeps nobody out.
fn chain(seed: u64, word: u64) -> u64 {
    let mut mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ word;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
