//! Names and numbers of this crate.

use std::fmt;
use std::sync::Arc;

/// Name of a member in its group, made by the coordinator. Empty where the member has none yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub Arc<str>);

/// Kafka's `group.instance.id`: the name that a static member keeps over its restarts (KIP-345).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub Arc<str>);

/// Number of a group's membership; every completed rebalance counts it up. `NONE` (-1) where a request names none. Of a consumer
/// group (KIP-848): the epoch of the group, of its target assignment or of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub i32);

/// A time of the driver's clock, in milliseconds from an arbitrary start. Never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonotonicMs(pub u64);

/// Names a request that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaiterId(pub u64);

impl MemberId {
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// The id of a member that has none yet.
    pub fn none() -> Self {
        Self::new("")
    }

    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl InstanceId {
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Generation {
    pub const NONE: Self = Self(-1);
    /// The epoch with which a member of a consumer group joins.
    pub const JOINING: Self = Self(0);
    /// The epoch with which a member of a consumer group leaves.
    pub const LEAVING: Self = Self(-1);
    /// The epoch with which a static member leaves for a while.
    pub const AWAY: Self = Self(-2);

    /// The generation after this one. After the last one numbering starts again: a group that rebalances every millisecond
    /// gets there in 24 days of doing nothing else, and must not stop then.
    #[must_use]
    pub(crate) fn next(self) -> Self {
        Self(self.0.checked_add(1).unwrap_or(1))
    }

    /// Whether a request that carries this number names no generation.
    pub fn is_none(self) -> bool {
        self.0 < 0
    }
}

impl MonotonicMs {
    #[must_use]
    pub fn plus(self, duration_ms: u64) -> Self {
        Self(self.0.saturating_add(duration_ms))
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
