//! Records by offset and by time.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use daybook_partition::{AbortedTransaction, Tail, TailBatch};
use daybook_record::{BatchError, STAMP_BYTES};
use daybook_segment::FileSlice;
use daybook_types::{FaultKind, Offset, PartitionId, TimestampMs};
use daybook_world::DiskError;
use thiserror::Error;

use crate::reader::Reader;

/// Smaller batches are copied: two parts of a vectored write cost more than so few bytes.
const REFERENCED_BYTES_MIN: usize = 1024;

/// Whole batches, to be sent one piece after the other.
#[derive(Debug, Default)]
pub struct Fetched {
    pub pieces: Vec<Piece>,
    pub bytes: usize,
    pub start_offset: Offset,
    /// High watermark.
    pub end_offset: Offset,
    /// Last stable offset.
    pub stable_offset: Offset,
    /// The offset after the last batch here; the asked one if there is none.
    pub next_offset: Offset,
}

/// Which records a reader is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// All.
    #[default]
    Uncommitted,
    /// Those before the last stable offset; of them it leaves out what `Reader::aborted` lists.
    Committed,
}

#[derive(Debug)]
pub enum Piece {
    Memory(Bytes),
    File(FileSlice),
}

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("partition {partition} does not exist")]
    UnknownPartition { partition: PartitionId },
    #[error("offset {asked} is out of range: the partition holds {start} up to {end}")]
    OffsetOutOfRange { asked: Offset, start: Offset, end: Offset },
    #[error(transparent)]
    Segment(#[from] daybook_segment::ReadError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("a batch in memory is damaged: {0}")]
    Batch(#[from] BatchError),
}

impl ReadError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::UnknownPartition { .. } | Self::OffsetOutOfRange { .. } => FaultKind::Reject,
            Self::Segment(error) => error.kind(),
            Self::Disk(_) => FaultKind::RetryLater,
            Self::Batch(_) => FaultKind::Corrupt,
        }
    }
}

impl Reader {
    /// Whether `read` from here answers from memory, without touching the disk.
    pub fn is_hot(&self, id: PartitionId, from: Offset) -> bool {
        self.posted
            .log(id)
            .is_none_or(|log| log.look(|tail| from >= tail.memory_start || from < tail.start || from > tail.end))
    }

    /// Whole batches from the one that holds `from` on, about `bytes_max` bytes. With `at_least_one` the first batch comes
    /// even if it alone is larger. May end where files end and memory begins: ask again from `next_offset`.
    pub fn read(
        &self,
        id: PartitionId,
        from: Offset,
        bytes_max: usize,
        at_least_one: bool,
    ) -> Result<Fetched, ReadError> {
        self.read_isolated(id, from, bytes_max, at_least_one, Isolation::Uncommitted)
    }

    /// Transactions that were aborted and have records or a marker in `offsets`, by the order of their markers.
    pub fn aborted(&self, id: PartitionId, offsets: Range<Offset>) -> Vec<AbortedTransaction> {
        self.posted.log(id).map(|log| log.aborted(offsets)).unwrap_or_default()
    }

    /// [`Self::read`] for a reader of some isolation. Nothing is an answer: at the end, or where what follows isn't stable.
    pub fn read_isolated(
        &self,
        id: PartitionId,
        from: Offset,
        bytes_max: usize,
        at_least_one: bool,
        isolation: Isolation,
    ) -> Result<Fetched, ReadError> {
        let log = self.posted.log(id).ok_or(ReadError::UnknownPartition { partition: id })?;
        loop {
            let looked = log.look(|tail| {
                let (start, end) = (tail.start, tail.end);
                if from < start || from > end {
                    return Err(ReadError::OffsetOutOfRange { asked: from, start, end });
                }
                let fetched = Fetched {
                    start_offset: start,
                    end_offset: end,
                    stable_offset: tail.stable,
                    next_offset: from,
                    ..Fetched::default()
                };
                let until = until(tail, isolation);
                let hot = from >= tail.memory_start || from >= until;
                let batches = if hot { pick(tail, from, until, bytes_max, at_least_one) } else { Vec::new() };
                Ok((fetched, until, hot, batches))
            });
            let (mut fetched, until, hot, batches) = looked?;
            if hot {
                fetched.add_memory(&batches);
                return Ok(fetched);
            }
            if let Some(slice) = self.read_files(id, from, until, bytes_max)? {
                if slice.bytes <= bytes_max || at_least_one {
                    fetched.bytes = slice.bytes;
                    fetched.next_offset = slice.next_offset;
                    fetched.pieces.push(Piece::File(slice));
                }
                return Ok(fetched);
            }
            // Files end before `from`, and it was not in memory: a gap before the tail. Look there.
            let memory_start = log.look(|tail| tail.memory_start);
            if memory_start <= from {
                continue;
            }
            let batches = log.look(|tail| pick(tail, memory_start, until, bytes_max, at_least_one));
            fetched.add_memory(&batches);
            return Ok(fetched);
        }
    }

    /// The batch that holds `offset`, if it is in memory.
    pub(crate) fn tail_batch(&self, id: PartitionId, offset: Offset) -> Option<TailBatch> {
        self.posted.log(id)?.look(|tail| {
            let batch = tail.batches.get(tail.batch_at(offset))?;
            (tail.start <= offset && batch.base_offset <= offset).then(|| batch.clone())
        })
    }

