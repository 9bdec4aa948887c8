//! The spaces of keys.

use std::fmt;

/// A key belongs to one of these; keys of different spaces are strangers. The tags are disk format: never change or reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The LSN of the checkpoint, format versions and other single values.
    Meta,
    Topics,
    Partitions,
    Producers,
    Groups,
    Subscriptions,
    /// What share groups have kept of partitions.
    ShareGroups,
    /// Configs of groups.
    GroupConfigs,
    /// Event topics: their numbers and how far their index is.
    EventTopics,
    /// Streams by topic and name.
    Streams,
    /// Where the events of a stream are, by stream and version.
    Versions,
    /// Where the events of the store are, by position.
    Positions,
    /// Positions of the events that have a type, a tag, or an id.
    Terms,
    /// Configs of what isn't a topic, by kind and name.
    Configs,
    /// Transactional ids, each with its producer and its open transaction.
    Transactions,
    /// Offsets that open transactions will commit for groups.
    PendingOffsets,
    /// Aborted transactions, by partition and the offset of their marker.
    Aborted,
}

impl Space {
    pub const ALL: [Self; 17] = [
        Self::Meta,
        Self::Topics,
        Self::Partitions,
        Self::Producers,
        Self::Groups,
        Self::Subscriptions,
        Self::ShareGroups,
        Self::GroupConfigs,
        Self::EventTopics,
        Self::Streams,
        Self::Versions,
        Self::Positions,
        Self::Terms,
        Self::Configs,
        Self::Transactions,
        Self::PendingOffsets,
        Self::Aborted,
    ];

    /// Spaces that grow with the number of events.
    pub(crate) fn is_of_streams(self) -> bool {
        matches!(self, Self::Streams | Self::Versions | Self::Positions | Self::Terms)
    }

    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::Meta => 1,
            Self::Topics => 2,
            Self::Partitions => 3,
            Self::Producers => 4,
            Self::Groups => 5,
            Self::Subscriptions => 6,
            Self::EventTopics => 7,
            Self::Streams => 8,
            Self::Versions => 9,
            Self::Positions => 10,
            Self::Terms => 11,
            Self::ShareGroups => 20,
            Self::GroupConfigs => 21,
            Self::Configs => 22,
            Self::Transactions => 14,
            Self::PendingOffsets => 15,
            Self::Aborted => 16,
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Meta => "meta",
            Self::Topics => "topics",
            Self::Partitions => "partitions",
            Self::Producers => "producers",
            Self::Groups => "groups",
            Self::Subscriptions => "subscriptions",
            Self::ShareGroups => "share groups",
            Self::GroupConfigs => "group configs",
            Self::EventTopics => "event topics",
            Self::Streams => "streams",
            Self::Versions => "versions",
            Self::Positions => "positions",
            Self::Terms => "terms",
            Self::Configs => "configs",
            Self::Transactions => "transactions",
            Self::PendingOffsets => "pending offsets",
            Self::Aborted => "aborted",
        })
    }
}
