//! Competing consumers: a group works through a sequence together, each item with one of them at a time.
//!
//! [`core`] is a pure state machine, one `Group` a group: events and a time go in, effects and a next deadline come out.

pub mod core;
