//! The window of one share-partition (KIP-932): records between its start offset and its end, who acquired which, how often each
//! was delivered.
//!
//! Invariants: a record is with one member at a time; the start offset never falls; what was accepted or rejected is never acquired
//! again; a record is acquired at most as often as the delivery count limit says; `revision` counts every change of what is to be
//! kept.

use std::ops::RangeInclusive;

use daybook_command::{SharePartitionState, ShareRun};
use daybook_delivery::{Ledger, MonotonicMs, Place};
use daybook_types::Offset;
use thiserror::Error;

use crate::ident::MemberId;

/// However large a batch is, the window never spans more records, so that its books and what is kept of them stay small.
const SPAN_MAX: u64 = 10_000;

/// What a group is told to do, as its configs are at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A record that was delivered so often and isn't accepted then is archived.
    pub delivery_count_limit: u32,
    /// New records are acquired while the window spans fewer than these; a batch that was begun is finished.
    pub locks_max: u64,
    pub lock_ms: u64,
}

/// What a member wants to acquire.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// May be exceeded to the end of a batch, unless `exact`.
    pub records_max: u64,
    pub exact: bool,
}

/// Where to read: from `first` on; to `last`, if what follows isn't to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub first: u64,
    pub last: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    pub first: u64,
    /// Included.
    pub last: u64,
    pub deliveries: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is no record at this offset.
    Gap,
    Accept,
    /// To be delivered again.
    Release,
    /// Not to be delivered again.
    Reject,
    /// Still at it: the lock begins anew (KIP-1222).
    Renew,
}

/// What a member says of records that it acquired, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    pub first: u64,
    pub last: u64,
    /// One for all, or one for each.
    pub verdicts: Vec<Verdict>,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum AckError {
    #[error("the acknowledgement is malformed: batches must ascend and carry one type, or one for each record")]
    Malformed,
    #[error("the acknowledgement is past the acquired records")]
    PastTheEnd,
    #[error("the member has not acquired the record, or its lock is over")]
    NotHeld,
}

#[derive(Debug)]
pub struct Window {
    ledger: Ledger<MemberId>,
    epoch: i32,
    revision: u64,
}

impl Window {
    /// As it was kept. What was acquired then is to be had again.
    pub fn restore(state: &SharePartitionState) -> Self {
        let mut ledger = Ledger::new(number(state.start));
        for run in &state.runs {
            let (first, last) = (number(run.first), number(run.last));
            ledger.open_below(first);
            if run.is_done {
                ledger.pass(last.saturating_add(1));
            } else {
                ledger.open_below(last.saturating_add(1));
                ledger.change(first..=last, |_, open| open.deliveries = run.deliveries.into());
            }
        }
        Self { ledger, epoch: state.epoch, revision: 0 }
    }

    /// What is to survive. A delivery that is still going on doesn't count: after a restart it never was.
    pub fn state(&self) -> SharePartitionState {
        let mut runs = Vec::new();
        let start = self.ledger.floor();
        let mut at = start;
        let mut push = |first: u64, last: u64, is_done, deliveries: u32| {
            let deliveries = u16::try_from(deliveries).unwrap_or(u16::MAX);
            runs.push(ShareRun { first: offset(first), last: offset(last), is_done, deliveries });
        };
        for (range, run) in self.ledger.iter() {
            if *range.start() > at {
                push(at, range.start() - 1, true, 0);
            }
            at = range.end() + 1;
            let deliveries = match run.place {
                Place::Held { .. } => run.deliveries.saturating_sub(1),
                Place::Ready | Place::Parking => run.deliveries,
            };
            if deliveries > 0 {
                push(*range.start(), *range.end(), false, deliveries);
            }
        }
        if self.ledger.next() > at {
            push(at, self.ledger.next() - 1, true, 0);
        }
        SharePartitionState { epoch: self.epoch, start: offset(start), runs }
    }

    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Everything below is done with.
    pub fn start(&self) -> u64 {
        self.ledger.floor()
    }

