//! Kafka's consumer groups of both protocols: who is a member, which generation or epoch counts, who leads, who may commit.
//!
//! [`core`] is the classic protocol as a pure state machine, one [`Group`] a group: events and a time go in, effects and a next
//! deadline come out. [`consumer`] is the same for the new protocol (KIP-848), one [`ConsumerGroup`] a group. `kind.rs` joins
//! the two and lets a group change from one to the other. [`Coordinator`] drives them: it holds all groups of a node, keeps the waiting requests and runs the one timer.
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
//!
//! And for groups of the new protocol:
//!
//! - While a group is on its way to a new assignment, members are asked to heartbeat more often.
//! - A static member that lost track (fenced, or its answer lost) joins again with its own id; Kafka holds its instance against it
//!   until its session runs out.
//! - A member from before a restart is told `UnknownMemberId`, whatever has become of the group.
//! - A classic member's heartbeat sees changes of topics too, not only the others'.
//! - A consumer group whose last member of the new protocol goes, or becomes classic, always rebalances as a classic group.

mod answer;
pub mod consumer;
pub mod core;
mod driver;
mod error;
mod ident;
mod kind;
mod request;
mod settings;
mod timers;

pub use answer::{
    GroupDescription, GroupKind, JoinRefused, Joined, JoinedMember, Left, ListedGroup, MemberDescription, Synced,
};
pub use consumer::{
    CommitPermit, ConsumerDescription, ConsumerGroup, ConsumerGroupState, ConsumerHeartbeat, ConsumerMemberDescription,
    HeartbeatAnswer,
};
pub use core::{Group, GroupState};
pub use driver::{Coordinator, TopicsNow};
pub use error::GroupError;
pub use ident::{Generation, InstanceId, MemberId, MonotonicMs};
pub use request::{JoinRequest, Leaver, MemberClaim, Protocol, SyncRequest};
pub use settings::{ConsumerSettings, MigrationPolicy, Settings};
pub use timers::Timers;
