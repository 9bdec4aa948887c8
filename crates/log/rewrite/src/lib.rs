//! What scavenging and compaction have in common when they rewrite partition files: they go slowly, they end when told, and what they have
//! rewritten takes its place by a checkpoint.

mod pace;
mod takeover;

pub use pace::{Pace, Stop, Stopped};
pub use takeover::{CHECKPOINT_WAIT_MAX, Takeover, TakeoverError};
