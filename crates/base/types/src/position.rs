//! Places in an ordered sequence.

use std::fmt;

macro_rules! position {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $int);

        impl $name {
            /// The place `count` further on.
            #[must_use]
            pub const fn plus(self, count: $int) -> Self {
                Self(self.0 + count)
            }

            /// The place after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                self.plus(1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

position! {
    /// Index of an entry in a shard's log. Authoritative once committed.
    Lsn(u64)
}
position! {
    /// Raft term in which an entry was appended.
    Term(u64)
}
position! {
    /// Number of a record in its partition, as Kafka counts. Never negative once assigned.
    Offset(i64)
}
position! {
    /// Number of an event in its shard, over all event topics: gapless, monotonic, the order of `$all`.
    Position(u64)
}
position! {
    /// Number of an event in its stream, from 0. Never reused, not even after the stream was deleted.
    StreamVersion(u64)
}
position! {
    /// Kafka's leader epoch of a partition; here the Raft term of the shard, as far as it fits.
    LeaderEpoch(i32)
}

impl Offset {
    /// Kafka's "no offset".
    pub const NONE: Self = Self(-1);
}
