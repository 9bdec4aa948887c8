//! Open files, a bounded number of them: ten thousand partitions must not hold ten thousand descriptors.

use std::collections::HashMap;
use std::sync::Arc;

use daybook_types::PartitionId;
use daybook_world::{DiskError, DiskFile};
use parking_lot::Mutex;

use crate::name::{Kind, SegmentName};

/// Files of all partitions of a shard that are kept open. Those being sent to a socket are open besides.
pub const FILES_OPEN_MAX: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub partition: PartitionId,
    pub segment: SegmentName,
    pub kind: Kind,
}

/// The files used last.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    files: HashMap<Key, Used>,
    /// Grows with each use.
    clock: u64,
}

#[derive(Debug)]
struct Used {
    file: Arc<dyn DiskFile>,
    last: u64,
}

impl Handles {
    /// The file of `key`, opened by `open` if it isn't.
    pub(crate) fn get(
        &self,
        key: Key,
        open: impl FnOnce() -> Result<Arc<dyn DiskFile>, DiskError>,
    ) -> Result<Arc<dyn DiskFile>, DiskError> {
        if let Some(file) = self.open.lock().touch(key) {
            return Ok(file);
        }
        // Not under the lock: opening may wait for the disk. If two threads do, the later one's stays.
        let file = open()?;
        self.put(key, file.clone());
        Ok(file)
    }

    pub(crate) fn put(&self, key: Key, file: Arc<dyn DiskFile>) {
        let closed = self.open.lock().put(key, file);
        // Closed after the lock.
        drop(closed);
    }

    pub(crate) fn forget(&self, which: impl Fn(&Key) -> bool) {
        let mut open = self.open.lock();
        let closed: Vec<_> = open.files.extract_if(|key, _| which(key)).collect();
        drop(open);
        drop(closed);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.lock().files.len()
    }
}

impl Open {
    fn touch(&mut self, key: Key) -> Option<Arc<dyn DiskFile>> {
        self.clock += 1;
        let used = self.files.get_mut(&key)?;
        used.last = self.clock;
        Some(used.file.clone())
    }

    /// Returns the file that had to go.
    fn put(&mut self, key: Key, file: Arc<dyn DiskFile>) -> Option<Used> {
        self.clock += 1;
        let replaced = self.files.insert(key, Used { file, last: self.clock });
        if self.files.len() <= FILES_OPEN_MAX {
            return replaced;
        }
        let oldest = self.files.iter().min_by_key(|(_, used)| used.last).map(|(key, _)| *key)?;
        self.files.remove(&oldest)
    }
}

#[cfg(test)]
mod tests;
