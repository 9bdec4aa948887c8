//! What consumer groups have committed, and the configs of groups of any kind. Membership is not here: it is soft state of the group coordinator.
//!
//! Invariant: a group exists while it has at least one committed offset.

mod configs;
mod groups;
mod stored;

pub use configs::{ConfigsOfGroup, GroupConfigs};
pub use groups::{Change, GroupOffsets, Groups};
pub use stored::{StoredGroupError, decode_configs, decode_offset, encode_configs, encode_offset};

#[cfg(test)]
mod tests;
