//! Competing consumers: a group works through a sequence together, each item with one of them at a time.
//!
//! [`core`] is a pure state machine, one `Group` a group: events and a time go in, effects and a next deadline come out. It knows
//! nothing of events or streams. [`Subscriptions`] drives it over the event store: persistent subscriptions on streams,
//! categories and `$all`, as KurrentDB has them. What is to survive, definitions and checkpoints, is kept in the log; which
//! consumer holds what is soft state, and after a restart all that wasn't below the checkpoint is delivered again.
//!
//! Where this goes further than KurrentDB:
//!
//! - A replayed event stays among the parked until it is settled, so that a restart in between loses nothing.
//! - An event that can't be parked yet is not given up; the checkpoint waits for it.
//! - Only who holds an event settles it: an acknowledgement that comes after the time-out doesn't count.
//! - A subscription that starts at the end knows that end from the moment it was made; a restart before its first checkpoint
//!   skips nothing.

mod body;
pub mod core;
mod definition;
mod driver;
mod error;
mod info;

pub use core::ItemId;
pub use definition::{
    ALL, BUFFER_MAX, CATEGORY_PREFIX, CONSUMERS_MAX, ConsumerStrategy, Definition, FilterText, Invalid, SLOTS_MAX,
    Settings, Source, StartFrom, SubscriptionName,
};
pub use driver::{Consumer, Delivery, Item, Nack, Subscriptions};
pub use error::{Ended, JoinError, ManageError};
pub use info::{Connection, Info, Profile, Rate};

#[cfg(test)]
mod tests;
