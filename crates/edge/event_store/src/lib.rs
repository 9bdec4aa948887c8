//! The event store: append on a condition, read, follow. The engine behind every protocol of the event door and behind the library.
//!
//! Nothing is decided here: what may be refused because of state is refused in apply. This crate turns events into record batches and
//! commands, and records back into events.
//!
//! A stream `order-10491` is the records of key `order-10491` in topic `order`; see `daybook_event::StreamName`.

mod append;
mod indexer;
mod read;
mod scavenge;
mod store;
mod subscribe;

pub use append::{
    APPEND_BYTES_MAX, Append, AppendError, Appended, Condition, Conflict, Delete, DeleteKind, Expected, Query,
    QueryItem, StreamAppend, StreamAppended, StreamState,
};
pub use daybook_command::{ProposeError, SubscriptionMustBe, SubscriptionRefusal};
pub use daybook_event::{NewEvent, StreamName, StreamSettings};
pub use indexer::keep_indexing;
pub use read::{AllFrom, Direction, Filter, Page, ReadError, Recorded, StreamFrom, StreamInfo, StreamPage};
pub use scavenge::{SCAVENGE_BYTES_PER_SECOND_MAX, ScavengeReport, ScavengeState, StartScavengeError};
pub use store::{EventStore, Options, Token};
pub use subscribe::{FollowFrom, Followed, Subscription, Target};
