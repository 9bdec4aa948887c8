//! Random histories of a window, beside the plainest books there are: for each record what became of it and who holds it.

use std::collections::BTreeMap;

use daybook_delivery::MonotonicMs;
use proptest::prelude::*;

use crate::core::{AckError, Acknowledgement, Acquired, Ask, Rules, Span, Verdict, Window};
use crate::ident::MemberId;

const RULES: Rules = Rules { delivery_count_limit: 3, locks_max: 40, lock_ms: 100 };

fn member(name: u8) -> MemberId {
    MemberId::new(&format!("m{name}"))
}

fn window() -> Window {
    Window::restore(&Default::default())
}

fn some(records_max: u64) -> Ask {
    Ask { records_max, exact: false }
}

fn said(first: u64, last: u64, verdicts: &[Verdict]) -> Vec<Acknowledgement> {
    vec![Acknowledgement { first, last, verdicts: verdicts.to_vec() }]
}

#[derive(Clone, Debug)]
enum Step {
    /// The log grows by a batch of so many records.
    Append(u64),
    Acquire {
        by: u8,
        records_max: u64,
        exact: bool,
    },
    /// The n-th record that the member holds, and those after it.
    Settle {
        by: u8,
        at: usize,
        count: usize,
        verdict: u8,
    },
    Pass(u64),
    Leave(u8),
    Trim(u64),
    /// The server is killed and comes back with what was kept.
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1..8u64).prop_map(Step::Append),
        5 => (0..3u8, 1..12u64, any::<bool>()).prop_map(|(by, records_max, exact)| Step::Acquire { by, records_max, exact }),
        6 => (0..3u8, 0..6usize, 1..6usize, 0..5u8)
            .prop_map(|(by, at, count, verdict)| Step::Settle { by, at, count, verdict }),
        2 => (1..120u64).prop_map(Step::Pass),
        1 => (0..3u8).prop_map(Step::Leave),
        1 => (0..6u64).prop_map(Step::Trim),
        1 => Just(Step::Restart),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Ready { deliveries: u32 },
    Held { by: u8, until: u64, deliveries: u32 },
    Done,
}

/// What must be true of a window, by record.
#[derive(Default)]
struct Plain {
    fates: BTreeMap<u64, Fate>,
    /// Ends of the batches in the log.
    ends: Vec<u64>,
    now: u64,
    log_start: u64,
}

