//! The thread that has the next segment file ready before it is needed, and takes back those that aren't needed any
//! more.
//!
//! A spare is a file of full length with nothing of use in it: zeros that were really written (so that an fdatasync of
//! records need not convert extents), or the remnants of a former segment. Whatever fails here poisons nothing: the log
//! has its current segment to write in, and a writer that finds no spare tries to make one itself.
//!
//! Segments that are free lose their names oldest first, each durably before the next: so a power cut never leaves a
//! hole in the log. And a file is used again only after that, so that its old name never leads to its new content.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daybook_world::{Disk, DiskError, DiskFile, Verb};
use parking_lot::{Condvar, Mutex};

use crate::directory::{Listing, spare_path};
use crate::format::{SEGMENT_HEADER_BYTES, SegmentHeader, Seq};
use crate::index::SegmentFile;

/// Zeros are written in pieces of this length…
const PIECE_BYTES: usize = 256 * 1024;
/// …and synced after so many bytes, so that the records' own syncs don't stand behind a long queue.
const PIECES_PER_SYNC: usize = 16;

#[derive(Debug)]
pub(crate) struct Spare {
    pub path: PathBuf,
    pub file: Arc<dyn DiskFile>,
}

#[derive(Debug)]
pub(crate) struct Spares {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    segment_bytes: u64,
    spares_max: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: Vec<Spare>,
    next_number: u64,
    wanted: bool,
    making: bool,
    /// Segments to take back, oldest first. If one can't be renamed, it and those after it wait until there are more.
    free: VecDeque<Arc<SegmentFile>>,
    stuck: bool,
    /// A sync of the directory failed: which of its names are durable can't be known any more, so none is taken away.
    broken: bool,
    stopping: bool,
}

