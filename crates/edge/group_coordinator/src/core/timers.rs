//! What a group waits for, ordered by time. Setting a timer again moves it.
//!
//! Invariant: both maps hold the same pairs.

use std::collections::{BTreeSet, HashMap};

use crate::ident::{MemberId, MonotonicMs};

/// The order is the order in which timers of one millisecond fire: a rebalance that is over is over, whoever expires with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// Members have had their time to join.
    Join,
    /// Members have had their time to sync.
    Sync,
    /// The group has long been empty.
    Retire,
    /// The member, full or pending, has been silent.
    Session(MemberId),
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    by_time: BTreeSet<(MonotonicMs, Timer)>,
    by_timer: HashMap<Timer, MonotonicMs>,
}

impl Timers {
    pub fn set(&mut self, timer: Timer, at: MonotonicMs) {
        self.cancel(&timer);
        self.by_timer.insert(timer.clone(), at);
        self.by_time.insert((at, timer));
    }

    pub fn cancel(&mut self, timer: &Timer) {
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
    pub fn pop_due(&mut self, now: MonotonicMs) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        let (_, timer) = self.by_time.pop_first()?;
        self.by_timer.remove(&timer);
        Some(timer)
    }

    #[cfg(test)]
    pub fn is_set(&self, timer: &Timer) -> bool {
        self.by_timer.contains_key(timer)
    }
}
