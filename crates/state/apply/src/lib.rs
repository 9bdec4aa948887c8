//! Apply: one committed entry after the other changes the state, and nothing else does.
//!
//! Deterministic: given the same entries from the same state, every member decides alike. No clock, no randomness, no
//! disk, no order of a hash map influences it. `digest` is how that is tested.
//!
//! `ShardState` is the writer, on the shard's thread. `Posted` is what readers share.

mod checkpoint;
mod digest;
mod events;
mod posted;
mod state;
mod transactions;

pub use checkpoint::RestoreError;
pub use digest::Digest;
pub use posted::Posted;
pub use state::ShardState;
