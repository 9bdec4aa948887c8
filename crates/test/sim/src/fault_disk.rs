//! A disk in memory that loses what wasn't fsynced. **A test instrument**: it is slow, and it breaks on purpose.
//!
//! While it runs it behaves as a file system does. [`FaultDisk::power_cut`] then makes the disk that a machine might
//! find after the power came back:
//!
//! - Of bytes written and not yet covered by `sync_data` of their file, each write is kept, dropped or torn: of each
//!   sector of [`SECTOR_BYTES`] the old or the new bytes survive, whatever happened to other sectors and other files.
//! - A length (`set_len`, or a write past the end) is kept or dropped likewise; it may be kept without the bytes, which
//!   are zeros then.
//! - A name (create, rename, remove) not yet covered by `sync_dir` of its directory has changed or hasn't, in any
//!   order; each rename happens whole or not at all. Syncing a new file doesn't make its name durable.
//! - The old disk and every handle from it are dead: they answer every call with an error. So a program that is still
//!   running can't touch what the next one finds.
//!
//! Everything follows from the seed given, so a failure can be repeated.
//!
//! Failures come on demand: [`FaultDisk::fail_after`] lets one write, sync or name change fail;
//! [`FaultDisk::set_capacity`] makes a disk that fills up; [`FaultDisk::flip_bit`] damages what is stored. After a
//! failed `sync_data` the bytes count as clean, as on Linux: some of them are on the disk, the others never will be,
//! however often the program syncs again.

mod content;
mod names;

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daybook_world::{Disk, DiskError, DiskFile, Verb};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rand::SeedableRng;
use rand::rngs::StdRng;

use content::Content;
pub use content::SECTOR_BYTES;
use names::{FileCell, Names};

/// The disk; clones are the same disk.
#[derive(Debug, Clone)]
pub struct FaultDisk {
    machine: Arc<Machine>,
}

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPoint {
    /// `write_all_at`; about half of the bytes are written.
    Write,
    /// `sync_data` and `sync_dir`.
    Sync,
    /// `create`, `rename`, `remove`; nothing has changed.
    Name,
}

#[derive(Debug)]
struct Machine {
    state: Mutex<State>,
    /// Something about paused syncs has changed.
    paused: Condvar,
}

#[derive(Debug)]
struct State {
    names: Names,
    alive: bool,
    capacity_bytes: Option<u64>,
    random: StdRng,
    planned: Vec<Planned>,
    writes: u64,
    syncs: u64,
    syncs_paused: bool,
    syncs_waiting: usize,
}

#[derive(Debug)]
struct Planned {
    point: FaultPoint,
    left: u64,
    kind: io::ErrorKind,
}

#[derive(Debug)]
struct FaultFile {
    machine: Arc<Machine>,
    cell: FileCell,
    path: PathBuf,
}

impl Default for FaultDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl FaultDisk {
    /// An empty disk without a limit.
    pub fn new() -> Self {
        Self::with(Names::default(), None, 0)
    }

    fn with(names: Names, capacity_bytes: Option<u64>, seed: u64) -> Self {
        let state = State {
            names,
            alive: true,
            capacity_bytes,
            random: StdRng::seed_from_u64(seed),
            planned: Vec::new(),
            writes: 0,
            syncs: 0,
            syncs_paused: false,
            syncs_waiting: 0,
        };
        Self { machine: Arc::new(Machine { state: Mutex::new(state), paused: Condvar::new() }) }
    }

    /// Cuts the power. Returns the disk as the next start finds it; this one is dead from here on.
    #[must_use]
    pub fn power_cut(&self, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut state = self.machine.state.lock();
        state.alive = false;
        let files = state
            .names
            .survivors(&mut random)
            .into_iter()
            .map(|(path, cell)| {
                let left = cell.lock().survivors(&mut random);
                (path, Arc::new(Mutex::new(Content::durable(left))))
            })
            .collect();
        let names = Names::from_survivors(files, state.names.directories().clone());
        let next = Self::with(names, state.capacity_bytes, seed);
        drop(state);
        self.machine.paused.notify_all();
        next
    }

    /// After `successes` more that work, the next operation of this sort fails once with `kind`.
    pub fn fail_after(&self, point: FaultPoint, successes: u64, kind: io::ErrorKind) {
        self.machine.state.lock().planned.push(Planned { point, left: successes, kind });
    }

