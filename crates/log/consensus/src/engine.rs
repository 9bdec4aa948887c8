//! The running Raft group of one shard.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use daybook_command::{Entry, Outcome};
use daybook_types::{Lsn, NodeId, Term};
use daybook_wal::Wal;
use openraft::async_runtime::WatchReceiver;
use openraft::impls::BasicNode;
use openraft::{Config, Raft, ServerState, SnapshotPolicy};
use thiserror::Error;

use crate::config::{Answering, Commands, LogId, Types, lsn_of};
use crate::log_store::LogStore;
use crate::machine::{Machine, StateMachine};
use crate::network::NoPeers;

/// Entries that openraft hands to the WAL in one append at most.
const APPEND_ENTRIES_MAX: u64 = 256;

/// One shard's consensus. Lives on the shard's thread.
pub struct Consensus<M: StateMachine> {
    raft: Raft<Types, Machine<M>>,
    wal: Arc<Wal>,
}

/// Called when a proposal is applied, or when it is known that it will not be.
pub type Done = Box<dyn FnOnce(Result<(Lsn, Vec<Outcome>), ProposalFailure>) + Send>;

/// Why an accepted proposal was not applied.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ProposalFailure {
    #[error("this node does not lead the shard")]
    NotLeader,
}

/// The engine has stopped: a write failed, or it was told to.
#[derive(Clone, Debug, Error)]
#[error("consensus has stopped: {cause}")]
pub struct Stopped {
    pub cause: Arc<str>,
}

/// What the engine knows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub term: Term,
    pub is_leader: bool,
    pub applied: Lsn,
    /// What the last checkpoint holds.
    pub checkpoint: Lsn,
}

impl<M: StateMachine> Consensus<M> {
    /// Starts the group's only voter and waits until it leads and everything in the WAL is applied.
    ///
    /// `meta` is what the last checkpoint kept for consensus, if there was one.
    pub async fn start(node: NodeId, wal: Arc<Wal>, posted: M, meta: Option<Bytes>) -> Result<Self, StartError> {
        let config = Config {
            cluster_name: "daybook".to_owned(),
            heartbeat_interval: 500,
            election_timeout_min: 2_000,
            election_timeout_max: 3_000,
            max_payload_entries: APPEND_ENTRIES_MAX,
            // The shard decides when, by bytes of WAL.
            snapshot_policy: SnapshotPolicy::Never,
            max_in_snapshot_log_to_keep: 0,
            // A leader that lost its unsynced tail must not go on in its old term, where others may have that tail.
            enable_leader_restore: Some(false),
            ..Config::default()
        };
        let config = Arc::new(config.validate().map_err(|error| StartError::Engine { cause: error.to_string() })?);
        let log = LogStore::open(Arc::clone(&wal)).map_err(StartError::Storage)?;
        let machine = Machine::new(posted, meta, log.clone()).map_err(StartError::Storage)?;
        let next = machine.applied().map_or(Lsn(0), Lsn::next);
        let first = wal.purged().map_or(Lsn(0), |(_, purged)| purged.next());
        if first > next {
            return Err(StartError::Gap { next, first });
        }
        let recover_to = wal.last().map(|(_, lsn)| lsn.0);
        let id = u64::from(node.0);
        let engine = |error: &dyn std::fmt::Display| StartError::Engine { cause: error.to_string() };

        let raft = Raft::new(id, config, NoPeers, log, machine).await.map_err(|error| engine(&error))?;
        if !raft.is_initialized().await.map_err(|error| engine(&error))? {
            let members = BTreeMap::from([(id, BasicNode::default())]);
            raft.initialize(members).await.map_err(|error| engine(&error))?;
        }
        // Nobody else can lead: no reason to wait for an election timeout.
        raft.trigger().elect(false).await.map_err(|error| engine(&error))?;
        let leads = |metrics: &openraft::RaftMetrics<Types>| {
            let applied = metrics.last_applied.as_ref().map(|log_id| log_id.index());
            let blank_applied = metrics.last_applied.as_ref().map(|log_id| log_id.committed_leader_id().term);
            metrics.state == ServerState::Leader && applied >= recover_to && blank_applied == Some(metrics.current_term)
        };
        raft.wait(None).metrics(leads, "lead and apply the log").await.map_err(|error| engine(&error))?;
        Ok(Self { raft, wal })
    }

    /// Proposes an entry; returns once the engine has it. Proposals stand in the log in the order of these calls.
    pub async fn propose(&self, entry: Entry, done: Done) -> Result<(), Stopped> {
        let answering = Answering::new(move |result: openraft::raft::ClientWriteResult<Types>| {
            done(match result {
                Ok(response) => Ok((Lsn(response.log_id.index()), response.data)),
                Err(_) => Err(ProposalFailure::NotLeader),
            });
        });
        self.raft
            .client_write_ff(Commands(Arc::new(entry)), Some(answering))
            .await
            .map_err(|error| self.stopped(&error))
    }

    /// Asks for a checkpoint of everything applied so far; the WAL behind it is freed when it is done.
    pub async fn request_checkpoint(&self) -> Result<(), Stopped> {
        self.raft.trigger().snapshot().await.map_err(|error| self.stopped(&error))
    }

    /// Waits until a checkpoint holds everything up to `lsn`.
    pub async fn checkpointed(&self, lsn: Lsn) -> Result<(), Stopped> {
        let mut progress = self.raft.watch_snapshot_progress();
        let reached = |held: &Option<LogId>| held.as_ref().is_some_and(|log_id| lsn_of(log_id) >= lsn);
        tokio::select! {
            reached = progress.wait_until(reached) => reached.map(drop).map_err(|error| self.stopped(&error)),
            stopped = self.failed() => Err(stopped),
        }
    }

    pub fn status(&self) -> Status {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow_watched();
        let lsn = |log_id: Option<&LogId>| log_id.map_or(Lsn(0), lsn_of);
        // The metrics know the checkpoint that was there at the start, the progress hears of a new one first.
        let checkpoint = lsn(metrics.snapshot.as_ref()).max(lsn(self.raft.watch_snapshot_progress().get().as_ref()));
        Status {
            term: Term(metrics.current_term),
            is_leader: metrics.state == ServerState::Leader,
            applied: lsn(metrics.last_applied.as_ref()),
            checkpoint,
        }
    }

    /// Waits until the engine stops by itself, which it does when storage fails.
    pub async fn failed(&self) -> Stopped {
        let mut metrics = self.raft.metrics();
        loop {
            if let Err(error) = &metrics.borrow_and_update().running_state {
                return self.stopped(error);
            }
            if metrics.changed().await.is_err() {
                return self.stopped(&"the engine is gone");
            }
        }
    }

    pub async fn stop(self) {
        // It only fails if the engine's task panicked, which has been logged then.
        let _ = self.raft.shutdown().await;
    }

    fn stopped(&self, error: &dyn std::fmt::Display) -> Stopped {
        // The WAL knows the disk's own words; the engine wraps them.
        let cause = self.wal.failure().map_or_else(|| error.to_string(), |failure| failure.to_string());
        Stopped { cause: cause.into() }
    }
}

/// Why consensus can't start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("can't read stored consensus state: {0}")]
    Storage(#[source] io::Error),
    #[error(
        "entries are missing: what is posted needs the log from LSN {next} on, but the log begins at {first}; restore the data directory from a backup"
    )]
    Gap { next: Lsn, first: Lsn },
    #[error("consensus can't start: {cause}")]
    Engine { cause: String },
}
