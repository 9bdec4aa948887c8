//! An event as a record: CloudEvents' Kafka binding in binary mode, and what Daybook adds to it.
//!
//! An event's key is the name of its stream, its value is its data, everything else stands in headers. Whoever writes events
//! uses [`push`]; whoever reads them, [`Event::of`]; the index of streams needs only [`Facts`].
//!
//! Headers without meaning here are kept and handed out as they came, so a record of any Kafka producer is an event too.

mod event;
mod facts;
pub mod header;
mod settings;
mod stream_name;

pub use event::{Event, NewEvent, TYPE_OF_PLAIN_RECORDS, push, push_tombstone};
pub use facts::{Expectation, Facts, FactsFault, event_hash};
pub use settings::{DELETED, SettingsFault, StreamSettings};
pub use stream_name::{IllegalStreamName, METADATA_PREFIX, STREAM_NAME_BYTES_MAX, StreamName};

#[cfg(test)]
mod tests;
