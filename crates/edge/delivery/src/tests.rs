//! The ledger against the plainest one there is: a list with one lot for each number.

use proptest::prelude::*;

use crate::{Ledger, MonotonicMs, Place};

const NUMBERS: u64 = 40;

#[derive(Clone, Debug)]
enum Step {
    Open(u64),
    OpenBelow(u64),
    Pass(u64),
    Hold(u64, u64, u8),
    Finish(u64),
    FinishAll(u64, u64),
    Join,
}

fn step() -> impl Strategy<Value = Step> {
    let number = 0..NUMBERS;
    prop_oneof![
        number.clone().prop_map(Step::Open),
        number.clone().prop_map(Step::OpenBelow),
        number.clone().prop_map(Step::Pass),
        (number.clone(), number.clone(), 0..3u8).prop_map(|(first, last, by)| Step::Hold(first, last, by)),
        number.clone().prop_map(Step::Finish),
        (number.clone(), number).prop_map(|(first, last)| Step::FinishAll(first, last)),
        Just(Step::Join),
    ]
}

/// Deliveries and holder of each open number.
type Plain = Vec<Option<(u32, Option<u8>)>>;

fn lots(ledger: &Ledger<u8>) -> Plain {
    let lot = |number| {
        ledger.get(number).map(|run| match run.place {
            Place::Held { by, .. } => (run.deliveries, Some(by)),
            _ => (run.deliveries, None),
        })
    };
    (0..NUMBERS).map(lot).collect()
}

proptest! {
    #[test]
    fn runs_are_as_good_as_single_numbers(steps in prop::collection::vec(step(), 0..60)) {
        let mut ledger = Ledger::new(0);
        let mut plain: Plain = vec![None; NUMBERS as usize];
        let mut next = 0;
        let mut floor = 0;
        for step in steps {
            match step {
                Step::Open(number) => {
                    prop_assert_eq!(ledger.open(number, None), number >= next);
                    if number >= next {
                        plain[number as usize] = Some((0, None));
                        next = number + 1;
                    }
                }
                Step::OpenBelow(end) => {
                    ledger.open_below(end);
                    (next..end).for_each(|number| plain[number as usize] = Some((0, None)));
                    next = next.max(end);
                }
                Step::Pass(to) => {
                    ledger.pass(to);
                    next = next.max(to);
                }
                Step::Hold(first, last, by) => {
                    ledger.change(first..=last, |_, run| {
                        run.deliveries += 1;
                        run.place = Place::Held { by, until: Some(MonotonicMs(1)) };
                    });
                    let held = plain.iter_mut().enumerate().filter(|(at, _)| (first..=last).contains(&(*at as u64)));
                    held.flat_map(|(_, lot)| lot).for_each(|lot| *lot = (lot.0 + 1, Some(by)));
                }
                Step::Finish(number) => {
                    prop_assert_eq!(ledger.finish(number).is_some(), plain[number as usize].is_some());
                    plain[number as usize] = None;
                }
                Step::FinishAll(first, last) => {
                    let any = (first..=last).any(|number| plain[number as usize].is_some());
                    prop_assert_eq!(ledger.finish_all(first..=last), any);
                    (first..=last).for_each(|number| plain[number as usize] = None);
                }
                Step::Join => {
                    ledger.join();
                    let runs: Vec<_> = ledger.iter().collect();
                    let apart = |pair: &[(_, &crate::Run<u8>)]| {
                        let ((one, before), (two, after)): (&(std::ops::RangeInclusive<u64>, _), &(_, _)) =
                            (&pair[0], &pair[1]);
                        let next_to: &std::ops::RangeInclusive<u64> = two;
                        *one.end() + 1 < *next_to.start()
                            || (before.deliveries, &before.place) != (after.deliveries, &after.place)
                    };
                    prop_assert!(runs.windows(2).all(apart));
                }
            }
            prop_assert_eq!(&lots(&ledger), &plain);
            prop_assert_eq!(ledger.next(), next);
            prop_assert!(ledger.floor() >= floor, "the floor fell");
            floor = ledger.floor();
            let lowest = plain.iter().position(Option::is_some).map_or(next, |at| at as u64);
            prop_assert_eq!(floor, lowest);
        }
    }

    #[test]
    fn a_look_at_a_range_shows_what_is_open_in_it(ends in prop::collection::vec(1..NUMBERS, 1..6), first in 0..NUMBERS, last in 0..NUMBERS) {
        let mut ledger = Ledger::<u8>::new(0);
        ends.iter().for_each(|end| ledger.open_below(*end));
        let open = *ends.iter().max().unwrap();
        let seen: Vec<u64> = ledger.within(first..=last).flat_map(|(part, _)| part).collect();
        let wanted: Vec<u64> = (first..=last).filter(|number| *number < open).collect();
        prop_assert_eq!(seen, wanted);
    }
}
