//! The thread that retains and compacts, and what it works with.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use daybook_command::{Command, Door, Outcome};
use daybook_read::Reader;
use daybook_rewrite::Stop;
use daybook_types::PartitionId;
use daybook_world::Clock;
use thiserror::Error;
use tokio::runtime::Handle;

use crate::error::Broken;

/// When to look, and how much to take.
#[derive(Clone, Debug)]
pub struct Options {
    /// Between two looks at what is too old or too much, and before the first. Kafka's `log.retention.check.interval.ms`.
    pub retention_interval: Duration,
    /// Between two looks at what is worth compacting, if nothing was. Kafka's `log.cleaner.backoff.ms`.
    pub compaction_interval: Duration,
    /// Read and written by compaction. Kafka's `log.cleaner.io.max.bytes.per.second`.
    pub bytes_per_second_max: u64,
    /// Memory for the keys of one compaction. Kafka's `log.cleaner.dedupe.buffer.size`.
    pub key_map_bytes_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            retention_interval: Duration::from_secs(300),
            compaction_interval: Duration::from_secs(15),
            bytes_per_second_max: 64 * 1024 * 1024,
            key_map_bytes_max: 128 * 1024 * 1024,
        }
    }
}

#[derive(Debug, Error)]
#[error("can't start a thread for retention and compaction: {0}; try again")]
pub struct StartError(#[source] io::Error);

/// Retention and compaction at work. Dropping it ends them soon; `stop` waits for it.
#[derive(Debug)]
pub struct Cleaner {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// Does a piece of work at a time, on the caller's thread, which must not be a runtime's.
#[derive(Debug)]
pub struct Worker {
    pub(crate) door: Door,
    pub(crate) reader: Reader,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: Options,
    pub(crate) runtime: Handle,
    pub(crate) stop: Stop,
    /// Partitions that could not be compacted, and when.
    pub(crate) failed: HashMap<PartitionId, Instant>,
}

impl Cleaner {
    /// Starts the thread.
    ///
    /// # Panics
    /// Outside a runtime of tokio.
    pub fn start(door: Door, reader: Reader, clock: Arc<dyn Clock>, options: Options) -> Result<Self, StartError> {
        let worker = Worker::new(door, reader, clock, options);
        let stop = worker.stop.clone();
        let thread =
            std::thread::Builder::new().name("cleaner".to_owned()).spawn(move || worker.run()).map_err(StartError)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Ends the work where it is, which loses nothing, and waits until the thread is gone.
    pub async fn stop(mut self) {
        self.stop.tell();
        let Some(thread) = self.thread.take() else { return };
        // A thread can't be awaited; joining it blocks.
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the thread of retention and compaction panicked");
        }
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        self.stop.tell();
    }
}

impl Worker {
    /// # Panics
    /// Outside a runtime of tokio.
    pub fn new(door: Door, reader: Reader, clock: Arc<dyn Clock>, options: Options) -> Self {
        let (stop, failed) = (Stop::default(), HashMap::new());
        Self { door, reader, clock, options, runtime: Handle::current(), stop, failed }
    }

    /// The word that ends it.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    fn run(mut self) {
        let ended = self.serve();
        match ended {
            Err(error) if error.is_end() => {}
            Err(error) => tracing::error!(%error, "retention and compaction have ended; restart the node to go on"),
            Ok(()) => {}
        }
    }

    fn serve(&mut self) -> Result<(), Broken> {
        let mut retain_at = Instant::now() + self.options.retention_interval;
        loop {
            if Instant::now() >= retain_at {
                self.retain()?;
                retain_at = Instant::now() + self.options.retention_interval;
            }
            if self.compact()?.is_none() {
                let until_retention = retain_at.saturating_duration_since(Instant::now());
                self.stop.sleep(self.options.compaction_interval.min(until_retention))?;
            }
            self.stop.look()?;
        }
    }

    /// Waits until `commands` are applied. One outcome each.
    pub(crate) fn propose(&self, commands: Vec<Command>) -> Result<Vec<Outcome>, Broken> {
        let door = self.door.clone();
        let applied = self.runtime.block_on(async move { door.propose(commands).await?.await })?;
        Ok(applied.outcomes)
    }
}
