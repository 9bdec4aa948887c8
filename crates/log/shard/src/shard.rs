//! A running shard and its thread.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use daybook_command::{Door, Inbox};
use daybook_consensus::{Consensus, StartError};
use daybook_types::{Lsn, NodeId, ShardId, Term};
use daybook_world::Clock;
use thiserror::Error;
use tokio::sync::{oneshot, watch};

use crate::checkpoint::Poster;
use crate::posting::Posting;
use crate::proposer::{Proposer, Stop};
use crate::status::{ShardStatus, StatusWatch};
use crate::storage::Storage;

#[derive(Clone, Debug)]
pub struct ShardOptions {
    pub node: NodeId,
    pub shard: ShardId,
    /// Bytes of commands between acceptance and answer.
    pub in_flight_bytes_max: usize,
    /// Bytes of WAL that ask for a checkpoint. Recovery replays about this much.
    pub checkpoint_wal_bytes: u64,
    /// Age at which a checkpoint is due even if the WAL is short.
    pub checkpoint_interval: Duration,
}

/// A shard at work. Dropping it without `stop` leaves the last writes to recovery, which loses nothing.
#[derive(Debug)]
pub struct Shard {
    door: Door,
    status: StatusWatch,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Error)]
pub enum StartShardError {
    #[error("can't start the shard's thread: {0}")]
    Thread(#[source] io::Error),
    #[error(transparent)]
    Consensus(#[from] StartError),
    #[error("the shard's thread ended while starting")]
    Gone,
}

impl Shard {
    /// Starts the shard over its files and waits until its whole log is applied.
    pub async fn start(
        storage: Storage,
        posting: impl Posting,
        clock: Arc<dyn Clock>,
        options: ShardOptions,
    ) -> Result<Self, StartShardError> {
        let (door, inbox) = Door::new(options.in_flight_bytes_max);
        let (status_sender, status) =
            watch::channel(ShardStatus { serving: false, failure: None, term: Term(0), checkpoint: Lsn(0) });
        let (stop_sender, stop) = watch::channel(false);
        let (ready_sender, ready) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name(format!("shard-{}", options.shard))
            .spawn(move || {
                let runtime = match tokio::runtime::Builder::new_current_thread().enable_time().build() {
                    Ok(runtime) => runtime,
                    Err(error) => {
                        let _ = ready_sender.send(Err(StartShardError::Thread(error)));
                        return;
                    }
                };
                runtime.block_on(async move {
                    match begin(storage, posting, clock, options, inbox, status_sender, stop).await {
                        Ok(proposer) => {
                            let _ = ready_sender.send(Ok(()));
                            proposer.run().await;
                        }
                        Err(error) => {
                            let _ = ready_sender.send(Err(error));
                        }
                    }
                });
            })
            .map_err(StartShardError::Thread)?;
        ready.await.map_err(|_| StartShardError::Gone)??;
        Ok(Self { door, status, stop: stop_sender, thread: Some(thread) })
    }

    pub fn door(&self) -> Door {
        self.door.clone()
    }

    pub fn status(&self) -> StatusWatch {
        self.status.clone()
    }

    /// Serves what was accepted, writes a last checkpoint, and ends the thread.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let Some(thread) = self.thread.take() else { return };
        // A thread can't be awaited; joining it blocks.
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the shard's thread panicked; recovery will replay its log");
        }
    }
}

async fn begin<P: Posting>(
    storage: Storage,
    posting: P,
    clock: Arc<dyn Clock>,
    options: ShardOptions,
    inbox: Inbox,
    status: watch::Sender<ShardStatus>,
    stop: watch::Receiver<bool>,
) -> Result<Proposer<P>, StartShardError> {
    let Storage { kv, files, wal, raft_meta } = storage;
    let wal = Arc::new(wal);
    let poster = Poster { posting, kv, files: Arc::clone(&files) };
    let consensus = Consensus::start(options.node, Arc::clone(&wal), poster, raft_meta).await?;
    let now = consensus.status();
    status.send_modify(|shown| {
        shown.serving = true;
        shown.term = now.term;
        shown.checkpoint = now.checkpoint;
    });
    Ok(Proposer { consensus, wal, files, inbox, clock, options, status, stop: Stop(stop) })
}
