//! What consumer groups have committed. Membership is not here: it is soft state of the group coordinator.
//!
//! Invariant: a group exists while it has at least one committed offset.

mod groups;
mod stored;

pub use groups::{Change, GroupOffsets, Groups};
pub use stored::{StoredGroupError, decode_offset, encode_offset};

#[cfg(test)]
mod tests;
