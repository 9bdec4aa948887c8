//! Kafka's share groups (KIP-932): members that work through partitions together, each record with one of them at a time.
//!
//! [`core`] is pure: members and assignments, share sessions, and the window of a share-partition, whose books are those of the
//! event door's competing consumers too (`daybook_delivery`). [`ShareCoordinator`] drives it: it reads what may be acquired, keeps in the
//! log what must survive before it answers, and gives back what was held too long.
//!
//! What survives a restart: of each share-partition its start offset, which records above it are settled, and how often the others
//! were delivered (`daybook_share_group`); and the configs of groups. Members, sessions and acquisition locks are soft: after a restart
//! a member is told `UnknownMember` and joins again, and what was acquired is to be had again.
//!
//! Where this goes further than Apache Kafka 4.4: a start offset is kept when it is first found, so that a group that starts at
//! the end skips nothing over a restart before its first acknowledgement; and an assignment whose answer was lost is told again.

pub mod config;
pub mod core;
mod driver;
mod error;
mod ident;
mod settings;

pub use driver::{
    AcknowledgeAsk, AlterOutcome, Described, FetchAsk, Fetched, GroupInfo, KeptOffset, MemberInfo, ShareCoordinator,
    Taken,
};
pub use error::ShareError;
pub use ident::MemberId;
pub use settings::Settings;
