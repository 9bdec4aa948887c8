//! Which numbers are open, in runs of equal lot, and how far all is finished.
//!
//! Invariants: every number below `next` that isn't open is finished (settled, passed over, or never was one); `floor` never
//! falls; a number is opened once; runs don't overlap.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::clock::MonotonicMs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<H> {
    /// Waits for a holder.
    Ready,
    /// With a holder, until a time or for ever.
    Held { by: H, until: Option<MonotonicMs> },
    /// Its being put aside is being written.
    Parking,
}

/// Consecutive numbers to which the same happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run<H> {
    /// The last number, included; the first is the key.
    last: u64,
    /// Runs of different affinity are never one.
    pub affinity: Option<u64>,
    /// How often it was delivered, the present delivery included.
    pub deliveries: u32,
    pub place: Place<H>,
}

#[derive(Debug)]
pub struct Ledger<H> {
    open: BTreeMap<u64, Run<H>>,
    next: u64,
}

impl<H: Clone + Eq> Ledger<H> {
    pub fn new(start: u64) -> Self {
        Self { open: BTreeMap::new(), next: start }
    }

    /// Everything below is finished.
    pub fn floor(&self) -> u64 {
        self.open.first_key_value().map_or(self.next, |(first, _)| *first)
    }

    /// The lowest number that may still be opened.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// How many runs are open: what the books take of memory.
    pub fn runs(&self) -> usize {
        self.open.len()
    }

    /// Opens a number. Those between the last one and this one never were there. `false`: it had its turn.
    pub fn open(&mut self, number: u64, affinity: Option<u64>) -> bool {
        // The last number of all can't have a next one.
        let Some(next) = number.checked_add(1).filter(|_| number >= self.next) else { return false };
        self.open.insert(number, Run { last: number, affinity, deliveries: 0, place: Place::Ready });
        self.next = next;
        true
    }

    /// Opens all numbers below `end` that may still be.
    pub fn open_below(&mut self, end: u64) {
        if end > self.next {
            let run = Run { last: end - 1, affinity: None, deliveries: 0, place: Place::Ready };
            self.open.insert(self.next, run);
            self.next = end;
        }
    }

    /// Numbers below `next` will not be opened any more.
    pub fn pass(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    /// The run that holds a number.
    pub fn get(&self, number: u64) -> Option<&Run<H>> {
        let (_, run) = self.open.range(..=number).next_back()?;
        (run.last >= number).then_some(run)
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Run<H>> {
        let (_, run) = self.open.range_mut(..=number).next_back()?;
        (run.last >= number).then_some(run)
    }

    /// The open runs, ascending, as first and last number.
    pub fn iter(&self) -> impl Iterator<Item = (RangeInclusive<u64>, &Run<H>)> {
        self.open.iter().map(|(first, run)| (*first..=run.last, run))
    }

    /// The parts of open runs within a range, ascending.
    pub fn within(&self, range: RangeInclusive<u64>) -> impl Iterator<Item = (RangeInclusive<u64>, &Run<H>)> {
        let (first, last) = range.into_inner();
        let from =
            self.open.range(..=first).next_back().filter(|(_, run)| run.last >= first).map_or(first, |(at, _)| *at);
        // An empty range of a map is a panic.
        let runs = (first <= last).then(|| self.open.range(from..=last)).into_iter().flatten();
        runs.map(move |(at, run)| ((*at).max(first)..=run.last.min(last), run))
    }

    /// Changes the lot of the open numbers within a range; what of a run lies outside stays as it is.
    pub fn change(&mut self, range: RangeInclusive<u64>, mut change: impl FnMut(RangeInclusive<u64>, &mut Run<H>)) {
        let (first, last) = range.into_inner();
        if first > last {
            return;
        }
        self.cut_at(first);
        if let Some(after) = last.checked_add(1) {
            self.cut_at(after);
        }
        for (at, run) in self.open.range_mut(first..=last) {
            change(*at..=run.last, run);
        }
    }

    /// Finishes one number.
    pub fn finish(&mut self, number: u64) -> Option<Run<H>> {
        self.get(number)?;
        self.cut_at(number);
        if let Some(after) = number.checked_add(1) {
            self.cut_at(after);
        }
        self.open.remove(&number)
    }

    /// Finishes all numbers of a range, and says whether any of them was open.
    pub fn finish_all(&mut self, range: RangeInclusive<u64>) -> bool {
        let firsts: Vec<u64> = self.within(range.clone()).map(|(part, _)| *part.start()).collect();
        if firsts.is_empty() {
            return false;
        }
        self.cut_at(*range.start());
        if let Some(after) = range.end().checked_add(1) {
            self.cut_at(after);
        }
        for first in firsts {
            self.open.remove(&first);
        }
        true
    }

    /// Makes neighbours of equal lot one run.
    pub fn join(&mut self) {
        let runs = std::mem::take(&mut self.open);
        let mut joined: Option<(u64, Run<H>)> = None;
        for (first, run) in runs {
            match &mut joined {
                Some((_, before)) if before.last.checked_add(1) == Some(first) && before.has_lot_of(&run) => {
                    before.last = run.last;
                }
                _ => {
                    if let Some((at, before)) = joined.replace((first, run)) {
                        self.open.insert(at, before);
                    }
                }
            }
        }
        self.open.extend(joined);
    }

    /// Makes two runs of the one that holds `number` and doesn't begin with it.
    fn cut_at(&mut self, number: u64) {
        let Some((first, run)) = self.open.range_mut(..=number).next_back() else { return };
        if *first < number && run.last >= number {
            let rest = run.clone();
            run.last = number - 1;
            self.open.insert(number, rest);
        }
    }
}

impl<H: Eq> Run<H> {
    fn has_lot_of(&self, other: &Self) -> bool {
        self.deliveries == other.deliveries && self.place == other.place && self.affinity == other.affinity
    }
}
