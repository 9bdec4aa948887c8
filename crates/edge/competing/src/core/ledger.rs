//! The books of one lane: what is open in it, an item a run, and which of its progress is safe.

use daybook_delivery::{Ledger as Open, Run};

use super::ident::{ConsumerId, MonotonicMs};

pub(super) type Place = daybook_delivery::Place<ConsumerId>;

#[derive(Debug)]
pub(super) struct Ledger {
    open: Open<ConsumerId>,
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
        Self { open: Open::new(start), keep: Keep { kept: start, keeping: None, last: now } }
    }

    /// Everything below is finished.
    pub fn floor(&self) -> u64 {
        self.open.floor()
    }

    /// The lowest number that may still be offered.
    pub fn next(&self) -> u64 {
        self.open.next()
    }

    pub fn kept(&self) -> u64 {
        self.keep.kept
    }

    pub fn is_idle(&self) -> bool {
        self.open.is_idle()
    }

    /// Opens a number. Those between the last one and this one never were there. `false`: it had its turn.
    pub fn open(&mut self, number: u64, affinity: Option<u64>) -> bool {
        self.open.open(number, affinity)
    }

    /// Numbers below `next` will not be offered any more.
    pub fn pass(&mut self, next: u64) {
        self.open.pass(next);
    }

    pub fn get(&self, number: u64) -> Option<&Run<ConsumerId>> {
        self.open.get(number)
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Run<ConsumerId>> {
        self.open.get_mut(number)
    }

    pub fn finish(&mut self, number: u64) {
        self.open.finish(number);
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
