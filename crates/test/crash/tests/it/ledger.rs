//! What the server has promised so far.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use daybook_record::Record;

use crate::content::RecordId;

/// Promises of one partition.
#[derive(Debug, Default)]
pub struct PartitionLedger {
    /// By offset: records that somebody has read. Each stays where it is for ever.
    seen: Vec<RecordId>,
    /// Acknowledged and not yet read, by offset.
    awaited: BTreeMap<i64, RecordId>,
    /// Acknowledged as written before, without an offset, and not yet read.
    awaited_somewhere: BTreeSet<RecordId>,
    /// Of each writer, the number after its last record read. Numbers ascend, so no record is there twice.
    next_number: HashMap<u32, u64>,
}

impl PartitionLedger {
    /// The first offset that nobody has read.
    pub fn seen_end(&self) -> i64 {
        self.seen.len() as i64
    }

    /// The server says that the record is at this offset.
    pub fn acknowledge(&mut self, offset: i64, id: RecordId) -> Result<(), String> {
        let there = self.seen.get(offset as usize).or(self.awaited.get(&offset));
        if let Some(there) = there.filter(|there| **there != id) {
            return Err(format!("{id:?} is acknowledged at offset {offset}, where {there:?} is"));
        }
        if offset >= self.seen_end() {
            self.awaited.insert(offset, id);
        }
        Ok(())
    }

    /// The server says that it has the record already.
    pub fn acknowledge_somewhere(&mut self, id: RecordId) {
        if self.next_number.get(&id.writer).is_none_or(|next| id.number >= *next) {
            self.awaited_somewhere.insert(id);
        }
    }

    /// A record was read. Offsets are read without gaps, from any offset seen before or the next one.
    pub fn read(&mut self, place: u32, is_gapless: impl Fn(u32) -> bool, record: &Record) -> Result<(), String> {
        let id = RecordId::of(record).map_err(|fault| format!("at offset {}: {fault}", record.offset))?;
        let offset = record.offset.0;
        if let Some(seen) = self.seen.get(offset as usize) {
            return if *seen == id { Ok(()) } else { Err(format!("{id:?} is at offset {offset}, where {seen:?} was")) };
        }
        if offset != self.seen_end() {
            return Err(format!("offset {offset} follows {}", self.seen_end() - 1));
        }
        if id.place != place {
            return Err(format!("{id:?} is in partition {place}"));
        }
        let next = self.next_number.entry(id.writer).or_default();
        if id.number < *next {
            return Err(format!("{id:?} at offset {offset} is there twice, or after a later one of its writer"));
        }
        if is_gapless(id.writer) && id.number != *next {
            return Err(format!("{id:?} at offset {offset} comes where number {next} should"));
        }
        *next = id.number + 1;
        match self.awaited.remove(&offset) {
            Some(acknowledged) if acknowledged != id => {
                return Err(format!("{id:?} is at offset {offset}, where {acknowledged:?} was acknowledged"));
            }
            _ => {}
        }
        self.awaited_somewhere.remove(&id);
        self.seen.push(id);
        Ok(())
    }

    /// Everything up to the end was read: nothing acknowledged may be missing.
    pub fn assert_complete(&self, end: i64) -> Result<(), String> {
        if end < self.seen_end() {
            return Err(format!("it ends at {end}, records up to {} were read", self.seen_end()));
        }
        if let Some((offset, id)) = self.awaited.first_key_value() {
            let count = self.awaited.len();
            return Err(format!("it ends at {end}, but {count} more were acknowledged, first {id:?} at {offset}"));
        }
        match self.awaited_somewhere.first() {
            None => Ok(()),
            Some(id) => Err(format!("{id:?} is nowhere, though the server said that it had it")),
        }
    }
}
