//! The log as its users see it; puts the parts together.
//!
//! Locks, in the order they may be taken: writer, then index, then the syncer's or the spares' own. Callbacks run
//! without any.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use daybook_types::{Lsn, Term};
use daybook_world::{Disk, DiskError, Verb};
use parking_lot::{Mutex, RwLock};

use crate::directory::{HARD_STATE_NEW, Listing, find_segments};
use crate::error::{Failure, FailureCause, OpenError, ReadError};
use crate::format::{SEGMENT_HEADER_BYTES, Seq};
use crate::hard_state;
use crate::index::{Index, SegmentFile};
use crate::options::{Options, SyncPolicy};
use crate::read::{self, Record};
use crate::recovery::{Recovered, Resumed, resume};
use crate::spare::Spares;
use crate::sync::{Syncer, Written};
use crate::writer::{NewSegment, RecordRef, Shared, Writer, activate};

/// The write-ahead log of one shard.
///
/// Entries have consecutive LSNs; the first append to an empty log may have any. One process may have a directory open
/// at a time; that is the caller's to ensure.
#[derive(Debug)]
pub struct Wal {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    policy: SyncPolicy,
    writer: Mutex<Writer>,
    index: Arc<RwLock<Index>>,
    syncer: Arc<Syncer>,
    spares: Arc<Spares>,
    hard_state: Mutex<Option<Bytes>>,
    threads: Vec<JoinHandle<()>>,
}

