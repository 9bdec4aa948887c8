//! The index of streams: which streams there are, where their events stand, the order of all events, and who has which type and tag.
//!
//! Two halves. `EventStreams` is apply's own: it decides what is appended and posts it. `StreamIndex` is shared with readers. What was
//! posted since the last checkpoint lives in memory (a [`generation`]); everything older in the index store, where a stream costs a
//! few keys and nothing in memory.
//!
//! Invariants: versions of a stream and positions of the store are given without gaps in the order of apply; an event's places never
//! change; a reader finds every event either in memory or in the store, because a generation is let go only after its checkpoint.

mod condition;
mod decide;
mod generation;
mod index;
mod lookup;
mod stored;
mod streams;
mod topics;

pub use decide::IDEMPOTENCE_WINDOW;
pub use index::{Located, StreamIndex};
pub use lookup::{Order, ReadLimit};
pub use stored::{Place, StoredStreamError, Stream, StreamId};
pub use streams::{Decided, Decision, EventStreams, FrozenIndex, PostedBatch, RestoreError};
pub use topics::{EventTopic, TopicNumber};

#[cfg(test)]
mod tests;
