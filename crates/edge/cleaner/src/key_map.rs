//! The latest offset of each key in a part of a log, in bounded memory: Kafka's dedupe buffer.
//!
//! Keys are known by 128 bits of keyed hashes, new ones each time: that two keys of a map have the same is as good as impossible, and
//! nobody can bring it about.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use daybook_types::Offset;

/// What a key takes at most, just after the table has grown: 24 bytes and one of control, an eighth free, doubled, and the old table.
pub const ENTRY_BYTES_MAX: u64 = 86;

/// From key to offset.
#[derive(Debug)]
pub struct KeyMap {
    hashers: [RandomState; 2],
    latest: HashMap<[u64; 2], Offset, foldhash::fast::RandomState>,
    keys_max: usize,
}

/// There is no room for another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl KeyMap {
    /// A map that takes no more than `bytes_max` of memory, and room for one key at least. It grows as keys come.
    pub fn new(bytes_max: u64) -> Self {
        let keys_max = usize::try_from(bytes_max / ENTRY_BYTES_MAX).unwrap_or(usize::MAX).max(1);
        Self { hashers: [RandomState::new(), RandomState::new()], latest: HashMap::default(), keys_max }
    }

    /// Offsets come ascending.
    pub fn put(&mut self, key: &[u8], offset: Offset) -> Result<(), Full> {
        let hash = self.hash(key);
        if let Some(latest) = self.latest.get_mut(&hash) {
            *latest = offset;
            return Ok(());
        }
        if self.latest.len() >= self.keys_max {
            return Err(Full);
        }
        self.latest.insert(hash, offset);
        Ok(())
    }

    pub fn latest(&self, key: &[u8]) -> Option<Offset> {
        self.latest.get(&self.hash(key)).copied()
    }

    pub fn len(&self) -> usize {
        self.latest.len()
    }

    pub fn is_empty(&self) -> bool {
        self.latest.is_empty()
    }

    fn hash(&self, key: &[u8]) -> [u64; 2] {
        self.hashers.each_ref().map(|hasher| hasher.hash_one(key))
    }
}

#[cfg(test)]
mod tests;
