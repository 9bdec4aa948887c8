//! One node: starts the engine and its doors, and stops them in order. Wiring only.

mod event_door;
pub mod inspect;
mod node;

pub use node::{Node, serve};
