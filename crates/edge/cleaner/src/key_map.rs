//! The latest offset of each key in a part of a log, in bounded memory: Kafka's dedupe buffer.
//!
//! Keys are known by 128 bits of keyed hashes, new ones each time: that two keys of a map have the same is as good as impossible, and
//! nobody can bring it about.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

use daybook_types::Offset;

/// What a key takes at most, just after the table has grown: 24 bytes and one of control, an eighth free, doubled, and the old table.
pub const ENTRY_BYTES_MAX: u64 = 86;

/// From key to offset.
#[derive(Debug)]
pub struct KeyMap {
    hashers: [RandomState; 2],
    latest: HashMap<KeyHash, Offset, BuildHasherDefault<AsIs>>,
    keys_max: usize,
}

/// What a key is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeyHash([u64; 2]);

/// Hashes what is a hash already.
#[derive(Clone, Copy, Debug, Default)]
struct AsIs(u64);

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

    fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash(self.hashers.each_ref().map(|hasher| hasher.hash_one(key)))
    }
}

impl Hash for KeyHash {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.0[0]);
    }
}

impl Hasher for AsIs {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
