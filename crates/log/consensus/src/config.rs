//! The types openraft is used with.

use std::fmt;
use std::io::Cursor;
use std::sync::Arc;

use daybook_command::{Entry, Outcome};
use daybook_types::{Lsn, Term};
use openraft::impls::leader_id_std::LeaderId;
use openraft::impls::{BasicNode, BoxedErrorSource, InlineBatch};
use openraft::raft::responder::Responder;
use openraft::vote::RaftLeaderId;
use openraft::{EntryPayload, OptionalSend, RaftTypeConfig};

/// The types one shard's group is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Types;

impl RaftTypeConfig for Types {
    type D = Commands;
    type R = Vec<Outcome>;
    type NodeId = u64;
    type Node = BasicNode;
    type Term = u64;
    type LeaderId = LeaderId<u64, u64>;
    type Vote = openraft::impls::Vote<Self::LeaderId>;
    type Payload = EntryPayload<Commands, u64, BasicNode>;
    type Entry = openraft::Entry<<Self::LeaderId as RaftLeaderId>::Committed, Self::Payload>;
    type AsyncRuntime = openraft_rt_tokio::TokioRuntime;
    type Responder<T>
        = Answering<T>
    where
        T: OptionalSend + 'static;
    type Batch<T>
        = InlineBatch<T>
    where
        T: OptionalSend + 'static;
    type ErrorSource = BoxedErrorSource;
}

pub(crate) type LogId = openraft::type_config::alias::LogIdOf<Types>;
pub(crate) type Vote = openraft::type_config::alias::VoteOf<Types>;
pub(crate) type RaftEntry = openraft::type_config::alias::EntryOf<Types>;
pub(crate) type Payload = openraft::type_config::alias::PayloadOf<Types>;
pub(crate) type Membership = openraft::Membership<u64, BasicNode>;
pub(crate) type StoredMembership = openraft::type_config::alias::StoredMembershipOf<Types>;
/// A snapshot is a checkpoint; what travels to another member comes with replication.
pub(crate) type SnapshotData = Cursor<Vec<u8>>;
pub(crate) type Snapshot = openraft::type_config::alias::SnapshotOf<Types, SnapshotData>;

/// An entry's commands, shared between the WAL's cache, replication and apply.
#[derive(Clone, Debug)]
pub struct Commands(pub Arc<Entry>);

impl fmt::Display for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} commands", self.0.commands.len())
    }
}

/// Calls back with the result of a proposal, on the shard's thread.
pub struct Answering<T>(Box<dyn FnOnce(T) + Send>);

impl<T> Answering<T> {
    pub(crate) fn new(answer: impl FnOnce(T) + Send + 'static) -> Self {
        Self(Box::new(answer))
    }
}

impl<C: RaftTypeConfig, T: OptionalSend + 'static> Responder<C, T> for Answering<T> {
    fn on_complete(self, result: T) {
        (self.0)(result);
    }
}

pub(crate) fn log_id(term: Term, lsn: Lsn) -> LogId {
    LogId::new(openraft::type_config::alias::CommittedLeaderIdOf::<Types>::new(term.0), lsn.0)
}

pub(crate) fn term_of(log_id: &LogId) -> Term {
    Term(log_id.committed_leader_id().term)
}

pub(crate) fn lsn_of(log_id: &LogId) -> Lsn {
    Lsn(log_id.index())
}
