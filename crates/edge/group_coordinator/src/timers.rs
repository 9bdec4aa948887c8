//! What a group waits for, ordered by time. Setting a timer again moves it.
//!
//! Invariant: both maps hold the same pairs.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use crate::ident::MonotonicMs;

/// Timers of one millisecond fire in the order of `T`.
#[derive(Debug)]
pub struct Timers<T> {
    by_time: BTreeSet<(MonotonicMs, T)>,
    by_timer: HashMap<T, MonotonicMs>,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new(), by_timer: HashMap::new() }
    }
}

impl<T: Clone + Ord + Hash> Timers<T> {
    pub fn set(&mut self, timer: T, at: MonotonicMs) {
        self.cancel(&timer);
        self.by_timer.insert(timer.clone(), at);
        self.by_time.insert((at, timer));
    }

    pub fn cancel(&mut self, timer: &T) {
        if let Some(at) = self.by_timer.remove(timer) {
            self.by_time.remove(&(at, timer.clone()));
        }
    }

    pub fn clear(&mut self) {
        self.by_time.clear();
        self.by_timer.clear();
    }

    pub fn next(&self) -> Option<MonotonicMs> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes the first timer that is due.
    pub fn pop_due(&mut self, now: MonotonicMs) -> Option<T> {
        if self.next()? > now {
            return None;
        }
        let (_, timer) = self.by_time.pop_first()?;
        self.by_timer.remove(&timer);
        Some(timer)
    }

    pub fn is_set(&self, timer: &T) -> bool {
        self.by_timer.contains_key(timer)
    }
}
