//! Something that is not as the house rules want it.

use std::fmt;

/// Where it is and what to do. Sorts by place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Relative to the root, with slashes.
    pub path: String,
    /// From 1; 0 where the file as a whole is meant.
    pub line: usize,
    pub message: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}