    /// Where there is something to acquire, ascending, about `records_max` records of it.
    pub fn spans(&self, records_max: u64, rules: &Rules) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut records = 0;
        for (range, run) in self.ledger.iter() {
            if records >= records_max {
                return spans;
            }
            if run.place == Place::Ready {
                records += length(&range);
                match spans.last_mut().filter(|span| span.last.is_some_and(|last| last + 1 == *range.start())) {
                    Some(span) => span.last = Some(*range.end()),
                    None => spans.push(Span { first: *range.start(), last: Some(*range.end()) }),
                }
            }
        }
        if records < records_max && self.has_room(rules) {
            spans.push(Span { first: self.ledger.next(), last: None });
        }
        spans
    }

    /// Acquires what is to be had of batches that were read: each the first offset read and the end, ascending.
    pub fn acquire(
        &mut self,
        by: &MemberId,
        batches: &[(u64, u64)],
        ask: Ask,
        rules: &Rules,
        now: MonotonicMs,
    ) -> Vec<Acquired> {
        let mut acquired: Vec<Acquired> = Vec::new();
        let mut left = ask.records_max;
        let until = Some(now.plus(rules.lock_ms));
        for (first, end) in batches.iter().copied().filter(|(first, end)| first < end) {
            if left == 0 {
                break;
            }
            if end > self.ledger.next() && first <= self.ledger.next() && self.has_room(rules) {
                let exact_end = self.ledger.next().saturating_add(left);
                let end = if ask.exact { end.min(exact_end) } else { end };
                self.ledger.open_below(end.min(self.ledger.floor().saturating_add(SPAN_MAX)));
            }
            let is_ready =
                |(_, run): &(RangeInclusive<u64>, &daybook_delivery::Run<MemberId>)| run.place == Place::Ready;
            let parts: Vec<_> = self.ledger.within(first..=end - 1).filter(is_ready).map(|(part, _)| part).collect();
            for part in parts {
                let take = if ask.exact { length(&part).min(left) } else { length(&part) };
                if take == 0 {
                    break;
                }
                left = left.saturating_sub(take);
                let taken = *part.start()..=part.start() + (take - 1);
                self.ledger.change(taken, |range, run| {
                    run.deliveries = run.deliveries.saturating_add(1);
                    run.place = Place::Held { by: by.clone(), until };
                    add(&mut acquired, &range, run.deliveries);
                });
            }
        }
        self.ledger.join();
        acquired
    }

    /// Takes all that a member says, or nothing of it.
    pub fn settle(
        &mut self,
        by: &MemberId,
        acknowledgements: &[Acknowledgement],
        rules: &Rules,
        now: MonotonicMs,
    ) -> Result<(), AckError> {
        self.check(by, acknowledgements)?;
        for acknowledgement in acknowledgements {
            let mut first = acknowledgement.first;
            let count = acknowledgement.verdicts.len() as u64;
            for verdicts in acknowledgement.verdicts.chunk_by(|one, next| one == next) {
                let last = if count == 1 { acknowledgement.last } else { first + (verdicts.len() as u64 - 1) };
                self.settle_run(first..=last, verdicts[0], rules, now);
                first = last.saturating_add(1);
            }
        }
        self.ledger.join();
        Ok(())
    }

    /// Gives back what a member that went has acquired. Says whether there was something.
    pub fn release(&mut self, by: &MemberId, rules: &Rules) -> bool {
        self.give_back(|holder, _| holder == by, rules)
    }

    /// Gives back what was held for too long. Says whether there was something.
    pub fn expire(&mut self, rules: &Rules, now: MonotonicMs) -> bool {
        self.give_back(|_, until| until.is_some_and(|until| until <= now), rules)
    }

    /// When the next lock is over.
    pub fn next_deadline(&self) -> Option<MonotonicMs> {
        let until = |(_, run): (_, &daybook_delivery::Run<MemberId>)| match run.place {
            Place::Held { until, .. } => until,
            _ => None,
        };
        self.ledger.iter().filter_map(until).min()
    }

    /// The log begins here now: what was before is gone, whoever holds it. Says whether that is news.
    pub fn advance(&mut self, start: u64) -> bool {
        if start <= self.ledger.floor() {
            return false;
        }
        self.ledger.finish_all(self.ledger.floor()..=start - 1);
        self.ledger.pass(start);
        self.revision += 1;
        true
    }

    /// Records that nobody is to have: of transactions that were aborted.
    pub fn archive(&mut self, range: RangeInclusive<u64>) {
        self.ledger.open_below(range.end().saturating_add(1));
        let ready: Vec<_> = self.ledger.within(range).filter(|(_, run)| run.place == Place::Ready).collect();
        let ready: Vec<_> = ready.into_iter().map(|(part, _)| part).collect();
        for part in ready {
            self.ledger.finish_all(part);
            self.revision += 1;
        }
    }

    fn has_room(&self, rules: &Rules) -> bool {
        self.ledger.next() - self.ledger.floor() < rules.locks_max.min(SPAN_MAX)
    }

    fn check(&self, by: &MemberId, acknowledgements: &[Acknowledgement]) -> Result<(), AckError> {
        let mut after = 0;
        for Acknowledgement { first, last, verdicts } in acknowledgements {
            let (first, last, count) = (*first, *last, verdicts.len() as u64);
            if first < after || last < first || count == 0 || (count > 1 && last - first != count - 1) {
                return Err(AckError::Malformed);
            }
            after = last.checked_add(1).ok_or(AckError::Malformed)?;
            // What lies before the window is settled, whatever is said of it.
            let first = first.max(self.ledger.floor());
            if last < first {
                continue;
            }
            if last >= self.ledger.next() {
                return Err(AckError::PastTheEnd);
            }
            let is_theirs = |run: &daybook_delivery::Run<MemberId>| matches!(&run.place, Place::Held { by: holder, .. } if holder == by);
            let held: u64 =
                self.ledger.within(first..=last).filter(|(_, run)| is_theirs(run)).map(|(part, _)| length(&part)).sum();
            if held != last - first + 1 {
                return Err(AckError::NotHeld);
            }
        }
        Ok(())
    }

    fn settle_run(&mut self, range: RangeInclusive<u64>, verdict: Verdict, rules: &Rules, now: MonotonicMs) {
        match verdict {
            Verdict::Gap | Verdict::Accept | Verdict::Reject => {
                self.ledger.finish_all(range);
                self.revision += 1;
            }
            Verdict::Release => self.make_ready(range, rules),
            Verdict::Renew => {
                let until = Some(now.plus(rules.lock_ms));
                self.ledger.change(range, |_, run| {
                    if let Place::Held { until: lock, .. } = &mut run.place {
                        *lock = until;
                    }
                });
            }
        }
    }

    fn give_back(&mut self, goes: impl Fn(&MemberId, Option<MonotonicMs>) -> bool, rules: &Rules) -> bool {
        let is_back = |(_, run): &(RangeInclusive<u64>, &daybook_delivery::Run<MemberId>)| match &run.place {
            Place::Held { by, until } => goes(by, *until),
            _ => false,
        };
        let back: Vec<_> = self.ledger.iter().filter(is_back).map(|(range, _)| range).collect();
        let any = !back.is_empty();
        for range in back {
            self.make_ready(range, rules);
        }
        if any {
            self.ledger.join();
        }
        any
    }

    /// To be delivered again, or archived if that was often enough.
    fn make_ready(&mut self, range: RangeInclusive<u64>, rules: &Rules) {
        let mut archived = Vec::new();
        self.ledger.change(range, |part, run| {
            if run.deliveries >= rules.delivery_count_limit { archived.push(part) } else { run.place = Place::Ready }
        });
        for part in archived {
            self.ledger.finish_all(part);
        }
        self.revision += 1;
    }
}

fn add(acquired: &mut Vec<Acquired>, range: &RangeInclusive<u64>, deliveries: u32) {
    match acquired.last_mut() {
        Some(before) if before.last + 1 == *range.start() && before.deliveries == deliveries => {
            before.last = *range.end()
        }
        _ => acquired.push(Acquired { first: *range.start(), last: *range.end(), deliveries }),
    }
}

fn length(range: &RangeInclusive<u64>) -> u64 {
    range.end() - range.start() + 1
}

/// Offsets of a partition are not negative.
fn number(offset: Offset) -> u64 {
    u64::try_from(offset.0).unwrap_or(0)
}

fn offset(number: u64) -> Offset {
    Offset(i64::try_from(number).unwrap_or(i64::MAX))
}
