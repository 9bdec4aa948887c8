//! What compaction keeps: of each key the latest record, and that not for ever if it is a tombstone.

use daybook_record::{BatchHeader, Record};
use daybook_rewrite::Pace;
use daybook_segment::{Fate, Sieve};
use daybook_types::{Offset, PartitionId};

use crate::error::Broken;
use crate::key_map::KeyMap;

/// Judges the records of one partition.
pub(crate) struct KeySieve<'a> {
    pub keys: &'a KeyMap,
    /// Where the partition begins: what lies before is not read any more.
    pub start: Offset,
    /// Records from here on are not in `keys`, and stay.
    pub to: Offset,
    /// Below it, records without value go too: whoever saw their values has had time to learn that they are gone.
    pub tombstones_below: Offset,
    pub pace: &'a mut Pace,
}

impl Sieve for KeySieve<'_> {
    type Error = Broken;

    fn keep(&mut self, record: &Record) -> Result<bool, Broken> {
        if record.offset >= self.to {
            return Ok(true);
        }
        // A record without key is from before the topic was compacted: nothing will ever supersede it.
        let Some(key) = record.key.as_ref().filter(|_| record.offset >= self.start) else { return Ok(false) };
        let is_latest = self.keys.latest(key).is_none_or(|latest| record.offset >= latest);
        Ok(is_latest && (record.value.is_some() || record.offset >= self.tombstones_below))
    }

    fn batch(&mut self, batch: &BatchHeader) -> Result<Fate, Broken> {
        Ok(if batch.is_control() || batch.base_offset >= self.to { Fate::Stays } else { Fate::Judged })
    }

    /// A tombstone may only go when nothing of its key is left before it, so nothing superseded is left for being little.
    fn is_thorough(&self) -> bool {
        true
    }

    fn worked(&mut self, bytes: u64) -> Result<(), Broken> {
        Ok(self.pace.worked(bytes)?)
    }
}

/// What a pass knows of the partition it is at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub partition: PartitionId,
    pub start: Offset,
    pub to: Offset,
    pub tombstones_below: Offset,
}
