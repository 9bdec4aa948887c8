//! The rules as scripts against the pure core, and the driver under a paused clock.

// In a test a panic is the answer.
#![allow(clippy::unwrap_used)]

mod consumer_script;
mod driver;
mod script;
