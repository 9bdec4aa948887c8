//! The event store: append on a condition, read, follow. The engine behind every protocol of the event door and behind the library.
//!
//! Nothing is decided here: what may be refused because of state is refused in apply. This crate turns events into record batches and
//! commands, and records back into events.
//!
//! A stream `order-10491` is the records of key `order-10491` in topic `order`; see `daybook_event::StreamName`.

mod append;
mod read;
mod store;
mod subscribe;

pub use append::{
    Append, AppendError, Appended, Condition, Conflict, Delete, DeleteKind, Expected, Query, QueryItem, StreamAppend,
    StreamAppended, StreamState,
};
pub use daybook_command::{ProposeError, SubscriptionMustBe, SubscriptionRefusal};
pub use daybook_event::{NewEvent, StreamName};
pub use read::{
    AllFrom, Direction, Filter, Page, ReadError, Recorded, StreamFrom, StreamInfo, StreamPage, StreamSettings,
};
pub use store::{EventStore, Token};
pub use subscribe::{FollowFrom, Followed, Subscription, Target};
