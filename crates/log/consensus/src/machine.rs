//! openraft's state machine over whatever is posted from the log.

use std::io::{self, Cursor};
use std::sync::Arc;

use bytes::Bytes;
use daybook_command::{Entry, Outcome};
use daybook_types::{Lsn, Term};
use futures::{Stream, StreamExt};
use openraft::storage::{EntryResponder, RaftStateMachine, SnapshotMeta};
use openraft::{EntryPayload, RaftSnapshotBuilder};
use thiserror::Error;

use crate::config::{LogId, Snapshot, SnapshotData, StoredMembership, Types, lsn_of, term_of};
use crate::log_store::LogStore;
use crate::membership::{decode_meta, encode_meta};

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    pub term: Term,
    pub lsn: Lsn,
}

/// What the shard posts from its log. Called on the shard's thread only; a pure function of what it is told.
pub trait StateMachine: Send + Sync + 'static {
    /// One outcome a command, in the commands' order.
    fn apply(&mut self, at: At, entry: &Entry) -> io::Result<Vec<Outcome>>;
    /// An entry without commands: a new leader's first, or a change of members.
    fn pass(&mut self, at: At);
    /// Everything applied so far and not yet on disk, to be written while apply goes on. `None`: nothing new.
    fn begin_checkpoint(&mut self) -> Checkpoint;
}

/// Writes a checkpoint's files and commits them together with Raft's meta. Runs on another thread.
pub type Checkpoint = Box<dyn FnOnce(RaftMeta) -> Result<(), CheckpointError> + Send + Sync>;

/// What a checkpoint keeps for consensus: opaque to whoever stores it.
#[derive(Clone, Debug)]
pub struct RaftMeta(pub Bytes);

/// A checkpoint that could not be written. The WAL still has all of it.
#[derive(Clone, Debug, Error)]
#[error("can't write a checkpoint: {cause}")]
pub struct CheckpointError {
    pub cause: Arc<str>,
}

pub(crate) struct Machine<M> {
    posted: M,
    applied: Option<LogId>,
    membership: StoredMembership,
    /// What the last checkpoint holds.
    checkpoint: Option<(LogId, StoredMembership)>,
    log: LogStore,
}

pub(crate) struct Builder {
    checkpoint: Option<Checkpoint>,
    applied: Option<LogId>,
    membership: StoredMembership,
}

impl<M: StateMachine> Machine<M> {
    /// `meta`: what the last checkpoint kept, if there was one.
    pub fn new(posted: M, meta: Option<Bytes>, log: LogStore) -> io::Result<Self> {
        let (applied, membership) = meta.map(decode_meta).transpose()?.unwrap_or_default();
        let checkpoint = applied.map(|applied| (applied, membership.clone()));
        Ok(Self { posted, applied, membership, checkpoint, log })
    }

    /// The last entry that the checkpoint holds.
    pub fn applied(&self) -> Option<Lsn> {
        self.applied.as_ref().map(lsn_of)
    }
}

impl<M: StateMachine> RaftStateMachine<Types> for Machine<M> {
    type SnapshotData = SnapshotData;
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), io::Error> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<Strm>(&mut self, mut entries: Strm) -> Result<(), io::Error>
    where
        Strm: Stream<Item = Result<EntryResponder<Types>, io::Error>> + Unpin + Send,
    {
        while let Some(item) = entries.next().await {
            let (entry, responder) = item?;
            let at = At { term: term_of(&entry.log_id), lsn: lsn_of(&entry.log_id) };
            let outcomes = match entry.payload {
                EntryPayload::Normal(commands) => self.posted.apply(at, &commands.0)?,
                EntryPayload::Blank => {
                    self.posted.pass(at);
                    Vec::new()
                }
                EntryPayload::Membership(membership) => {
                    self.membership = StoredMembership::new(Some(entry.log_id), membership);
                    self.posted.pass(at);
                    Vec::new()
                }
            };
            self.applied = Some(entry.log_id);
            self.log.forget_applied(at.lsn);
            if let Some(responder) = responder {
                responder.send(outcomes);
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        // The content is taken here, between two entries; from now on it is the current snapshot, which openraft asks
        // for only after the builder is done.
        self.checkpoint = self.applied.map(|applied| (applied, self.membership.clone()));
        Builder {
            checkpoint: Some(self.posted.begin_checkpoint()),
            applied: self.applied,
            membership: self.membership.clone(),
        }
    }

    async fn install_snapshot(&mut self, _meta: &SnapshotMetaOf, _snapshot: SnapshotData) -> Result<(), io::Error> {
        // Comes with the second member.
        Err(io::Error::new(io::ErrorKind::Unsupported, "installing another member's checkpoint is not available"))
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot>, io::Error> {
        Ok(self.checkpoint.as_ref().map(|(applied, membership)| snapshot(Some(*applied), membership.clone())))
    }
}

type SnapshotMetaOf = openraft::type_config::alias::SnapshotMetaOf<Types>;

fn snapshot(applied: Option<LogId>, membership: StoredMembership) -> Snapshot {
    Snapshot {
        meta: SnapshotMeta { last_log_id: applied, last_membership: membership },
        snapshot: Cursor::new(Vec::new()),
    }
}

impl RaftSnapshotBuilder<Types> for Builder {
    type SnapshotData = SnapshotData;

    async fn build_snapshot(&mut self) -> Result<Snapshot, io::Error> {
        let meta = RaftMeta(encode_meta(self.applied.as_ref(), &self.membership));
        let checkpoint = self.checkpoint.take().ok_or_else(|| io::Error::other("a checkpoint is written once"))?;
        tokio::task::spawn_blocking(move || checkpoint(meta))
            .await
            .map_err(io::Error::other)?
            .map_err(io::Error::other)?;
        Ok(snapshot(self.applied, self.membership.clone()))
    }
}
