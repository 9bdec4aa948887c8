//! Which topics a member wants: by name, and by a regular expression that the server resolves.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use regex::RegexBuilder;
use thiserror::Error;

use crate::Topics;

/// Compiled, an expression takes at most so much memory. Clients send them.
const COMPILED_BYTES_MAX: usize = 1024 * 1024;

/// Longest text of an expression.
const TEXT_BYTES_MAX: usize = 8 * 1024;

/// Topic names wanted. Names of topics that don't exist stay: they may come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscription {
    pub names: BTreeSet<Arc<str>>,
    pub regex: Option<Arc<str>>,
}

impl Subscription {
    /// Memory held, with an allowance for each entry.
    pub fn bytes(&self) -> usize {
        const ENTRY_BYTES: usize = 64;
        self.names.iter().map(|name| ENTRY_BYTES + name.len()).sum::<usize>()
            + self.regex.as_ref().map_or(0, |regex| ENTRY_BYTES + regex.len())
    }
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("SubscribedTopicRegex `{regex}` is not a valid regular expression: {cause}")]
pub struct InvalidRegex {
    pub regex: String,
    pub cause: String,
}

/// A regular expression of RE2's syntax that has to match a whole topic name.
#[derive(Clone)]
pub struct TopicRegex {
    compiled: regex::Regex,
}

impl TopicRegex {
    pub fn new(text: &str) -> Result<Self, InvalidRegex> {
        let invalid = |cause: String| InvalidRegex { regex: shortened(text), cause };
        if text.len() > TEXT_BYTES_MAX {
            return Err(invalid(format!("it has more than {TEXT_BYTES_MAX} bytes")));
        }
        // Alone first: what is no expression by itself must not become one between the anchors.
        let build = |text: &str| RegexBuilder::new(text).size_limit(COMPILED_BYTES_MAX).build();
        build(text).map_err(|error| invalid(error.to_string()))?;
        let compiled = build(&format!("^(?:{text})$")).map_err(|error| invalid(error.to_string()))?;
        Ok(Self { compiled })
    }

    pub fn matches(&self, name: &str) -> bool {
        self.compiled.is_match(name)
    }

    /// The topics of these names.
    pub fn resolve(&self, topics: &dyn Topics) -> BTreeSet<Arc<str>> {
        let mut found = BTreeSet::new();
        topics.visit_names(&mut |name| {
            if self.matches(name) {
                found.insert(name.into());
            }
        });
        found
    }
}

impl fmt::Debug for TopicRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopicRegex({})", self.compiled.as_str())
    }
}

fn shortened(text: &str) -> String {
    const SHOWN_BYTES_MAX: usize = 256;
    text[..text.floor_char_boundary(SHOWN_BYTES_MAX)].to_owned()
}
