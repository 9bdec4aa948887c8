//! What can be wrong with a configuration. Every message says what to change.

use std::path::PathBuf;

use daybook_types::FaultKind;
use thiserror::Error;

use crate::Source;

#[derive(Debug, Error)]
pub enum SettingsError {
    #[error("cannot read the configuration file {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}:{line}: not valid TOML: {reason}", path.display())]
    Syntax { path: PathBuf, line: usize, reason: String },
    #[error("unknown key {key:?} ({from}); the nearest known key is {nearest:?}, `daybook config --keys` lists all")]
    UnknownKey { key: String, from: Source, nearest: &'static str },
    #[error("unknown variable {variable}; the nearest known one is {nearest}, `daybook config --keys` lists all")]
    UnknownVariable { variable: String, nearest: String },
    #[error("{key} = {value:?} ({from}) is not accepted; it takes {accepted}")]
    BadValue { key: &'static str, value: String, from: Source, accepted: String },
    #[error("the variable {variable} is not valid UTF-8")]
    NotText { variable: String },
    #[error("{key} = {value} ({from}) {problem}")]
    Conflict { key: &'static str, value: String, from: Source, problem: String },
}

impl SettingsError {
    pub fn kind(&self) -> FaultKind {
        FaultKind::Reject
    }
}
