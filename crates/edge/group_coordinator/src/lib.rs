//! Kafka's classic consumer groups: who is a member, which generation counts, who leads, who may commit.
//!
//! [`core`] is a pure state machine, one [`Group`] a group: events and a time go in, effects and a next deadline come out.
//! [`Coordinator`] drives it: it holds all groups of a node, keeps the waiting requests and runs the one timer.
//!
//! Stated absences: no Kafka message type (the door translates), no disk, no offsets (they go through the log; this crate says
//! only whether a commit is allowed). Membership is soft: after a restart every member is told `UnknownMemberId` and joins
//! again.
//!
//! The rules are Apache Kafka 4.x's (KIP-62 rebalance timeout, KIP-134 initial delay, KIP-345 static members, KIP-394
//! member id first, KIP-389 largest group, KIP-559 protocol in sync, KIP-814 skip assignment). Where this crate goes further:
//!
//! - A waiting answer is never lost: a join or sync that a newer request of the same member displaces is answered
//!   `RebalanceInProgress`, and so is the sync of a member that leaves or expires (`UnknownMemberId`); Kafka forgets them.
//! - A group without members is Empty at once, even during the initial delay.
//! - A static member that comes back with other topics causes a rebalance; one that comes back with the same does not.
//! - A static member that comes back is let into a group that is full, since the group doesn't grow.
//! - A pending member (one that has an id and has not joined with it yet) leaving doesn't cause a rebalance.
//! - Sync and join requests of a known member always count as a heartbeat.

mod answer;
pub mod core;
mod driver;
mod error;
mod ident;
mod request;
mod settings;

pub use answer::{GroupDescription, JoinRefused, Joined, JoinedMember, Left, ListedGroup, MemberDescription, Synced};
pub use core::{Group, GroupState};
pub use driver::Coordinator;
pub use error::GroupError;
pub use ident::{Generation, InstanceId, MemberId, MonotonicMs};
pub use request::{JoinRequest, Leaver, MemberClaim, Protocol, SyncRequest};
pub use settings::Settings;
