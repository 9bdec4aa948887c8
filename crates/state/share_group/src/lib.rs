//! What share groups (KIP-932) have kept: how far each has come in each partition, and what of its window was settled or
//! delivered before. Members, sessions and acquisition locks are not here: they are soft state of the engine.
//!
//! Invariants: a group exists while it has kept at least one partition; within one state epoch a start offset never falls.

mod groups;
mod stored;

pub use groups::{Change, ShareGroups, SharePartitions};
pub use stored::{StoredShareError, decode_state, encode_state};

#[cfg(test)]
mod tests;
