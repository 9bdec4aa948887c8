//! Names and numbers of the core.

use std::fmt;

pub use daybook_delivery::MonotonicMs;

/// Names a consumer; never given to a second one while the group lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerId(pub u64);

/// Where an item's number comes from. The order is the order of delivery: what is replayed goes before what is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Items that were parked and are to be tried again, by their number among the parked.
    Replay,
    /// The sequence that the group consumes.
    Main,
}

/// One item. In its lane, numbers ascend; they need not follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId {
    pub lane: Lane,
    pub number: u64,
}

impl ItemId {
    pub fn main(number: u64) -> Self {
        Self { lane: Lane::Main, number }
    }

    pub fn replay(number: u64) -> Self {
        Self { lane: Lane::Replay, number }
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lane {
            Lane::Main => write!(f, "{}", self.number),
            Lane::Replay => write!(f, "r{}", self.number),
        }
    }
}