impl Wal {
    /// Opens the log in `dir`, which is made if it is missing. A torn tail is cut; with damage nothing is changed.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, options: Options) -> Result<(Self, Recovered), OpenError> {
        let options = options.in_range();
        disk.create_dir_all(dir)?;
        let listing = Listing::read(&*disk, dir)?;
        let saved = hard_state::load(&*disk, dir)?;
        let segments = find_segments(&*disk, &listing.segments)?;
        let resumed = match resume(&*disk, dir, segments)? {
            Some(resumed) => resumed,
            None => Resumed::fresh(),
        };
        if listing.hard_state_new {
            disk.remove(&dir.join(HARD_STATE_NEW))?;
        }
        let spares = Arc::new(Spares::open(
            disk.clone(),
            dir,
            options.segment_bytes,
            options.spare_segments_max,
            &listing,
            resumed.next_seq,
        )?);
        Self::start(disk, dir, &options, resumed, spares, saved)
    }

    fn start(
        disk: Arc<dyn Disk>,
        dir: &Path,
        options: &Options,
        resumed: Resumed,
        spares: Arc<Spares>,
        saved: Option<Bytes>,
    ) -> Result<(Self, Recovered), OpenError> {
        let Resumed { mut index, at, next_seq, prev, marked, mut report } = resumed;
        let newest = index.segments().next_back().cloned();
        let active = match newest {
            Some(newest) => newest,
            None => {
                let first = first_segment(&*disk, dir, &spares, options.first_segment_bytes)?;
                index.add_segment(first.clone());
                report.segments = 1;
                first
            }
        };
        spares.give(index.take_free());

        let written = Written { seq: next_seq.before(), last: index.last().map(|(_, lsn)| lsn) };
        let syncer = Arc::new(Syncer::new(disk.clone(), dir.to_owned(), options.sync, written));
        let index = Arc::new(RwLock::new(index));
        let shared = Shared {
            disk: disk.clone(),
            dir: dir.to_owned(),
            segment_bytes: options.segment_bytes,
            index: index.clone(),
            syncer: syncer.clone(),
            spares: spares.clone(),
        };
        let mut wal = Self {
            disk,
            dir: dir.to_owned(),
            policy: options.sync,
            writer: Mutex::new(Writer::new(shared, active, at, next_seq, prev, marked)),
            index,
            syncer: syncer.clone(),
            spares: spares.clone(),
            hard_state: Mutex::new(saved),
            threads: Vec::with_capacity(2),
        };
        wal.spawn("wal-sync", move || syncer.run())?;
        wal.spawn("wal-prepare", move || spares.run())?;
        Ok((wal, report))
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), OpenError> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run).map_err(|source| DiskError {
            verb: Verb::Open,
            path: self.dir.clone(),
            source,
        })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Appends entries in one write each segment, on the caller's thread. `on_durable` runs once all of them are
    /// durable: on the sync thread, which it must not hold up and from which it must not append; under
    /// [`SyncPolicy::Os`] on the caller's thread, before this returns. If this returns an error, `on_durable` isn't
    /// called.
    ///
    /// # Panics
    ///
    /// If the LSNs don't continue the log, or a payload is longer than [`PAYLOAD_BYTES_MAX`](crate::PAYLOAD_BYTES_MAX).
    pub fn append(
        &self,
        records: &[RecordRef<'_>],
        on_durable: impl FnOnce(Result<(), Failure>) + Send + 'static,
    ) -> Result<(), Failure> {
        self.append_as(records, on_durable, false)
    }

    /// The same for a writer that has nothing else to do until the entries are durable: syncs on the caller's thread
    /// and calls `on_durable` there, unless a sync runs already.
    pub fn append_alone(
        &self,
        records: &[RecordRef<'_>],
        on_durable: impl FnOnce(Result<(), Failure>) + Send + 'static,
    ) -> Result<(), Failure> {
        self.append_as(records, on_durable, true)
    }

    fn append_as(
        &self,
        records: &[RecordRef<'_>],
        on_durable: impl FnOnce(Result<(), Failure>) + Send + 'static,
        alone: bool,
    ) -> Result<(), Failure> {
        self.syncer.wait_for_room();
        let mut writer = self.writer.lock();
        self.syncer.check()?;
        writer.entries(records)?;
        match self.policy {
            SyncPolicy::Always if alone => {
                drop(writer);
                self.syncer.sync_here(Box::new(on_durable))
            }
            SyncPolicy::Always => self.syncer.call_when_durable(Box::new(on_durable)),
            SyncPolicy::Os => {
                drop(writer);
                on_durable(Ok(()));
                Ok(())
            }
        }
    }

    /// Entries from `from` to `to` (exclusive), as many as there are and as fit `bytes_max` log bytes, but at least
    /// one; none if `from` is beyond the end. Reads go on after a failure.
    pub fn read(&self, from: Lsn, to: Lsn, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        read::read(&self.index, from, to, bytes_max)
    }

    /// Drops the entry at `lsn` and all after it; durable on return. What is purged stays purged.
    pub fn truncate_from(&self, lsn: Lsn) -> Result<(), Failure> {
        let mut writer = self.writer.lock();
        self.syncer.check()?;
        let (first, last, purged) = {
            let index = self.index.read();
            (index.first(), index.last(), index.purged())
        };
        let (Some(first), Some((_, last))) = (first, last) else { return Ok(()) };
        if lsn > last {
            return Ok(());
        }
        let keep = if lsn <= first { purged } else { self.log_id(Lsn(lsn.0 - 1))? };
        writer.truncate(keep)?;
        drop(writer);
        self.syncer.wait_until_durable()
    }

    /// Drops all entries up to and with `lsn`, as far as there are. They can't be read any more on return; the segments
    /// that lie wholly below are recycled or removed in the background, once it is durable.
    pub fn purge_to(&self, lsn: Lsn) -> Result<(), Failure> {
        let writer = self.writer.lock();
        self.syncer.check()?;
        let (first, last) = {
            let index = self.index.read();
            (index.first(), index.last())
        };
        match (first, last) {
            (Some(first), Some(last)) if first <= lsn => {
                let through = if last.1 <= lsn { Some(last) } else { self.log_id(lsn)? };
                through.map_or(Ok(()), |through| self.purge(writer, through))
            }
            _ => Ok(()),
        }
    }

    /// Drops all entries and goes on after the given one, which lies beyond the end: for a member that has installed a
    /// snapshot. Durable on return. If the given one lies within the log, this is `purge_to`.
    pub fn skip_to(&self, term: Term, lsn: Lsn) -> Result<(), Failure> {
        let writer = self.writer.lock();
        self.syncer.check()?;
        if self.index.read().last().is_none_or(|(_, last)| last < lsn) {
            self.purge(writer, (term, lsn))?;
            self.syncer.wait_until_durable()
        } else {
            drop(writer);
            self.purge_to(lsn)
        }
    }

    fn purge(&self, mut writer: parking_lot::MutexGuard<'_, Writer>, through: (Term, Lsn)) -> Result<(), Failure> {
        let free = writer.purge(through)?;
        let spares = self.spares.clone();
        self.syncer.call_when_durable(Box::new(move |result| {
            if result.is_ok() && !free.is_empty() {
                spares.give(free);
            }
        }))
    }

    /// An entry's term with its LSN.
    fn log_id(&self, lsn: Lsn) -> Result<Option<(Term, Lsn)>, Failure> {
        match read::term_of(&self.index, lsn) {
            Ok(term) => Ok(term.map(|term| (term, lsn))),
            Err(ReadError::Damage(damage)) => Err(damage.into()),
            Err(ReadError::Disk(error)) => Err(error.into()),
            Err(ReadError::Purged { .. }) => Ok(None),
        }
    }

    /// Returns once everything appended so far is synced, whatever the policy.
    pub fn sync(&self) -> Result<(), Failure> {
        self.syncer.check()?;
        self.syncer.wait_until_durable()
    }

    /// The first entry kept.
    pub fn first(&self) -> Option<Lsn> {
        self.index.read().first()
    }

    /// The last entry; in a log that was purged to its end, the purged one.
    pub fn last(&self) -> Option<(Term, Lsn)> {
        self.index.read().last()
    }

    /// What precedes the first entry kept; `None` if nothing was ever purged.
    pub fn purged(&self) -> Option<(Term, Lsn)> {
        self.index.read().purged()
    }

    /// Log bytes of what lies after `lsn`.
    pub fn bytes_after(&self, lsn: Lsn) -> u64 {
        self.index.read().bytes_after(lsn)
    }

    /// The last entry that an fdatasync covers; `None` if there is none.
    pub fn durable(&self) -> Option<Lsn> {
        self.syncer.durable_last()
    }

    /// What stopped the log, if something did.
    pub fn failure(&self) -> Option<Failure> {
        self.syncer.failure().cloned()
    }

    /// Replaces Raft's hard state; durable on return. A failure stops the log.
    pub fn save_hard_state(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut saved = self.hard_state.lock();
        self.syncer.check()?;
        hard_state::save(&*self.disk, &self.dir, bytes).map_err(|error| self.syncer.fail(error))?;
        *saved = Some(Bytes::copy_from_slice(bytes));
        Ok(())
    }

    pub fn hard_state(&self) -> Option<Bytes> {
        self.hard_state.lock().clone()
    }

    /// Syncs what was written, says in the log that all of it is durable, and ends the threads. Dropping does the same,
    /// silently.
    pub fn close(mut self) -> Result<(), Failure> {
        self.shut()
    }

    fn shut(&mut self) -> Result<(), Failure> {
        // The last owner may be a callback on one of our own threads, which can wait neither for itself nor for the
        // other.
        let own_thread = self.threads.iter().any(|thread| thread.thread().id() == thread::current().id());
        let result = if own_thread || self.threads.is_empty() { Ok(()) } else { self.finish_writing() };
        self.syncer.stop();
        self.spares.stop();
        for thread in self.threads.drain(..) {
            if !own_thread && thread.join().is_err() {
                tracing::error!("a thread of the log panicked");
            }
        }
        result
    }

    fn finish_writing(&self) -> Result<(), Failure> {
        self.sync()?;
        if self.writer.lock().mark()? {
            self.sync()?;
        }
        // Whatever still holds on to the parts finds the log closed.
        self.syncer.fail(FailureCause::Closed);
        Ok(())
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        if let Err(failure) = self.shut() {
            tracing::debug!(%failure, "the log was closed after a failure");
        }
    }
}

impl Resumed {
    /// A log that has no segment yet.
    fn fresh() -> Self {
        Self {
            index: Index::default(),
            at: SEGMENT_HEADER_BYTES,
            next_seq: Seq::FIRST,
            prev: 0,
            marked: false,
            report: Recovered { last: None, purged: None, entries: 0, bytes: 0, segments: 0, cut: None },
        }
    }
}

/// Durable on return.
fn first_segment(disk: &dyn Disk, dir: &Path, spares: &Spares, bytes: u64) -> Result<Arc<SegmentFile>, DiskError> {
    let spare = spares.take(bytes)?;
    let new = NewSegment { bytes, first_seq: Seq::FIRST, synced: Seq::default(), before: None, prev: 0 };
    let first = activate(disk, dir, spare, &new)?;
    disk.sync_dir(dir)?;
    Ok(first)
}