impl Spares {
    /// Adopts the spares that are there, as far as they fit.
    ///
    /// One kind never does: a file that a power cut has put back from segment to spare, records and all. The log would
    /// begin the lost segment anew with the very same header, and those records would count again. It is known by a
    /// header that begins at or after `next_seq`, the number of the next record.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        segment_bytes: u64,
        spares_max: usize,
        listing: &Listing,
        next_seq: Seq,
    ) -> Result<Self, DiskError> {
        let mut ready = Vec::new();
        for path in &listing.spares {
            let file = disk.open(path)?;
            let fits = file.len()? == segment_bytes && !may_come_back(&*file, next_seq)?;
            if fits && ready.len() < spares_max {
                ready.push(Spare { path: path.clone(), file });
            } else {
                disk.remove(path)?;
            }
        }
        let state = State { ready, next_number: listing.next_spare, ..State::default() };
        Ok(Self {
            disk,
            dir: dir.to_owned(),
            segment_bytes,
            spares_max,
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    /// A file of `bytes` to write a segment in.
    pub(crate) fn take(&self, bytes: u64) -> Result<Spare, DiskError> {
        let number = {
            let mut state = self.state.lock();
            if bytes == self.segment_bytes {
                while state.ready.is_empty() && state.making {
                    self.changed.wait(&mut state);
                }
                if let Some(spare) = state.ready.pop() {
                    return Ok(spare);
                }
            }
            state.number()
        };
        self.make(number, bytes, || true).map(|spare| spare.expect("nothing stops it"))
    }

    /// Has one made in the background if there is none.
    pub(crate) fn ask(&self) {
        if self.spares_max > 0 {
            self.state.lock().wanted = true;
            self.changed.notify_all();
        }
    }

    /// Takes segments back, oldest first.
    pub(crate) fn give(&self, free: Vec<Arc<SegmentFile>>) {
        let mut state = self.state.lock();
        state.free.extend(free);
        state.stuck = state.broken;
        drop(state);
        self.changed.notify_all();
    }

    /// Lets `run` return once the segments given are taken back.
    pub(crate) fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_all();
    }

    /// The thread.
    pub(crate) fn run(&self) {
        let mut state = self.state.lock();
        loop {
            if !state.stuck
                && let Some(oldest) = state.free.front().cloned()
            {
                let keep = oldest.capacity == self.segment_bytes && state.ready.len() < self.spares_max;
                let number = keep.then(|| state.number());
                drop(state);
                let taken_back = self.take_back(&oldest, number);
                state = self.state.lock();
                match taken_back {
                    Ok(spare) => {
                        state.free.pop_front();
                        state.ready.extend(spare);
                    }
                    Err(error) => {
                        state.stuck = true;
                        state.broken = error.verb == Verb::Sync;
                        tracing::warn!(%error, "can't take back a segment that isn't needed any more; it stays for now");
                    }
                }
                self.changed.notify_all();
            } else if state.stopping {
                return;
            } else if std::mem::take(&mut state.wanted) && state.ready.is_empty() {
                state.making = true;
                let number = state.number();
                drop(state);
                let made = self.make_if_room(number);
                state = self.state.lock();
                state.making = false;
                match made {
                    Ok(spare) => state.ready.extend(spare),
                    Err(error) => {
                        tracing::warn!(%error, disk_full = error.is_full(), "can't prepare the next segment of the log");
                    }
                }
                self.changed.notify_all();
            } else {
                self.changed.wait(&mut state);
            }
        }
    }

    fn make_if_room(&self, number: u64) -> Result<Option<Spare>, DiskError> {
        let free_bytes = self.disk.bytes_free()?;
        if free_bytes < self.segment_bytes {
            tracing::warn!(
                free_bytes,
                needed_bytes = self.segment_bytes,
                "no room to prepare the next segment of the log"
            );
            return Ok(None);
        }
        self.make(number, self.segment_bytes, || !self.state.lock().stopping)
    }

    /// Writes zeros. None if it was stopped; then, and if it failed, nothing is left behind.
    fn make(&self, number: u64, bytes: u64, go_on: impl Fn() -> bool) -> Result<Option<Spare>, DiskError> {
        let path = spare_path(&self.dir, number);
        let file = self.disk.create(&path)?;
        match write_zeros(&*file, bytes, go_on) {
            Ok(true) => Ok(Some(Spare { path, file })),
            stopped => {
                if let Err(error) = self.disk.remove(&path) {
                    tracing::warn!(%error, "an unfinished segment stays until the next start");
                }
                stopped.map(|_| None)
            }
        }
    }

    fn take_back(&self, segment: &SegmentFile, number: Option<u64>) -> Result<Option<Spare>, DiskError> {
        let path = number.map(|number| spare_path(&self.dir, number));
        let gone = match &path {
            Some(path) => self.disk.rename(&segment.path, path),
            None => self.disk.remove(&segment.path),
        };
        match gone {
            // An earlier try got this far.
            Err(error) if error.is_missing() => return self.disk.sync_dir(&self.dir).map(|()| None),
            gone => gone?,
        }
        self.disk.sync_dir(&self.dir)?;
        // Opened anew, so that errors name the file as it is called now.
        path.map(|path| Ok(Spare { file: self.disk.open(&path)?, path })).transpose()
    }
}

/// Whether the file was a segment that the log may begin again.
fn may_come_back(file: &dyn DiskFile, next_seq: Seq) -> Result<bool, DiskError> {
    let mut bytes = [0; SEGMENT_HEADER_BYTES as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(SegmentHeader::decode(&bytes).is_ok_and(|(header, _)| header.first_seq >= next_seq))
}

impl State {
    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }
}

/// False if it was stopped.
fn write_zeros(file: &dyn DiskFile, bytes: u64, go_on: impl Fn() -> bool) -> Result<bool, DiskError> {
    let zeros = vec![0; PIECE_BYTES.min(usize::try_from(bytes).unwrap_or(usize::MAX))];
    let mut at = 0;
    let mut pieces = 0;
    while at < bytes {
        if !go_on() {
            return Ok(false);
        }
        let count = zeros.len().min(usize::try_from(bytes - at).unwrap_or(usize::MAX));
        file.write_all_at(&[IoSlice::new(&zeros[..count])], at)?;
        at += count as u64;
        pieces += 1;
        if pieces % PIECES_PER_SYNC == 0 {
            file.sync_data()?;
        }
    }
    file.sync_data()?;
    Ok(true)
}
