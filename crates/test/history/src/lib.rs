//! Whole-shard histories: a random workload, power cuts and restarts in between, and what must hold afterwards.
//!
//! What must hold, whatever happened:
//! - replaying every entry into an empty state gives the state that is there, wherever checkpoints and restarts cut;
//! - an entry once applied is the same entry after every restart;
//! - every answered append is where the answer said, byte for byte, once.

mod journal;
mod run;
mod workload;

pub use journal::{Journal, Journaled};
pub use run::{Machine, Running};
pub use workload::{Acknowledged, Workload};
