//! A judge of histories of the event store: what clients asked for, when, what they were answered, and what is found in the end.
//!
//! [`History`] is written down by the tests, which let many clients loose on a server that is killed; [`judge`] says whether a store
//! that does one thing after the other could have given these answers. It knows no server and no network:
//! - per stream and per tag, the answers must be linearisable; stateright's tester decides that, over models of a stream and of a tag;
//! - positions and versions are gapless, and positions follow the order of real time;
//! - every acknowledged event stands once in its stream, in `$all` and in its topic; nothing refused stands anywhere; what got no
//!   answer stands whole, once, or not at all.

// A violation tells all that whoever reads it needs, and there is at most one a run.
#![allow(clippy::result_large_err)]

mod history;
mod lanes;
mod places;
mod promises;
mod stream_model;
mod tag_model;
mod verdict;

pub use history::{
    Actual, Attempt, Condition, Event, Expected, Found, History, Look, LookedAt, Outcome, Request, Span, StreamPart,
    TopicRecord, event_data, event_id, topic_of,
};
pub use verdict::{Summary, Violation, judge};
