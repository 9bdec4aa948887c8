//! Everything a person can configure, and where each value came from.
//!
//! One declarative table (`keys.rs`) names every key with its type, default and meaning; the typed [`Settings`], the
//! names in the environment, `daybook config`, `--help` and the documentation all come from it.
//!
//! Layers, the later wins: defaults, the TOML file, the environment (`DAYBOOK_…`), flags. A key nobody knows is an
//! error that names the nearest known one, because a setting that is silently ignored is worse than none.
//! This crate reads neither the process's environment nor its arguments: [`Layers`] is handed to it.

mod error;
mod file;
mod key;
mod keys;
mod layers;
#[cfg(test)]
mod tests;
mod value;

pub use error::SettingsError;
pub use key::{ENVIRONMENT_PREFIX, Entry, KeyInfo, Source};
pub use keys::{
    CheckpointSettings, GroupSettings, HttpSettings, KafkaSettings, LogSettings, NodeSettings, Settings, ShardSettings,
    WalSettings,
};
pub use layers::Layers;
pub use value::{Address, ByteSize, GroupMigration, LogFilter, SettingValue, WalSync};
