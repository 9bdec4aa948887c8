//! What all kinds of competing consumers have in common: the books of a sequence of numbers of which some are delivered to one
//! holder at a time, for a time, and finished in any order.
//!
//! The event door's persistent subscriptions (`daybook_competing`) keep one number a run and push items into slots; Kafka's share
//! groups (`daybook_share_coordinator`) keep whole ranges and let members fetch. What a number is, who may have it and what is
//! to survive a restart is theirs; what is open, who holds it until when, how often it was delivered and below which number
//! all is finished is here.

mod clock;
mod ledger;

pub use clock::MonotonicMs;
pub use ledger::{Ledger, Place, Run};

#[cfg(test)]
mod tests;
