//! What compaction keeps: of each key the latest record, and that not for ever if it is a tombstone. Records of aborted transactions
//! go, since nobody may take them for anything; markers go when nothing needs them.

use daybook_partition::{Fate, PartitionLog};
use daybook_record::{BatchHeader, Record};
use daybook_rewrite::Pace;
use daybook_segment::{Fate as BatchFate, Sieve};
use daybook_types::Offset;

use crate::error::Broken;
use crate::key_map::KeyMap;

/// Judges the records of one partition.
pub(crate) struct KeySieve<'a> {
    pub keys: &'a KeyMap,
    pub bounds: Bounds<'a>,
    pub pace: &'a mut Pace,
}

/// What a compaction knows of the partition it is at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    pub log: &'a PartitionLog,
    /// Where the partition begins: what lies before is not read any more.
    pub start: Offset,
    /// Records from here on are not learned, and stay.
    pub to: Offset,
    /// Below it, records without value and markers go too: whoever saw what they end has had time to learn that it has ended.
    pub tombstones_below: Offset,
}

impl Sieve for KeySieve<'_> {
    type Error = Broken;

    fn keep(&mut self, record: &Record) -> Result<bool, Broken> {
        let Bounds { log: _, start, to, tombstones_below } = self.bounds;
        if record.offset >= to {
            return Ok(true);
        }
        // A record without key is from before the topic was compacted: nothing will ever supersede it.
        let Some(key) = record.key.as_ref().filter(|_| record.offset >= start) else { return Ok(false) };
        let is_latest = self.keys.latest(key).is_none_or(|latest| record.offset >= latest);
        Ok(is_latest && (record.value.is_some() || record.offset >= tombstones_below))
    }

    fn batch(&mut self, batch: &BatchHeader) -> Result<BatchFate, Broken> {
        let Bounds { log, start: _, to, tombstones_below } = self.bounds;
        let base = batch.base_offset;
        if base >= to {
            return Ok(BatchFate::Stays);
        }
        if batch.is_control() {
            // Readers that are told of an aborted transaction look for its marker: it goes after they are told no more.
            let is_told = log.aborted(base..base.next()).iter().any(|aborted| aborted.last_offset == base);
            return Ok(if base < tombstones_below && !is_told { BatchFate::Goes } else { BatchFate::Stays });
        }
        Ok(if is_aborted(log, batch) { BatchFate::Goes } else { BatchFate::Judged })
    }

    /// A tombstone may only go when nothing of its key is left before it, so nothing superseded is left for being little.
    fn is_thorough(&self) -> bool {
        true
    }

    fn worked(&mut self, bytes: u64) -> Result<(), Broken> {
        Ok(self.pace.worked(bytes)?)
    }
}

/// Whether the batch is of a transaction that was aborted. Below the last stable offset all are decided.
pub(crate) fn is_aborted(log: &PartitionLog, batch: &BatchHeader) -> bool {
    batch.is_transactional() && log.fate(batch.producer_id, batch.base_offset) == Fate::Aborted
}
