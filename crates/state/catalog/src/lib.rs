//! Topics and their configs: what exists, under which name and id; and the configs of what isn't a topic. Pure; changed only by commands.
//!
//! Invariants: a name and an id each belong to at most one topic; a topic's partition count only grows.

mod catalog;
mod dynamic_configs;
mod settings;
mod topic;
pub mod topic_config;

pub use catalog::Catalog;
pub use dynamic_configs::DynamicConfigs;
pub use settings::{RetentionIsOwn, TimestampKind, TopicSettings};
pub use topic::{StoredTopicError, Topic};
pub use topic_config::{ConfigKind, ConfigRefusal, Definition};

#[cfg(test)]
mod tests;