impl Plain {
    fn end(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn fate(&self, offset: u64) -> Fate {
        self.fates.get(&offset).copied().unwrap_or(Fate::Ready { deliveries: 0 })
    }

    /// The batches from an offset on, as the log would be read.
    fn batches(&self, spans: &[Span]) -> Vec<(u64, u64)> {
        let mut batches: Vec<(u64, u64)> = Vec::new();
        for span in spans {
            let mut at = span.first.max(batches.last().map_or(0, |(_, end)| *end));
            while at < self.end() && span.last.is_none_or(|last| at <= last) {
                let end = *self.ends.iter().find(|end| **end > at).unwrap();
                batches.push((at, end));
                at = end;
            }
        }
        batches
    }

    fn acquired(&mut self, by: u8, runs: &[Acquired]) -> Result<(), TestCaseError> {
        for run in runs {
            for offset in run.first..=run.last {
                let Fate::Ready { deliveries } = self.fate(offset) else {
                    return Err(TestCaseError::fail(format!("{offset} was {:?} and was delivered", self.fate(offset))));
                };
                prop_assert_eq!(run.deliveries, deliveries + 1, "deliveries of {}", offset);
                prop_assert!(run.deliveries <= RULES.delivery_count_limit);
                prop_assert!(offset >= self.log_start && offset < self.end());
                let until = self.now + RULES.lock_ms;
                self.fates.insert(offset, Fate::Held { by, until, deliveries: run.deliveries });
            }
        }
        Ok(())
    }

    fn held(&self, by: u8) -> Vec<u64> {
        let is_its = |(_, fate): &(&u64, &Fate)| matches!(fate, Fate::Held { by: holder, .. } if *holder == by);
        self.fates.iter().filter(is_its).map(|(offset, _)| *offset).collect()
    }

    fn give_back(&mut self, goes: impl Fn(u8, u64) -> bool) {
        for fate in self.fates.values_mut() {
            if let Fate::Held { by, until, deliveries } = *fate
                && goes(by, until)
            {
                *fate = returned(deliveries);
            }
        }
    }

    /// The first record that isn't done with; where the window hasn't come to yet, nothing is.
    fn start(&self, opened: u64) -> u64 {
        (self.log_start..opened).find(|offset| self.fate(*offset) != Fate::Done).unwrap_or(opened.max(self.log_start))
    }
}

fn returned(deliveries: u32) -> Fate {
    if deliveries >= RULES.delivery_count_limit { Fate::Done } else { Fate::Ready { deliveries } }
}

fn verdict(code: u8) -> Verdict {
    match code {
        0 => Verdict::Gap,
        1 => Verdict::Accept,
        2 => Verdict::Release,
        3 => Verdict::Reject,
        _ => Verdict::Renew,
    }
}

fn play(plain: &mut Plain, window: &mut Window, step: Step) -> Result<(), TestCaseError> {
    let now = MonotonicMs(plain.now);
    match step {
        Step::Append(records) => plain.ends.push(plain.end() + records),
        Step::Acquire { by, records_max, exact } => {
            let batches = plain.batches(&window.spans(records_max, &RULES));
            let acquired = window.acquire(&member(by), &batches, Ask { records_max, exact }, &RULES, now);
            let count: u64 = acquired.iter().map(|run| run.last - run.first + 1).sum();
            prop_assert!(!exact || count <= records_max);
            prop_assert!(acquired.windows(2).all(|pair| pair[0].last < pair[1].first));
            plain.acquired(by, &acquired)?;
        }
        Step::Settle { by, at, count, verdict: code } => {
            let held = plain.held(by);
            let Some(first) = held.get(at).copied() else { return Ok(()) };
            let run = held[at..].iter().zip(first..).take(count).take_while(|(offset, want)| *offset == want).count();
            let last = first + run as u64 - 1;
            prop_assert_eq!(window.settle(&member(by), &said(first, last, &[verdict(code)]), &RULES, now), Ok(()));
            for offset in first..=last {
                let Fate::Held { deliveries, .. } = plain.fate(offset) else { unreachable!("it is held") };
                let until = plain.now + RULES.lock_ms;
                let fate = match verdict(code) {
                    Verdict::Gap | Verdict::Accept | Verdict::Reject => Fate::Done,
                    Verdict::Release => returned(deliveries),
                    Verdict::Renew => Fate::Held { by, until, deliveries },
                };
                plain.fates.insert(offset, fate);
            }
            // Another member can't, whatever it says.
            let stranger = member(by + 1);
            let again = window.settle(&stranger, &said(first, last, &[Verdict::Accept]), &RULES, now);
            let is_before_start = last < window.start();
            prop_assert_eq!(again, if is_before_start { Ok(()) } else { Err(AckError::NotHeld) });
        }
        Step::Pass(time) => {
            plain.now += time;
            window.expire(&RULES, MonotonicMs(plain.now));
            let now = plain.now;
            plain.give_back(|_, until| until <= now);
        }
        Step::Leave(by) => {
            window.release(&member(by), &RULES);
            plain.give_back(|holder, _| holder == by);
        }
        Step::Trim(records) => {
            let start = (plain.log_start + records).min(plain.end());
            window.advance(start);
            plain.log_start = start;
            (0..start).for_each(|offset| {
                plain.fates.insert(offset, Fate::Done);
            });
        }
        Step::Restart => {
            let state = window.state();
            *window = Window::restore(&state);
            prop_assert_eq!(window.state(), state);
            // What was being delivered never was.
            for fate in plain.fates.values_mut() {
                if let Fate::Held { deliveries, .. } = *fate {
                    *fate = Fate::Ready { deliveries: deliveries - 1 };
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn each_record_is_with_one_member_at_a_time_until_it_is_settled(steps in prop::collection::vec(step(), 1..120)) {
        let mut plain = Plain::default();
        let mut window = window();
        let mut start = 0;
        for step in steps {
            play(&mut plain, &mut window, step)?;
            prop_assert!(window.start() >= start, "the start fell");
            start = window.start();
            let touched = plain.fates.keys().next_back().map_or(0, |last| last + 1);
            prop_assert_eq!(start, plain.start(touched));
        }
        // In the end everything is delivered until it is settled, and the start comes to the end.
        plain.now += RULES.lock_ms;
        window.expire(&RULES, MonotonicMs(plain.now));
        let now = plain.now;
        plain.give_back(|_, until| until <= now);
        let rounds = plain.end() + 1;
        for _ in 0..rounds {
            let batches = plain.batches(&window.spans(5, &RULES));
            let acquired = window.acquire(&member(9), &batches, some(5), &RULES, MonotonicMs(now));
            plain.acquired(9, &acquired)?;
            for run in acquired {
                let all = said(run.first, run.last, &[Verdict::Accept]);
                prop_assert_eq!(window.settle(&member(9), &all, &RULES, MonotonicMs(now)), Ok(()));
                (run.first..=run.last).for_each(|offset| { plain.fates.insert(offset, Fate::Done); });
            }
        }
        prop_assert_eq!(window.start(), plain.end());
    }
}

fn acquire(window: &mut Window, by: u8, batches: &[(u64, u64)], records_max: u64) -> Vec<(u64, u64, u32)> {
    let acquired = window.acquire(&member(by), batches, some(records_max), &RULES, MonotonicMs(0));
    acquired.iter().map(|run| (run.first, run.last, run.deliveries)).collect()
}

#[test]
fn a_batch_is_acquired_whole_unless_the_limit_is_exact() {
    let mut window = window();
    assert_eq!(acquire(&mut window, 1, &[(0, 10), (10, 20)], 3), [(0, 9, 1)]);
    let exact = Ask { records_max: 3, exact: true };
    let acquired = window.acquire(&member(1), &[(10, 20)], exact, &RULES, MonotonicMs(0));
    assert_eq!(acquired, [Acquired { first: 10, last: 12, deliveries: 1 }]);
    assert_eq!(window.spans(5, &RULES), [Span { first: 13, last: None }]);
}

#[test]
fn the_window_bounds_what_is_new_and_not_what_is_released() {
    let mut window = window();
    assert_eq!(acquire(&mut window, 1, &[(0, 30), (30, 60)], 100), [(0, 59, 1)]);
    assert_eq!(window.spans(5, &RULES), []);
    window.settle(&member(1), &said(20, 29, &[Verdict::Release]), &RULES, MonotonicMs(0)).unwrap();
    assert_eq!(window.spans(5, &RULES), [Span { first: 20, last: Some(29) }]);
    assert_eq!(acquire(&mut window, 2, &[(20, 30)], 5), [(20, 29, 2)]);
}

#[test]
fn a_batch_larger_than_the_window_may_ever_be_is_acquired_in_part() {
    let mut window = window();
    assert_eq!(acquire(&mut window, 1, &[(0, 1_000_000)], 1), [(0, 9_999, 1)]);
    assert_eq!(window.spans(5, &RULES), []);
}

#[test]
fn acknowledgements_are_taken_whole_or_not_at_all() {
    let mut window = window();
    acquire(&mut window, 1, &[(0, 10)], 10);
    let now = MonotonicMs(0);
    let refused =
        |window: &mut Window, said: &[Acknowledgement]| window.settle(&member(1), said, &RULES, now).unwrap_err();
    let good = said(0, 3, &[Verdict::Accept])[0].clone();
    for (bad, error) in [
        (said(4, 3, &[Verdict::Accept]), AckError::Malformed),
        (said(3, 5, &[Verdict::Accept]), AckError::Malformed),
        (said(4, 6, &[]), AckError::Malformed),
        (said(4, 6, &[Verdict::Accept, Verdict::Accept]), AckError::Malformed),
        (said(8, 10, &[Verdict::Accept]), AckError::PastTheEnd),
    ] {
        let both = [good.clone(), bad[0].clone()];
        assert_eq!(refused(&mut window, &both), error, "{bad:?}");
        assert_eq!(window.start(), 0);
    }
    let each = [Verdict::Accept, Verdict::Gap, Verdict::Release, Verdict::Reject];
    window.settle(&member(1), &said(0, 3, &each), &RULES, now).unwrap();
    assert_eq!(window.start(), 2);
    // Settled records below the start may be named again; above it they may not.
    window.settle(&member(1), &said(0, 1, &[Verdict::Accept]), &RULES, now).unwrap();
    assert_eq!(refused(&mut window, &said(3, 3, &[Verdict::Accept])), AckError::NotHeld);
}

#[test]
fn records_of_aborted_transactions_are_nobodys() {
    let mut window = window();
    window.archive(2..=4);
    assert_eq!(acquire(&mut window, 1, &[(0, 8)], 10), [(0, 1, 1), (5, 7, 1)]);
    window.settle(&member(1), &said(0, 1, &[Verdict::Accept]), &RULES, MonotonicMs(0)).unwrap();
    assert_eq!(window.start(), 5);
}
