//! The event door's protocols over a real shard, called in this process.

#![allow(clippy::unwrap_used)]

mod harness;
mod kurrent;
