//! The store over its engine.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable as _};

use crate::{KvError, Space};

/// The engine counts key bytes in 16 bits, and one is the space's tag.
pub const KEY_BYTES_MAX: usize = u16::MAX as usize - 1;
/// Far above any index value and below what the engine counts in 32 bits.
pub const VALUE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Name of the keyspace: disk format.
const KEYSPACE: &str = "posted";
const EVENTS_KEYSPACE: &str = "events";
/// One thread flushes and compacts: checkpoints write little and seldom, and the machine's cores are for the log.
const WORKERS: usize = 1;
/// The engine's smallest bound. A journal file is preallocated sparsely, so it costs the disk what was written.
const JOURNAL_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Every space has a handful of tables at most; the rest of the process needs its descriptors for sockets and segments.
const FILES_OPEN_MAX: usize = 64;

/// How much memory a store takes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Blocks read from disk that are kept.
    pub cache_bytes: u64,
    /// Writes gathered in memory before they go to a table. Fixed when the store is made.
    pub memtable_bytes_max: u64,
    /// The same for the index of streams.
    pub events_memtable_bytes_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 16 * 1024 * 1024,
            memtable_bytes_max: 4 * 1024 * 1024,
            events_memtable_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// One change of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Put { space: Space, key: Bytes, value: Bytes },
    Remove { space: Space, key: Bytes },
}

impl Op {
    fn place(&self) -> (u8, &[u8]) {
        match self {
            Self::Put { space, key, .. } | Self::Remove { space, key } => (space.tag(), key),
        }
    }
}

/// An open index store. One process has it at a time.
pub struct Store {
    database: Database,
    /// All small spaces together, told apart by their tag. A keyspace each would cost twenty fsyncs each when the store is made, five
    /// memory tables and a set of files each; they are worth it once a space is large.
    keys: Keyspace,
    /// The index of streams, which is large: its tables must not be merged with those of the small spaces at every turn.
    events: Keyspace,
    dir: PathBuf,
}

impl Store {
    /// Opens the store in `dir`, or makes it. That `dir` itself survives a power cut is the caller's duty.
    pub fn open(dir: &Path, options: Options) -> Result<Self, KvError> {
        // The engine asserts what it expects of its own files. Damage there must reach a person as an error of this store.
        let opened = catch_unwind(AssertUnwindSafe(|| open(dir, options)));
        let (database, keys, events) = match opened {
            Err(_) => return Err(KvError::Unreadable { dir: dir.to_owned() }),
            Ok(Err(source)) => return Err(cannot_open(dir, source)),
            Ok(Ok(opened)) => opened,
        };
        Ok(Self { database, keys, events, dir: dir.to_owned() })
    }

    fn keys(&self, space: Space) -> &Keyspace {
        if space.is_of_streams() { &self.events } else { &self.keys }
    }

    pub fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, KvError> {
        let value = self.keys(space).get(tagged(space, key)).map_err(|source| KvError::Read { space, source })?;
        Ok(value.map(Bytes::from))
    }

    /// All keys that begin with `prefix`, ascending, with their values, as of this moment. An empty prefix is the whole space.
    pub fn scan(
        &self,
        space: Space,
        prefix: &[u8],
    ) -> impl Iterator<Item = Result<(Bytes, Bytes), KvError>> + Send + use<> {
        // Through a snapshot: the engine's own iterators see what is committed while they run.
        self.database.snapshot().prefix(self.keys(space), tagged(space, prefix)).map(move |entry| {
            match entry.into_inner() {
                Ok((key, value)) => Ok((Bytes::from(key).slice(1..), value.into())),
                Err(source) => Err(KvError::Read { space, source }),
            }
        })
    }

    /// The keys from `from` up to and not including `to`, ascending, or descending from the back, as of this moment.
    pub fn range(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> impl DoubleEndedIterator<Item = Result<(Bytes, Bytes), KvError>> + Send + use<> {
        let pair = move |entry: fjall::Guard| match entry.into_inner() {
            Ok((key, value)) => Ok((Bytes::from(key).slice(1..), value.into())),
            Err(source) => Err(KvError::Read { space, source }),
        };
        // The engine takes no range that ends before it begins.
        let found = (from < to).then(|| {
            self.database.snapshot().range(self.keys(space), tagged(space, from)..tagged(space, to)).map(pair)
        });
        found.into_iter().flatten()
    }

    /// Makes all of `batch`, over all its spaces, or none of it; of several operations on a key the last one counts. Durable on
    /// return. After an error the store takes no more; open it again.
    pub fn commit(&self, mut batch: Vec<Op>) -> Result<(), KvError> {
        // The engine looks for the place of each key anew; neighbours find most of the way in the processor's cache.
        batch.sort_by(|a, b| a.place().cmp(&b.place()));
        let mut writes = self.database.batch().durability(Some(PersistMode::SyncData));
        for op in &batch {
            match op {
                Op::Put { space, key, value } => {
                    check_key(*space, key)?;
                    if value.len() > VALUE_BYTES_MAX {
                        return Err(KvError::Value { space: *space, bytes: value.len() });
                    }
                    // Copied, since the engine keeps them long and they may be slices of something large.
                    writes.insert(self.keys(*space), tagged(*space, key), &value[..]);
                }
                Op::Remove { space, key } => {
                    check_key(*space, key)?;
                    writes.remove(self.keys(*space), tagged(*space, key));
                }
            }
        }
        writes.commit().map_err(|source| KvError::Commit { source })
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("dir", &self.dir).finish_non_exhaustive()
    }
}

fn open(dir: &Path, options: Options) -> fjall::Result<(Database, Keyspace, Keyspace)> {
    let database = Database::builder(dir)
        .cache_size(options.cache_bytes)
        .worker_threads(WORKERS)
        .max_journaling_size(JOURNAL_BYTES_MAX)
        .max_cached_files(Some(FILES_OPEN_MAX))
        .open()?;
    let create = || KeyspaceCreateOptions::default().max_memtable_size(options.memtable_bytes_max);
    let keys = database.keyspace(KEYSPACE, create)?;
    let create = || KeyspaceCreateOptions::default().max_memtable_size(options.events_memtable_bytes_max);
    let events = database.keyspace(EVENTS_KEYSPACE, create)?;
    Ok((database, keys, events))
}

/// A key as the engine has it: the tag of its space, then the key.
fn tagged(space: Space, key: &[u8]) -> Vec<u8> {
    let mut tagged = Vec::with_capacity(1 + key.len());
    tagged.push(space.tag());
    tagged.extend_from_slice(key);
    tagged
}

fn cannot_open(dir: &Path, source: fjall::Error) -> KvError {
    let dir = dir.to_owned();
    match source {
        fjall::Error::Locked => KvError::Locked { dir },
        fjall::Error::InvalidVersion(_) => KvError::Version { dir },
        source => KvError::Open { dir, source },
    }
}

fn check_key(space: Space, key: &[u8]) -> Result<(), KvError> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(KvError::Key { space, bytes: key.len() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
