//! Consensus of one shard: openraft over the WAL and what is posted from it. The one crate that names openraft.
//!
//! Owns: Raft's identity of an entry (term, LSN), the vote, the membership. Invariants: an entry is in the WAL before
//! openraft hears that it is; the state machine sees every committed entry once, in order; a node alone is a group with
//! one voter on the same path.
//!
//! `Consensus` is the engine, `StateMachine` what the shard brings.

mod config;
mod engine;
mod log_store;
mod machine;
mod membership;
mod network;
#[cfg(test)]
mod tests;

pub use engine::{Consensus, Done, ProposalFailure, StartError, Status, Stopped};
pub use machine::{At, Checkpoint, CheckpointError, RaftMeta, StateMachine};

/// How a WAL record's kind byte is read. Disk format.
pub mod record_kind {
    /// Commands (`daybook_command::Entry`).
    pub const COMMANDS: u8 = 0;
    /// Nothing: a new leader's first entry.
    pub const BLANK: u8 = 1;
    /// The members of the group.
    pub const MEMBERSHIP: u8 = 2;
}
