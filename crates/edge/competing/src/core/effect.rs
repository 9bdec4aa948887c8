//! What goes into the core beside numbers, and what comes out of it.

use thiserror::Error;

use super::ident::{ConsumerId, ItemId, Lane};

/// What a consumer says of an item that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Done.
    Accept,
    /// Deliver it again, to whom it may concern.
    Retry,
    /// Put it aside.
    Park,
    /// Not done, and never to be.
    Skip,
    /// Still at it: the time to hold it begins anew.
    Renew,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkCause {
    /// A consumer said so.
    Asked,
    /// It was delivered as often as it may be.
    DeliveredTooOften,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// `retry`: 0 at the first delivery.
    Deliver { consumer: ConsumerId, item: ItemId, retry: u32 },
    /// A consumer that stays no longer holds it, whatever the cause. What it says of it from now on doesn't count.
    Withdraw { consumer: ConsumerId, item: ItemId },
    /// To be put aside durably, then [`parked`](super::Group::parked).
    Park { item: ItemId, cause: ParkCause },
    /// Nobody will ask for it any more.
    Finish { item: ItemId },
    /// To be kept: everything below is finished. Then [`kept`](super::Group::kept); until then there is no other for the lane.
    Keep { lane: Lane, checkpoint: u64 },
}

/// Which buffer bounds reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// What has been there before is read.
    History,
    /// All that there was has been offered.
    Live,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum AttachRefused {
    #[error("the group has as many consumers as it may")]
    Full,
    #[error("a consumer of this name is here")]
    Known,
    #[error("a consumer needs at least one slot")]
    NoSlots,
}

/// The consumer doesn't hold the item: it settled it before, or its time was over.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the consumer does not hold this item")]
pub struct NotHeld;

/// Counts for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Waiting for their first delivery.
    pub fresh: usize,
    /// Waiting for another one, replayed items included.
    pub retrying: usize,
    pub held: usize,
    pub parking: usize,
    /// Below is finished.
    pub floor: u64,
    /// As last kept.
    pub checkpoint: u64,
}