    /// The first record whose timestamp is `at` or later. May read files.
    pub fn offset_for_timestamp(
        &self,
        id: PartitionId,
        at: TimestampMs,
    ) -> Result<Option<(Offset, TimestampMs)>, ReadError> {
        let log = self.posted.log(id).ok_or(ReadError::UnknownPartition { partition: id })?;
        let (start, memory_start) = log.look(|tail| (tail.start, tail.memory_start));
        if start < memory_start {
            let found = self.files.get(id).map(|files| files.offset_for_timestamp(at, start)).transpose()?.flatten();
            if found.is_some() {
                return Ok(found);
            }
        }
        let candidates =
            log.look(|tail| tail.batches.iter().filter(|batch| batch.max_timestamp >= at).cloned().collect::<Vec<_>>());
        first_at(&candidates, start, at)
    }

    /// The record with the largest timestamp, the first one if several have it. May read files.
    pub fn max_timestamp(&self, id: PartitionId) -> Result<Option<(Offset, TimestampMs)>, ReadError> {
        let log = self.posted.log(id).ok_or(ReadError::UnknownPartition { partition: id })?;
        let (start, latest) = log.look(|tail| (tail.start, tail.max_timestamp));
        let Some((timestamp, _)) = latest else { return Ok(None) };
        let found = self.offset_for_timestamp(id, timestamp)?;
        if found.is_some() {
            return Ok(found);
        }
        // That record went: the latest of what is left, by files and by memory.
        let in_files = self.files.get(id).map(|files| files.max_timestamp(start)).transpose()?.flatten();
        let left = |batch: &&TailBatch| batch.next_offset > start;
        let batches = log.look(|tail| tail.batches.iter().filter(left).cloned().collect::<Vec<_>>());
        let latest = batches.iter().map(|batch| batch.max_timestamp).max();
        let in_memory = latest.map(|latest| first_at(&batches, start, latest)).transpose()?.flatten();
        // The earlier one of equals.
        let is_later = |memory: &(Offset, TimestampMs)| in_files.is_none_or(|(_, timestamp)| memory.1 > timestamp);
        Ok(in_memory.filter(is_later).or(in_files))
    }

    fn read_files(
        &self,
        id: PartitionId,
        from: Offset,
        until: Offset,
        bytes_max: usize,
    ) -> Result<Option<FileSlice>, ReadError> {
        match self.files.get(id) {
            Some(files) => Ok(files.read_below(from, until, bytes_max)?),
            None => Ok(None),
        }
    }
}

impl Fetched {
    /// All of it in one piece of memory. May read files.
    pub fn to_bytes(&self) -> Result<Bytes, ReadError> {
        let mut whole = BytesMut::with_capacity(self.bytes);
        for piece in &self.pieces {
            match piece {
                Piece::Memory(bytes) => whole.extend_from_slice(bytes),
                Piece::File(slice) => whole.extend_from_slice(&slice.to_bytes()?),
            }
        }
        Ok(whole.freeze())
    }

    /// Batches as they are sent: their first bytes are the log's, the rest is what the producer sent, shared.
    fn add_memory(&mut self, batches: &[TailBatch]) {
        let Some(last) = batches.last() else { return };
        let copied: usize = batches
            .iter()
            .map(|batch| if batch.bytes.len() < REFERENCED_BYTES_MIN { batch.bytes.len() } else { STAMP_BYTES })
            .sum();
        let mut arena = BytesMut::with_capacity(copied);
        for batch in batches {
            arena.extend_from_slice(&batch.head());
            let body = batch.bytes.slice(STAMP_BYTES..);
            if batch.bytes.len() < REFERENCED_BYTES_MIN {
                arena.extend_from_slice(&body);
            } else {
                self.pieces.push(Piece::Memory(arena.split().freeze()));
                self.pieces.push(Piece::Memory(body));
            }
            self.bytes += batch.bytes.len();
        }
        if !arena.is_empty() {
            self.pieces.push(Piece::Memory(arena.freeze()));
        }
        self.next_offset = last.next_offset;
    }
}

/// Where the batches end that a reader may have.
fn until(tail: &Tail, isolation: Isolation) -> Offset {
    match isolation {
        Isolation::Uncommitted => Offset(i64::MAX),
        Isolation::Committed => tail.stable,
    }
}

fn pick(tail: &Tail, from: Offset, until: Offset, bytes_max: usize, at_least_one: bool) -> Vec<TailBatch> {
    let mut room = bytes_max;
    let mut picked = Vec::new();
    for batch in tail.batches.range(tail.batch_at(from)..) {
        let is_due_anyway = at_least_one && picked.is_empty();
        if batch.base_offset >= until || batch.bytes.len() > room && !is_due_anyway {
            break;
        }
        room = room.saturating_sub(batch.bytes.len());
        picked.push(batch.clone());
    }
    picked
}

fn first_at(batches: &[TailBatch], start: Offset, at: TimestampMs) -> Result<Option<(Offset, TimestampMs)>, ReadError> {
    for batch in batches {
        let mut whole = BytesMut::from(batch.bytes.as_ref());
        whole[..STAMP_BYTES].copy_from_slice(&batch.head());
        let found = daybook_record::offset_for_timestamp(&whole, at, start)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
