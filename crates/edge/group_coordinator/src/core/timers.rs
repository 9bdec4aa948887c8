//! What a classic group waits for.

use crate::ident::MemberId;

/// The order is the order in which timers of one millisecond fire: a rebalance that is over is over, whoever expires with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// Members have had their time to join.
    Join,
    /// Members have had their time to sync.
    Sync,
    /// The group has long been empty.
    Retire,
    /// The member, full or pending, has been silent.
    Session(MemberId),
}

pub(crate) type Timers = crate::timers::Timers<Timer>;
