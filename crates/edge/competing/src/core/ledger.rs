//! The books of one lane: which numbers are open, and how far all is finished.
//!
//! Invariants: every number below `next` that isn't open is finished (delivered and settled, parked, passed over, or never was
//! one); `floor` never falls; a number is offered once.

use std::collections::BTreeMap;

use super::ident::{ConsumerId, MonotonicMs};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Waits for a consumer.
    Ready,
    /// A consumer holds it.
    Held { by: ConsumerId, until: Option<MonotonicMs> },
    /// Its parking is being written.
    Parking,
}

#[derive(Clone, Debug)]
pub(super) struct Item {
    pub affinity: Option<u64>,
    /// How often it was delivered, the present delivery included.
    pub deliveries: u32,
    pub place: Place,
}

#[derive(Debug)]
pub(super) struct Ledger {
    open: BTreeMap<u64, Item>,
    next: u64,
    keep: Keep,
}

/// What of this lane's progress is safe.
#[derive(Debug)]
struct Keep {
    kept: u64,
    /// Being written.
    keeping: Option<u64>,
    last: MonotonicMs,
}

impl Ledger {
    pub fn new(start: u64, now: MonotonicMs) -> Self {
        Self { open: BTreeMap::new(), next: start, keep: Keep { kept: start, keeping: None, last: now } }
    }

    /// Everything below is finished.
    pub fn floor(&self) -> u64 {
        self.open.first_key_value().map_or(self.next, |(number, _)| *number)
    }

    /// The lowest number that may still be offered.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn kept(&self) -> u64 {
        self.keep.kept
    }

    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Opens a number. Those between the last one and this one never were there. `false`: it had its turn.
    pub fn open(&mut self, number: u64, affinity: Option<u64>) -> bool {
        // The last number of all can't have a next one.
        let Some(next) = number.checked_add(1).filter(|_| number >= self.next) else { return false };
        self.open.insert(number, Item { affinity, deliveries: 0, place: Place::Ready });
        self.next = next;
        true
    }

    /// Numbers below `next` will not be offered any more.
    pub fn pass(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    pub fn get(&self, number: u64) -> Option<&Item> {
        self.open.get(&number)
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Item> {
        self.open.get_mut(&number)
    }

    pub fn finish(&mut self, number: u64) -> Option<Item> {
        self.open.remove(&number)
    }

    pub fn progress(&self) -> u64 {
        self.floor() - self.keep.kept
    }

    pub fn is_keeping(&self) -> bool {
        self.keep.keeping.is_some()
    }

    pub fn last_keep(&self) -> MonotonicMs {
        self.keep.last
    }

    pub fn begin_keeping(&mut self, now: MonotonicMs) -> u64 {
        let floor = self.floor();
        self.keep.keeping = Some(floor);
        self.keep.last = now;
        floor
    }

    pub fn end_keeping(&mut self) {
        if let Some(kept) = self.keep.keeping.take() {
            self.keep.kept = kept;
        }
    }
}
