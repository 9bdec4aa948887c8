//! The commands, one a file. `bench` has a folder of its own.

pub mod category;
pub mod config;
pub mod consume;
pub mod group;
pub mod log;
pub mod produce;
pub mod serve;
pub mod stream;
pub mod topic;
