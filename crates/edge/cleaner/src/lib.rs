//! Retention and compaction: decides when records are old, or superseded, and sees to it that they go.
//!
//! What is visible changes by command: `TrimPartition` moves a partition's start, `CompactedTo` says below which offset only the latest
//! record of each key need be there. This crate proposes them by the clock and by what the files hold; apply decides. The bytes go
//! afterwards: whole files by the checkpoint that holds the new start, superseded records by a rewrite of the segments that hold them.
//!
//! The rules are Apache Kafka's (`UnifiedLog` and `LogCleaner` there). Pure: [`retention`], [`plan`], [`KeyMap`]. The driver: [`Cleaner`], a thread of
//! its own, one partition at a time.

mod cleaner;
mod compact;
mod error;
mod key_map;
mod plan;
mod retain;
mod retention;
mod sieve;

pub use cleaner::{Cleaner, Options, StartError, Worker};
pub use compact::Compacted;
pub use error::Broken;
pub use key_map::{ENTRY_BYTES_MAX, KeyMap};
pub use plan::{Compactable, Dirty, Plan, groups, plan};
pub use retention::{Limits, start_kept};
