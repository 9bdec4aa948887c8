//! The thread that makes what was written durable and tells those who wait.
//!
//! While one fdatasync runs, writers write on; the next one then covers all of that. A sync that failed is never
//! repeated: the kernel may have thrown the dirty pages away, so the next would claim a success that isn't one. Any
//! failure poisons the log for good.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use daybook_types::Lsn;
use daybook_world::{Disk, DiskError};
use parking_lot::{Condvar, Mutex};

use crate::error::{Failure, FailureCause};
use crate::format::Seq;
use crate::index::SegmentFile;
use crate::options::{OS_SYNC_BYTES, SyncPolicy, UNSYNCED_BYTES_MAX, WAITING_APPENDS_MAX};

pub(crate) type OnDurable = Box<dyn FnOnce(Result<(), Failure>) + Send>;

#[derive(Debug)]
pub(crate) struct Syncer {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    policy: SyncPolicy,
    state: Mutex<State>,
    /// There may be something to do.
    work: Condvar,
    /// A sync is done, or there won't be one.
    room: Condvar,
    durable_seq: AtomicU64,
    failed: OnceLock<Failure>,
}

#[derive(Default)]
struct State {
    waiting: Vec<OnDurable>,
    /// Segments with unsynced bytes, oldest first.
    files: Vec<Arc<SegmentFile>>,
    /// A segment has got its name.
    names_changed: bool,
    /// Someone needs a sync whatever the policy.
    asked: bool,
    /// A sync is running or those who waited for it are being told; the next begins after that.
    syncing: bool,
    unsynced_bytes: u64,
    written: Written,
    durable_last: Option<Lsn>,
    /// Truncations so far: a sync that began before one says nothing about the LSNs after it.
    truncations: u64,
    stopping: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("waiting", &self.waiting.len())
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

/// How far writing has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub seq: Seq,
    pub last: Option<Lsn>,
}

/// What one sync covers. Lives as long as the thread, so that its buffers are made once.
#[derive(Default)]
struct Batch {
    waiting: Vec<OnDurable>,
    files: Vec<Arc<SegmentFile>>,
    names_changed: bool,
    bytes: u64,
    written: Written,
    truncations: u64,
}

