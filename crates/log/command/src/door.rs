//! The one way in: commands go through here to the shard's proposer, answers come back when they are applied.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use daybook_types::{FaultKind, Lsn};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::{Command, Outcome};

/// Proposals that wait for the proposer; each may hold many commands. Bytes are bounded apart from this.
const PROPOSALS_WAITING_MAX: usize = 4096;

/// How far a write has come. Each stage implies those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// In this process.
    Accepted,
    /// In the operating system.
    Written,
    /// Fsynced here.
    Durable,
    /// Durable on other members.
    Replicated,
    /// A quorum has it; this LSN can't change.
    Committed,
    /// Posted; readers see it.
    Applied,
}

/// A handle through which commands reach one shard. Clones share the shard's bound on bytes in flight.
#[derive(Clone, Debug)]
pub struct Door {
    proposals: mpsc::Sender<Proposal>,
    room: Arc<Semaphore>,
    room_bytes: usize,
}

/// The shard's end of the door.
#[derive(Debug)]
pub struct Inbox {
    pub proposals: mpsc::Receiver<Proposal>,
}

/// Commands that stand in one entry, in this order, and whoever waits for what becomes of them.
#[derive(Debug)]
pub struct Proposal {
    pub commands: Vec<Command>,
    pub bytes: usize,
    pub answer: oneshot::Sender<Result<Applied, ProposeError>>,
    room: OwnedSemaphorePermit,
}

/// The answer to a proposal: one outcome a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The entry's place in the log: what a read waits for to see this write.
    pub lsn: Lsn,
    pub stage: Stage,
    pub outcomes: Vec<Outcome>,
}

/// A proposal on its way. Dropping it withdraws nothing.
#[derive(Debug)]
pub struct Pending {
    answer: oneshot::Receiver<Result<Applied, ProposeError>>,
}

/// Why a proposal has no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProposeError {
    #[error("the shard is shutting down")]
    Closed,
    #[error("the shard takes no writes: {cause}. Reads go on; free space or replace the disk, then restart")]
    Poisoned { cause: Arc<str> },
    #[error("this node does not lead the shard")]
    NotLeader,
    #[error("the shard stopped before this proposal was committed; it may or may not have happened")]
    Unknown,
}

impl ProposeError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Closed => FaultKind::Closed,
            Self::Poisoned { .. } | Self::Unknown => FaultKind::RetryLater,
            Self::NotLeader => FaultKind::Redirect,
        }
    }
}

impl Door {
    /// A door for at most `in_flight_bytes_max` bytes of commands between acceptance and answer.
    pub fn new(in_flight_bytes_max: usize) -> (Self, Inbox) {
        let (sender, receiver) = mpsc::channel(PROPOSALS_WAITING_MAX);
        let room_bytes = in_flight_bytes_max.min(Semaphore::MAX_PERMITS).min(u32::MAX as usize);
        let door = Self { proposals: sender, room: Arc::new(Semaphore::new(room_bytes)), room_bytes };
        (door, Inbox { proposals: receiver })
    }

    /// Hands `commands` to the shard, waiting while too much is in flight. Proposals of one caller that awaits each
    /// `propose` before the next are applied in that order; their answers may be awaited later.
    pub async fn propose(&self, commands: Vec<Command>) -> Result<Pending, ProposeError> {
        let bytes: usize = commands.iter().map(Command::bytes).sum();
        // A proposal larger than all the room takes all of it.
        let permits = u32::try_from(bytes.min(self.room_bytes)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(permits).await.map_err(|_| ProposeError::Closed)?;
        let (sender, receiver) = oneshot::channel();
        let proposal = Proposal { commands, bytes, answer: sender, room };
        self.proposals.send(proposal).await.map_err(|_| ProposeError::Closed)?;
        Ok(Pending { answer: receiver })
    }
}

impl Proposal {
    /// Takes the commands; what remains answers the caller and then makes room for others.
    pub fn split(self) -> (Vec<Command>, Waiter) {
        let Self { commands, bytes: _, answer, room } = self;
        let count = commands.len();
        (commands, Waiter { count, answer, _room: room })
    }
}

/// Whoever waits for a proposal.
#[derive(Debug)]
pub struct Waiter {
    /// How many outcomes it waits for.
    pub count: usize,
    answer: oneshot::Sender<Result<Applied, ProposeError>>,
    _room: OwnedSemaphorePermit,
}

impl Waiter {
    /// Answers. That nobody waits any more is no fault.
    pub fn answer(self, result: Result<Applied, ProposeError>) {
        let _ = self.answer.send(result);
    }
}

impl Future for Pending {
    type Output = Result<Applied, ProposeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(ready!(Pin::new(&mut self.answer).poll(context)).unwrap_or(Err(ProposeError::Unknown)))
    }
}
