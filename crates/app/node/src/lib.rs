//! One node: opens its data directory, starts its shard and its doors, and stops them in order. Wiring only.

mod data_dir;
mod event_door;
pub mod inspect;
mod node;

pub use data_dir::{DataDir, DataDirError};
pub use node::{Node, serve};