impl Syncer {
    /// All that was `written` so far is durable.
    pub(crate) fn new(disk: Arc<dyn Disk>, dir: PathBuf, policy: SyncPolicy, written: Written) -> Self {
        let state = State { written, durable_last: written.last, ..State::default() };
        Self {
            disk,
            dir,
            policy,
            state: Mutex::new(state),
            work: Condvar::new(),
            room: Condvar::new(),
            durable_seq: AtomicU64::new(written.seq.0),
            failed: OnceLock::new(),
        }
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failed.get()
    }

    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.failed.get().map_or(Ok(()), |failure| Err(failure.clone()))
    }

    pub(crate) fn durable_seq(&self) -> Seq {
        Seq(self.durable_seq.load(Ordering::Acquire))
    }

    pub(crate) fn durable_last(&self) -> Option<Lsn> {
        self.state.lock().durable_last
    }

    /// Poisons the log, unless it is already; returns what poisoned it.
    pub(crate) fn fail(&self, cause: impl Into<FailureCause>) -> Failure {
        let state = self.state.lock();
        let failure = self.failed.get_or_init(|| {
            let failure = Failure::from(cause.into());
            if !matches!(failure.cause(), FailureCause::Closed) {
                tracing::error!(dir = %self.dir.display(), disk_full = failure.is_disk_full(), "{failure}; reads go on");
            }
            failure
        });
        let failure = failure.clone();
        drop(state);
        self.work.notify_one();
        self.room.notify_all();
        failure
    }

    /// Waits while too much is unsynced.
    pub(crate) fn wait_for_room(&self) {
        let mut state = self.state.lock();
        while self.failed.get().is_none()
            && (state.unsynced_bytes > UNSYNCED_BYTES_MAX || state.waiting.len() >= WAITING_APPENDS_MAX)
        {
            state.asked = true;
            self.work.notify_one();
            self.room.wait(&mut state);
        }
    }

    /// Bytes up to `written` are in `file`. Called in the order of writing.
    pub(crate) fn note_written(&self, file: &Arc<SegmentFile>, bytes: u64, written: Written) {
        let mut state = self.state.lock();
        if !state.files.last().is_some_and(|last| Arc::ptr_eq(last, file)) {
            state.files.push(file.clone());
        }
        state.unsynced_bytes += bytes;
        state.written = written;
        let due = self.is_due(&state);
        drop(state);
        if due {
            self.work.notify_one();
        }
    }

    /// The log ends with `last` now.
    pub(crate) fn note_truncated(&self, last: Option<Lsn>) {
        let mut state = self.state.lock();
        state.truncations += 1;
        state.durable_last = state.durable_last.min(last);
    }

    /// A new segment has its name; no record in it is durable before the directory is.
    pub(crate) fn note_name(&self) {
        self.state.lock().names_changed = true;
    }

    /// Has `on_durable` called once all written so far is durable.
    pub(crate) fn call_when_durable(&self, on_durable: OnDurable) -> Result<(), Failure> {
        let mut state = self.state.lock();
        self.check()?;
        state.waiting.push(on_durable);
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Makes all written so far durable on the caller's thread, if no sync runs and nobody waits for one; else has
    /// `on_durable` called as `call_when_durable` does. For a writer that is alone, two threads that wake each other
    /// cost as much as a fast disk.
    pub(crate) fn sync_here(&self, on_durable: OnDurable) -> Result<(), Failure> {
        let mut state = self.state.lock();
        self.check()?;
        if state.syncing || !state.waiting.is_empty() {
            state.waiting.push(on_durable);
            drop(state);
            self.work.notify_one();
            return Ok(());
        }
        let mut batch = Batch { waiting: vec![on_durable], ..Batch::default() };
        batch.take(&mut state);
        drop(state);
        self.sync(&mut batch);
        if self.is_work_left() {
            self.work.notify_one();
        }
        Ok(())
    }

    /// Returns once all written so far is durable.
    pub(crate) fn wait_until_durable(&self) -> Result<(), Failure> {
        let (done, result) = std::sync::mpsc::sync_channel(1);
        self.call_when_durable(Box::new(move |result| drop(done.send(result))))?;
        result.recv().unwrap_or_else(|_| Err(self.fail(FailureCause::Closed)))
    }

    /// Lets `run` return once nothing waits.
    pub(crate) fn stop(&self) {
        self.state.lock().stopping = true;
        self.work.notify_one();
    }

    /// The thread.
    pub(crate) fn run(&self) {
        let mut batch = Batch::default();
        let mut state = self.state.lock();
        loop {
            if let Some(failure) = self.failed.get() {
                if !state.waiting.is_empty() {
                    std::mem::swap(&mut batch.waiting, &mut state.waiting);
                    drop(state);
                    tell(&mut batch.waiting, &Err(failure.clone()));
                    state = self.state.lock();
                    continue;
                }
            } else if self.is_due(&state) {
                batch.take(&mut state);
                drop(state);
                self.sync(&mut batch);
                state = self.state.lock();
                continue;
            }
            if state.stopping && !state.syncing {
                return;
            }
            self.work.wait(&mut state);
        }
    }

    fn sync(&self, batch: &mut Batch) {
        let result = match batch.sync(&*self.disk, &self.dir) {
            Ok(()) => {
                self.note_durable(batch);
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        };
        tell(&mut batch.waiting, &result);
        // Only now, so that nobody hears of a later sync before those who waited for this one.
        self.state.lock().syncing = false;
    }

    fn is_work_left(&self) -> bool {
        let state = self.state.lock();
        self.is_due(&state) || state.stopping
    }

    fn is_due(&self, state: &State) -> bool {
        if state.syncing {
            return false;
        }
        let due_by_policy = match self.policy {
            SyncPolicy::Always => false,
            SyncPolicy::Os => state.names_changed || state.unsynced_bytes >= OS_SYNC_BYTES,
        };
        due_by_policy || state.asked || !state.waiting.is_empty()
    }

    fn note_durable(&self, batch: &Batch) {
        self.durable_seq.store(batch.written.seq.0, Ordering::Release);
        let mut state = self.state.lock();
        if state.truncations == batch.truncations {
            state.durable_last = batch.written.last;
        }
        state.unsynced_bytes -= batch.bytes;
        drop(state);
        self.room.notify_all();
    }
}

impl Batch {
    fn take(&mut self, state: &mut State) {
        self.waiting.append(&mut state.waiting);
        std::mem::swap(&mut self.files, &mut state.files);
        state.syncing = true;
        self.names_changed = std::mem::take(&mut state.names_changed);
        state.asked = false;
        self.bytes = state.unsynced_bytes;
        self.written = state.written;
        self.truncations = state.truncations;
    }

    fn sync(&mut self, disk: &dyn Disk, dir: &std::path::Path) -> Result<(), DiskError> {
        for segment in self.files.drain(..) {
            segment.file.sync_data()?;
        }
        if self.names_changed {
            disk.sync_dir(dir)?;
        }
        Ok(())
    }
}

fn tell(waiting: &mut Vec<OnDurable>, result: &Result<(), Failure>) {
    for on_durable in waiting.drain(..) {
        // The others must hear of it even if one listener is broken.
        if catch_unwind(AssertUnwindSafe(|| on_durable(result.clone()))).is_err() {
            tracing::error!("a listener to the log's syncs panicked");
        }
    }
}
