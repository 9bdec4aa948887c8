//! The partitions of a shard.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use daybook_types::PartitionId;
use daybook_world::{Disk, DiskError};
use parking_lot::{Mutex, RwLock};

use crate::files::Shared;
use crate::handles::Handles;
use crate::name::{self, Kind};
use crate::{FileEnds, PartitionFiles, RestoreError, SegmentEnds};

/// All partitions of one shard that have, or will have, files.
#[derive(Debug)]
pub struct PartitionStore {
    shared: Arc<Shared>,
    partitions: RwLock<HashMap<PartitionId, Arc<PartitionFiles>>>,
}

impl PartitionStore {
    /// Opens the store of the shard in `root`, below which it owns `partitions/`. No partition is known yet: call
    /// [`Self::restore`] for each one that the last checkpoint names, then [`Self::sweep`].
    pub fn open(disk: Arc<dyn Disk>, root: &Path) -> Result<Self, DiskError> {
        let root = root.join("partitions");
        disk.create_dir_all(&root)?;
        let shared = Arc::new(Shared { disk, root, handles: Handles::default(), rewritten: Mutex::default() });
        Ok(Self { shared, partitions: RwLock::default() })
    }

    /// Brings the files of `id` to the `ends` that the last checkpoint notes: cuts what is longer, removes what isn't named. Fails on
    /// what is missing. The index too must be as long as noted, though reads would do without it.
    pub fn restore(&self, id: PartitionId, ends: &FileEnds) -> Result<Arc<PartitionFiles>, RestoreError> {
        let files = PartitionFiles::new(id, self.shared.clone(), ends);
        let dir = files.dir();
        let mut present = self.shared.disk.list(&dir)?;
        for segment in &ends.segments {
            for (kind, end) in [(Kind::Data, segment.data_bytes), (Kind::Index, segment.index_bytes)] {
                let name = name::file(segment.name(), kind);
                let found = present.iter().position(|present| Path::new(present) == name);
                if end == 0 {
                    continue; // left among `present`, and removed if it is there
                }
                let file = dir.join(name);
                match found {
                    None => return Err(RestoreError::Missing { file, end }),
                    Some(index) => present.swap_remove(index),
                };
                self.cut(file, end)?;
            }
        }
        for name in &present {
            tracing::info!(file = %dir.join(name).display(), "removing a file that no checkpoint names");
            self.shared.disk.remove(&dir.join(name))?;
        }
        if !present.is_empty() {
            self.shared.disk.sync_dir(&dir)?;
        }
        let files = Arc::new(files);
        self.partitions.write().insert(id, files.clone());
        Ok(files)
    }

    /// The cut itself need not be durable: it is made again after the next crash.
    fn cut(&self, path: PathBuf, end: u64) -> Result<(), RestoreError> {
        let file = self.shared.disk.open(&path)?;
        let bytes = file.len()?;
        if bytes < end {
            return Err(RestoreError::Short { file: path, bytes, end });
        }
        if bytes > end {
            tracing::info!(file = %path.display(), bytes, end, "cutting a file to its end at the last checkpoint");
            file.set_len(end)?;
        }
        Ok(())
    }

    /// The files of `id`; there are none on disk before the first append.
    pub fn get_or_create(&self, id: PartitionId) -> Arc<PartitionFiles> {
        if let Some(files) = self.get(id) {
            return files;
        }
        let new = || Arc::new(PartitionFiles::new(id, self.shared.clone(), &FileEnds::default()));
        self.partitions.write().entry(id).or_insert_with(new).clone()
    }

    pub fn get(&self, id: PartitionId) -> Option<Arc<PartitionFiles>> {
        self.partitions.read().get(&id).cloned()
    }

    /// Takes what was rewritten until now into the checkpoint that begins: its [`PartitionFiles::ends`] name it, its
    /// [`PartitionFiles::publish`] shows it. Called when the checkpoint's content is taken, so that what decided a rewrite is in
    /// that checkpoint or an earlier one. Returns the partitions, by id.
    pub fn adopt_rewritten(&self) -> Vec<Arc<PartitionFiles>> {
        let mut ids: Vec<_> = self.shared.rewritten.lock().drain().collect();
        ids.sort();
        ids.into_iter().filter_map(|id| self.get(id)).filter(|files| files.adopt_rewritten()).collect()
    }

    /// Whether something was rewritten and waits for a checkpoint to begin.
    pub fn has_rewritten(&self) -> bool {
        !self.shared.rewritten.lock().is_empty()
    }

    /// Removes the files of `id`, for a topic that was deleted. Slices that readers hold stay readable; reads that begin later get
    /// [`crate::ReadError::Removed`].
    pub fn remove(&self, id: PartitionId) -> Result<(), DiskError> {
        let Some(files) = self.partitions.write().remove(&id) else { return Ok(()) };
        files.removed.store(true, Ordering::Release);
        // Waits for an append that is under way, and takes from a later one what it would go on from.
        files.pending.lock().take();
        self.shared.handles.forget(|key| key.partition == id);
        let dir = files.dir();
        if self.shared.disk.exists(&dir)? {
            self.shared.disk.remove_dir_all(&dir)?;
            self.shared.disk.sync_dir(&self.shared.root)?;
        }
        Ok(())
    }

    /// Removes the directories of partitions that aren't known; for after all are restored. Returns how many. What doesn't look like
    /// a partition's directory is left alone.
    pub fn sweep(&self) -> Result<usize, DiskError> {
        let known = self.partitions.read();
        let mut removed = 0;
        for name in self.shared.disk.list(&self.shared.root)? {
            if name::partition(&name).is_some_and(|id| !known.contains_key(&id)) {
                let dir = self.shared.root.join(name);
                tracing::info!(directory = %dir.display(), "removing a partition that no checkpoint names");
                self.shared.disk.remove_dir_all(&dir)?;
                removed += 1;
            }
        }
        if removed > 0 {
            self.shared.disk.sync_dir(&self.shared.root)?;
        }
        Ok(removed)
    }

    /// Where the files of a segment are, for messages to people.
    pub fn paths(&self, id: PartitionId, segment: &SegmentEnds) -> [PathBuf; 2] {
        let dir = self.shared.root.join(id.to_string());
        [Kind::Data, Kind::Index].map(|kind| dir.join(name::file(segment.name(), kind)))
    }
}

#[cfg(test)]
mod tests;
