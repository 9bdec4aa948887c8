//! The regular expressions that members subscribe by, with the topics they were last seen to match.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daybook_group_assignment::{InvalidRegex, TopicRegex, Topics};

use crate::ident::MonotonicMs;

/// The shortest time between two looks at all topics: many topics made one after the other are seen together.
const REFRESH_INTERVAL_MS: u64 = 1_000;

#[derive(Debug, Default)]
pub(super) struct Regexes {
    by_text: BTreeMap<Arc<str>, Resolved>,
    version: u64,
    refreshed_at: Option<MonotonicMs>,
}

#[derive(Debug)]
struct Resolved {
    regex: TopicRegex,
    names: BTreeSet<Arc<str>>,
}

impl Regexes {
    pub fn names(&self, text: &str) -> Option<&BTreeSet<Arc<str>>> {
        self.by_text.get(text).map(|resolved| &resolved.names)
    }

    /// Knows the expression from now on.
    pub fn add(&mut self, text: &Arc<str>, topics: &dyn Topics) -> Result<(), InvalidRegex> {
        if !self.by_text.contains_key(text) {
            let regex = TopicRegex::new(text)?;
            let names = regex.resolve(topics);
            self.by_text.insert(text.clone(), Resolved { regex, names });
        }
        Ok(())
    }

    /// Whether topics have come or gone that haven't been looked at yet, and may be by now.
    pub fn are_due(&self, topics: &dyn Topics, now: MonotonicMs) -> bool {
        !self.by_text.is_empty()
            && self.version != topics.version()
            && self.refreshed_at.is_none_or(|at| at.plus(REFRESH_INTERVAL_MS) <= now)
    }

    /// Looks at all topics again, for the expressions that are still in use.
    pub fn refresh(&mut self, is_used: impl Fn(&str) -> bool, topics: &dyn Topics, now: MonotonicMs) {
        self.by_text.retain(|text, _| is_used(text));
        for resolved in self.by_text.values_mut() {
            resolved.names = resolved.regex.resolve(topics);
        }
        self.version = topics.version();
        self.refreshed_at = Some(now);
    }
}
