//! Which name leads to which file: what a power cut can't take, and the changes it may.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rand::Rng;
use rand::rngs::StdRng;

use super::content::Content;

pub(super) type FileCell = Arc<Mutex<Content>>;

#[derive(Debug, Default)]
pub(super) struct Names {
    current: BTreeMap<PathBuf, FileCell>,
    durable: BTreeMap<PathBuf, FileCell>,
    pending: Vec<Pending>,
    directories: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone)]
struct Pending {
    change: Change,
    /// Directories whose sync is still needed; a rename from one to another needs both.
    unsynced: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone)]
enum Change {
    Link { path: PathBuf, file: FileCell },
    Rename { from: PathBuf, to: PathBuf, file: FileCell },
    Unlink { path: PathBuf, file: FileCell },
}

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<&FileCell> {
        self.current.get(path)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &FileCell> {
        self.current.values()
    }

    pub(super) fn has_directory(&self, path: &Path) -> bool {
        path.as_os_str().is_empty() || self.directories.contains(path)
    }

    /// Directories are durable at once, as the trait asks of `create_dir_all`.
    pub(super) fn add_directory(&mut self, path: &Path) {
        for ancestor in path.ancestors().filter(|ancestor| !ancestor.as_os_str().is_empty()) {
            self.directories.insert(ancestor.to_owned());
        }
    }

    pub(super) fn list(&self, path: &Path) -> Vec<String> {
        let names: BTreeSet<String> = self
            .current
            .keys()
            .chain(self.directories.iter())
            .filter(|entry| entry.parent() == Some(path))
            .filter_map(|entry| entry.file_name()?.to_str().map(str::to_owned))
            .collect();
        names.into_iter().collect()
    }

    pub(super) fn link(&mut self, path: &Path, file: FileCell) {
        self.change(Change::Link { path: path.to_owned(), file }, [parent(path)]);
    }

    /// A file with its name durable at once: how tests plant files.
    pub(super) fn plant(&mut self, path: &Path, file: FileCell) {
        self.add_directory(&parent(path));
        self.current.insert(path.to_owned(), file.clone());
        self.durable.insert(path.to_owned(), file);
    }

    /// False if there is no `from`.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> bool {
        let Some(file) = self.current.get(from).cloned() else { return false };
        self.change(Change::Rename { from: from.to_owned(), to: to.to_owned(), file }, [parent(from), parent(to)]);
        true
    }

    /// False if there is no such file.
    pub(super) fn unlink(&mut self, path: &Path) -> bool {
        let Some(file) = self.current.get(path).cloned() else { return false };
        self.change(Change::Unlink { path: path.to_owned(), file }, [parent(path)]);
        true
    }

    /// False if there is no such directory. Its names go for good with a sync of its parent.
    pub(super) fn remove_directory(&mut self, path: &Path) -> bool {
        if !self.directories.contains(path) {
            return false;
        }
        let below: Vec<_> = self
            .current
            .iter()
            .filter(|(name, _)| name.starts_with(path))
            .map(|(name, file)| (name.clone(), file.clone()))
            .collect();
        for (name, file) in below {
            self.change(Change::Unlink { path: name, file }, [parent(path)]);
        }
        self.directories.retain(|directory| !directory.starts_with(path));
        true
    }

    pub(super) fn settle(&mut self, directory: &Path) {
        for mut pending in std::mem::take(&mut self.pending) {
            pending.unsynced.remove(directory);
            if pending.unsynced.is_empty() {
                apply(&mut self.durable, &pending.change);
            } else {
                self.pending.push(pending);
            }
        }
    }

    /// What a power cut leaves: of the changes not settled either a beginning (a journaling file system) or any subset.
    /// A change whose file isn't where it must have been can't have happened.
    pub(super) fn survivors(&self, random: &mut StdRng) -> BTreeMap<PathBuf, FileCell> {
        let mut left = self.durable.clone();
        let in_order = random.random_bool(0.5);
        let reach = random.random_range(0..=self.pending.len());
        for (number, pending) in self.pending.iter().enumerate() {
            if if in_order { number < reach } else { random.random_bool(0.5) } {
                apply(&mut left, &pending.change);
            }
        }
        left
    }

    pub(super) fn from_survivors(files: BTreeMap<PathBuf, FileCell>, directories: BTreeSet<PathBuf>) -> Self {
        let mut names = Self { current: files.clone(), durable: files.clone(), pending: Vec::new(), directories };
        for path in files.keys() {
            names.add_directory(&parent(path));
        }
        names
    }

    pub(super) fn directories(&self) -> &BTreeSet<PathBuf> {
        &self.directories
    }

    fn change<const N: usize>(&mut self, change: Change, unsynced: [PathBuf; N]) {
        apply(&mut self.current, &change);
        self.pending.push(Pending { change, unsynced: unsynced.into() });
    }
}

fn apply(names: &mut BTreeMap<PathBuf, FileCell>, change: &Change) {
    let is = |names: &BTreeMap<PathBuf, FileCell>, path: &Path, file: &FileCell| {
        names.get(path).is_some_and(|there| Arc::ptr_eq(there, file))
    };
    match change {
        Change::Link { path, file } => {
            names.insert(path.clone(), file.clone());
        }
        Change::Rename { from, to, file } => {
            if is(names, from, file) {
                names.remove(from);
                names.insert(to.clone(), file.clone());
            }
        }
        Change::Unlink { path, file } => {
            if is(names, path, file) {
                names.remove(path);
            }
        }
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}