    /// Limits the sum of all files' lengths; a write that needs more fails with `StorageFull` after writing what fits.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.machine.state.lock().capacity_bytes = bytes;
    }

    /// Flips one stored bit, under the program's feet. False if the file has no such byte.
    pub fn flip_bit(&self, path: &Path, byte: u64, bit: u8) -> bool {
        let state = self.machine.state.lock();
        state.names.get(path).is_some_and(|cell| cell.lock().flip_bit(byte, bit))
    }

    /// Puts a file there, durable at once with its name and directories.
    pub fn plant(&self, path: &Path, bytes: Vec<u8>) {
        self.machine.state.lock().names.plant(path, Arc::new(Mutex::new(Content::durable(bytes))));
    }

    /// The bytes of a file as a program reads them.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        Some(self.machine.state.lock().names.get(path)?.lock().current().to_vec())
    }

    /// The bytes of a file that no power cut can take.
    pub fn durable_contents(&self, path: &Path) -> Option<Vec<u8>> {
        Some(self.machine.state.lock().names.get(path)?.lock().durable_bytes().to_vec())
    }

    /// How often `write_all_at` was called.
    pub fn writes(&self) -> u64 {
        self.machine.state.lock().writes
    }

    /// How often `sync_data` and `sync_dir` were called.
    pub fn syncs(&self) -> u64 {
        self.machine.state.lock().syncs
    }

    /// Lets every `sync_data` from now on wait until [`FaultDisk::resume_syncs`].
    pub fn pause_syncs(&self) {
        self.machine.state.lock().syncs_paused = true;
    }

    pub fn resume_syncs(&self) {
        self.machine.state.lock().syncs_paused = false;
        self.machine.paused.notify_all();
    }

    /// Returns once a `sync_data` waits because of [`FaultDisk::pause_syncs`].
    pub fn wait_for_paused_sync(&self) {
        let mut state = self.machine.state.lock();
        while state.syncs_waiting == 0 {
            self.machine.paused.wait(&mut state);
        }
    }

    fn alive(&self, verb: Verb, path: &Path) -> Result<MutexGuard<'_, State>, DiskError> {
        self.machine.alive(verb, path)
    }

    fn file(&self, path: &Path, cell: FileCell) -> Arc<dyn DiskFile> {
        Arc::new(FaultFile { machine: self.machine.clone(), cell, path: path.to_owned() })
    }
}

impl Machine {
    fn alive(&self, verb: Verb, path: &Path) -> Result<MutexGuard<'_, State>, DiskError> {
        let state = self.state.lock();
        if state.alive { Ok(state) } else { Err(fail(verb, path, io::Error::other("the power was cut"))) }
    }
}

impl State {
    /// The failure planned for this operation, if its turn has come.
    fn planned(&mut self, point: FaultPoint) -> Option<io::ErrorKind> {
        let mut due = None;
        self.planned.retain_mut(|planned| {
            if planned.point != point {
                return true;
            }
            if planned.left == 0 && due.is_none() {
                due = Some(planned.kind);
                return false;
            }
            planned.left = planned.left.saturating_sub(1);
            true
        });
        due
    }

    fn name_change(&mut self, verb: Verb, path: &Path) -> Result<(), DiskError> {
        self.planned(FaultPoint::Name).map_or(Ok(()), |kind| Err(fail(verb, path, kind.into())))
    }

    fn bytes_free(&self) -> u64 {
        let used: u64 = self.names.files().map(|cell| cell.lock().current().len() as u64).sum();
        self.capacity_bytes.unwrap_or(u64::MAX).saturating_sub(used)
    }
}

fn fail(verb: Verb, path: &Path, source: io::Error) -> DiskError {
    DiskError { verb, path: path.to_owned(), source }
}

fn missing(verb: Verb, path: &Path) -> DiskError {
    fail(verb, path, io::ErrorKind::NotFound.into())
}

