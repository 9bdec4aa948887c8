//! Who of a group should have which partitions: what groups with an assignor on the server share (KIP-848, KIP-932).
//!
//! [`Topics`] is what a group sees of the catalog, [`Subscription`] what its members want of it, [`Assignor`] divides it.
//! Pure: the same members, topics and old assignment give the same new one.
//!
//! Stated absences: no members' lives, epochs or timers (the coordinators'), no Kafka message type.

mod assignor;
mod subscription;
mod topics;

pub use assignor::{AssignedMember, Assignor};
pub use subscription::{InvalidRegex, Subscription, TopicRegex};
pub use topics::{FixedTopics, KnownTopic, Topics};

/// Partitions of any topics, in order.
pub type Partitions = std::collections::BTreeSet<daybook_types::PartitionId>;

#[cfg(test)]
mod tests;
