//! Worlds for tests: stand-ins for the machine that misbehave on purpose. Nothing here is for production use.

pub mod fault_disk;

pub use fault_disk::{FaultDisk, FaultPoint};
