//! How far a partition is to be compacted, and since when: what decides which tombstones may go.
//!
//! A tombstone stays for a time after the first compaction that passed over it, so that a reader who saw the value before learns that
//! it went. Apache Kafka notes that time in each batch (KIP-534). Here it follows from the log, which says when each compaction was
//! decided: batches stay as they are, and every member comes to the same answer.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::CompactionBounds;
use daybook_types::{Offset, TimestampMs};

use crate::StoredPartitionError;

const FORMAT_VERSION: u8 = 1;
const HEAD_BYTES: usize = 16;
const PASS_BYTES: usize = 24;
/// A time of grace is told by so many steps: passes that are closer together count as one, at the time of the later one.
const STEPS: i64 = 16;
/// More than steps only if the topic's time of grace was shortened; then the earliest two are taken for one.
const PASSES_MAX: usize = 2 * STEPS as usize;

/// What apply keeps of a partition's compactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    pub bounds: CompactionBounds,
    /// Whose time of grace is not over; by offset and by time.
    passes: Vec<Pass>,
}

/// One compaction, or several that were soon after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pass {
    to: Offset,
    /// The earliest of them.
    since: TimestampMs,
    /// The latest of them.
    time: TimestampMs,
}

impl Compaction {
    /// A compaction up to `to` was decided at `time`. `grace_ms` is the topic's `delete.retention.ms`.
    pub(crate) fn pass(&mut self, to: Offset, time: TimestampMs, grace_ms: i64) {
        let over = |pass: &Pass| time.0.saturating_sub(pass.time.0) >= grace_ms;
        // Times ascend, so those that are over stand in front.
        let gone = self.passes.partition_point(over);
        if let Some(last) = self.passes.drain(..gone).next_back() {
            self.bounds.tombstones_below = last.to;
        }
        if to <= self.bounds.to {
            return;
        }
        self.bounds.to = to;
        match self.passes.last_mut() {
            Some(last) if time.0.saturating_sub(last.since.0) < grace_ms / STEPS => (last.to, last.time) = (to, time),
            _ => self.passes.push(Pass { to, since: time, time }),
        }
        if self.passes.len() > PASSES_MAX {
            self.passes.remove(0);
        }
    }

    pub fn is_none(&self) -> bool {
        self.bounds.to == Offset(0)
    }

    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(1 + HEAD_BYTES + PASS_BYTES * self.passes.len());
        out.put_u8(FORMAT_VERSION);
        out.put_i64(self.bounds.to.0);
        out.put_i64(self.bounds.tombstones_below.0);
        for pass in &self.passes {
            out.put_i64(pass.to.0);
            out.put_i64(pass.since.0);
            out.put_i64(pass.time.0);
        }
        out.freeze()
    }

    pub fn decode(mut bytes: Bytes) -> Result<Self, StoredPartitionError> {
        let version = bytes.try_get_u8().map_err(|_| StoredPartitionError::Malformed)?;
        if version > FORMAT_VERSION {
            return Err(StoredPartitionError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        if bytes.len() < HEAD_BYTES || !(bytes.len() - HEAD_BYTES).is_multiple_of(PASS_BYTES) {
            return Err(StoredPartitionError::Malformed);
        }
        let bounds = CompactionBounds { to: Offset(bytes.get_i64()), tombstones_below: Offset(bytes.get_i64()) };
        let mut passes = Vec::new();
        while !bytes.is_empty() {
            let to = Offset(bytes.get_i64());
            passes.push(Pass { to, since: TimestampMs(bytes.get_i64()), time: TimestampMs(bytes.get_i64()) });
        }
        Ok(Self { bounds, passes })
    }
}

#[cfg(test)]
mod tests;