impl Disk for FaultDisk {
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.alive(Verb::CreateDir, path)?.names.add_directory(path);
        Ok(())
    }

    fn list(&self, path: &Path) -> Result<Vec<String>, DiskError> {
        Ok(self.alive(Verb::List, path)?.names.list(path))
    }

    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, DiskError> {
        let mut state = self.alive(Verb::Create, path)?;
        state.name_change(Verb::Create, path)?;
        if !state.names.has_directory(path.parent().unwrap_or(Path::new(""))) {
            return Err(missing(Verb::Create, path));
        }
        let cell = match state.names.get(path) {
            Some(there) => {
                there.lock().resize(0);
                there.clone()
            }
            None => {
                let made = FileCell::default();
                state.names.link(path, made.clone());
                made
            }
        };
        Ok(self.file(path, cell))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, DiskError> {
        let state = self.alive(Verb::Open, path)?;
        let cell = state.names.get(path).cloned().ok_or_else(|| missing(Verb::Open, path))?;
        Ok(self.file(path, cell))
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        let state = self.alive(Verb::Inspect, path)?;
        Ok(state.names.get(path).is_some() || state.names.has_directory(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let mut state = self.alive(Verb::Rename, from)?;
        state.name_change(Verb::Rename, from)?;
        if state.names.rename(from, to) { Ok(()) } else { Err(missing(Verb::Rename, from)) }
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        let mut state = self.alive(Verb::Remove, path)?;
        state.name_change(Verb::Remove, path)?;
        if state.names.unlink(path) { Ok(()) } else { Err(missing(Verb::Remove, path)) }
    }

    fn remove_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        let mut state = self.alive(Verb::Remove, path)?;
        state.name_change(Verb::Remove, path)?;
        if state.names.remove_directory(path) { Ok(()) } else { Err(missing(Verb::Remove, path)) }
    }

    fn sync_dir(&self, path: &Path) -> Result<(), DiskError> {
        let mut state = self.alive(Verb::Sync, path)?;
        state.syncs += 1;
        if let Some(kind) = state.planned(FaultPoint::Sync) {
            return Err(fail(Verb::Sync, path, kind.into()));
        }
        if !state.names.has_directory(path) {
            return Err(missing(Verb::Sync, path));
        }
        state.names.settle(path);
        Ok(())
    }

    fn bytes_free(&self) -> Result<u64, DiskError> {
        Ok(self.alive(Verb::Inspect, Path::new(""))?.bytes_free())
    }
}

impl DiskFile for FaultFile {
    fn write_all_at(&self, parts: &[IoSlice<'_>], at: u64) -> Result<(), DiskError> {
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let mut state = self.machine.alive(Verb::Write, &self.path)?;
        state.writes += 1;
        let mut failed = state.planned(FaultPoint::Write);
        if failed.is_some() {
            bytes.truncate(bytes.len() / 2);
        }
        let length = self.cell.lock().current().len() as u64;
        let room = length.saturating_add(state.bytes_free()).saturating_sub(at);
        if bytes.len() as u64 > room {
            bytes.truncate(room as usize);
            failed = failed.or(Some(io::ErrorKind::StorageFull));
        }
        self.cell.lock().write(at, bytes);
        failed.map_or(Ok(()), |kind| Err(fail(Verb::Write, &self.path, kind.into())))
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize, DiskError> {
        let _alive = self.machine.alive(Verb::Read, &self.path)?;
        let content = self.cell.lock();
        let rest = usize::try_from(at).ok().and_then(|at| content.current().get(at..)).unwrap_or(&[]);
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn sync_data(&self) -> Result<(), DiskError> {
        let mut state = self.machine.alive(Verb::Sync, &self.path)?;
        state.syncs += 1;
        state.syncs_waiting += 1;
        while state.syncs_paused && state.alive {
            self.machine.paused.notify_all();
            self.machine.paused.wait(&mut state);
        }
        state.syncs_waiting -= 1;
        drop(state);
        let mut state = self.machine.alive(Verb::Sync, &self.path)?;
        match state.planned(FaultPoint::Sync) {
            Some(kind) => {
                self.cell.lock().fail_to_settle(&mut state.random);
                Err(fail(Verb::Sync, &self.path, kind.into()))
            }
            None => {
                self.cell.lock().settle();
                Ok(())
            }
        }
    }

    fn len(&self) -> Result<u64, DiskError> {
        let _alive = self.machine.alive(Verb::Inspect, &self.path)?;
        Ok(self.cell.lock().current().len() as u64)
    }

    fn set_len(&self, bytes: u64) -> Result<(), DiskError> {
        let state = self.machine.alive(Verb::Resize, &self.path)?;
        let length = self.cell.lock().current().len() as u64;
        if bytes.saturating_sub(length) > state.bytes_free() {
            return Err(fail(Verb::Resize, &self.path, io::ErrorKind::StorageFull.into()));
        }
        self.cell.lock().resize(bytes);
        Ok(())
    }

    /// None: there is no kernel behind this file.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
