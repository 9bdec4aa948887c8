//! What was rewritten waits for a checkpoint, which puts it in the place of what it replaces. Until then both take space.

use std::sync::Arc;
use std::time::{Duration, Instant};

use daybook_command::{Door, ProposeError};
use daybook_segment::PartitionFiles;
use thiserror::Error;
use tokio::runtime::Handle;

use crate::pace::{Stop, Stopped};

/// Rewritten and not yet in the place of what it replaces: then the work should wait for a checkpoint.
const WAITING_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How often it is looked whether a checkpoint has come, how often one is asked for, and how long it is waited for.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
const ASK_INTERVAL: Duration = Duration::from_secs(2);
pub const CHECKPOINT_WAIT_MAX: Duration = Duration::from_secs(600);

/// Why what was rewritten has not taken its place. The next checkpoint puts it there.
#[derive(Debug, Error)]
pub enum TakeoverError {
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    Propose(#[from] ProposeError),
    #[error(
        "no checkpoint came within {} seconds to take in what was rewritten; the next one does",
        CHECKPOINT_WAIT_MAX.as_secs()
    )]
    NoCheckpoint,
}

/// The partitions in which something waits.
#[derive(Debug)]
pub struct Takeover {
    door: Door,
    runtime: Handle,
    stop: Stop,
    waiting: Vec<Arc<PartitionFiles>>,
    bytes: u64,
}

impl Takeover {
    pub fn new(door: Door, runtime: Handle, stop: Stop) -> Self {
        Self { door, runtime, stop, waiting: Vec::new(), bytes: 0 }
    }

    /// Something of `files` waits that replaces so many bytes.
    pub fn add(&mut self, files: &Arc<PartitionFiles>, bytes: u64) {
        if !self.waiting.iter().any(|other| other.id() == files.id()) {
            self.waiting.push(Arc::clone(files));
        }
        self.bytes += bytes;
    }

    /// Waits if so much was rewritten that it should take its place first.
    pub fn wait_if_much(&mut self) -> Result<(), TakeoverError> {
        if self.bytes >= WAITING_BYTES_MAX { self.wait() } else { Ok(()) }
    }

    /// Waits until a checkpoint has put all that was rewritten in the place of what it replaces. Not to be called on a runtime's thread.
    pub fn wait(&mut self) -> Result<(), TakeoverError> {
        let began = Instant::now();
        while self.is_waiting() {
            if began.elapsed() > CHECKPOINT_WAIT_MAX {
                return Err(TakeoverError::NoCheckpoint);
            }
            // An entry without commands: a checkpoint only comes if the log has grown since the last one. Again and again, since it
            // also tells when the shard has ended.
            let door = self.door.clone();
            self.runtime.block_on(async move { door.propose(Vec::new()).await?.await })?;
            let asked = Instant::now();
            while asked.elapsed() < ASK_INTERVAL && self.is_waiting() {
                self.stop.sleep(LOOK_INTERVAL)?;
            }
        }
        self.waiting.clear();
        self.bytes = 0;
        Ok(())
    }

    fn is_waiting(&self) -> bool {
        self.waiting.iter().any(|files| files.has_unpublished_rewrites())
    }
}
