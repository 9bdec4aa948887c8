//! What is known about a key, and about one value of it.

use std::fmt;
use std::path::PathBuf;

/// Every variable of the environment that starts so is ours.
pub const ENVIRONMENT_PREFIX: &str = "DAYBOOK_";

/// A row of the table of keys.
#[derive(Clone, Copy, Debug)]
pub struct KeyInfo {
    /// Dotted name, as in the file: `kafka.listen`.
    pub name: &'static str,
    /// Text of the default, read as any other value is.
    pub default: &'static str,
    /// What values are accepted.
    pub accepted: fn() -> String,
    /// One sentence a line, without leading blanks.
    pub meaning: &'static str,
    /// Whether a file may have it without quotes.
    pub(crate) is_bare: bool,
    /// Reads the text; `Err` when it isn't acceptable. Answers the text in its normal form.
    pub(crate) normalise: fn(&str) -> Option<String>,
}

impl KeyInfo {
    /// `kafka.listen` is `DAYBOOK_KAFKA_LISTEN` in the environment.
    pub fn environment_name(&self) -> String {
        format!("{ENVIRONMENT_PREFIX}{}", self.name.replace('.', "_").to_ascii_uppercase())
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Default,
    File { path: PathBuf, line: usize },
    Environment { variable: String },
    Flag { flag: String },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}

/// The effective value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: &'static str,
    /// In its normal form, e.g. `64MiB`.
    pub value: String,
    pub source: Source,
}
