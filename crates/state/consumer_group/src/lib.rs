//! What consumer groups have committed, and the configs of groups of any kind. Membership is not here: it is soft state of the group coordinator.
//!
//! Invariant: a group exists while it has at least one committed offset; offsets that wait for the end of a transaction don't count.

mod configs;
mod groups;
mod pending;
mod stored;

pub use configs::{ConfigsOfGroup, GroupConfigs};
pub use groups::{Change, GroupOffsets, Groups};
pub use pending::{PendingChange, PendingOffset};
pub use stored::{
    StoredGroupError, decode_configs, decode_offset, decode_pending, encode_configs, encode_offset, encode_pending,
};

#[cfg(test)]
mod tests;
