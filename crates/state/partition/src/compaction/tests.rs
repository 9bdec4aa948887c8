use daybook_command::CompactionBounds;
use daybook_types::{Offset, TimestampMs};
use proptest::prelude::*;

use super::{Compaction, PASSES_MAX};

const HOUR_MS: i64 = 3_600_000;

fn bounds(to: i64, tombstones_below: i64) -> CompactionBounds {
    CompactionBounds { to: Offset(to), tombstones_below: Offset(tombstones_below) }
}

#[test]
fn tombstones_go_a_grace_after_the_pass_that_met_them() {
    let mut compaction = Compaction::default();
    compaction.pass(Offset(10), TimestampMs(0), 24 * HOUR_MS);
    compaction.pass(Offset(20), TimestampMs(12 * HOUR_MS), 24 * HOUR_MS);
    assert_eq!(compaction.bounds, bounds(20, 0));
    compaction.pass(Offset(30), TimestampMs(24 * HOUR_MS - 1), 24 * HOUR_MS);
    assert_eq!(compaction.bounds, bounds(30, 0));
    compaction.pass(Offset(40), TimestampMs(24 * HOUR_MS), 24 * HOUR_MS);
    assert_eq!(compaction.bounds, bounds(40, 10));
    compaction.pass(Offset(50), TimestampMs(36 * HOUR_MS), 24 * HOUR_MS);
    assert_eq!(compaction.bounds, bounds(50, 20));
}

#[test]
fn without_grace_they_go_with_the_second_pass() {
    let mut compaction = Compaction::default();
    compaction.pass(Offset(10), TimestampMs(5), 0);
    assert_eq!(compaction.bounds, bounds(10, 0));
    compaction.pass(Offset(11), TimestampMs(5), 0);
    assert_eq!(compaction.bounds, bounds(11, 10));
}

#[test]
fn a_pass_never_goes_back() {
    let mut compaction = Compaction::default();
    compaction.pass(Offset(10), TimestampMs(0), 100);
    compaction.pass(Offset(4), TimestampMs(50), 100);
    assert_eq!(compaction.bounds, bounds(10, 0));
    // It may show all the same that a grace is over.
    compaction.pass(Offset(10), TimestampMs(100), 100);
    assert_eq!(compaction.bounds, bounds(10, 10));
}

proptest! {
    /// Passes at any times: no tombstone goes before its grace, and each soon after it.
    #[test]
    fn grace_is_kept_and_not_much_exceeded(
        steps in proptest::collection::vec((1..50i64, 0..20_000i64), 1..200),
        grace in 1..100_000i64,
    ) {
        let mut compaction = Compaction::default();
        let (mut offset, mut time) = (0, 0);
        let mut passed = Vec::new();
        for (records, pause) in steps {
            offset += records;
            time += pause;
            compaction.pass(Offset(offset), TimestampMs(time), grace);
            passed.push((offset, time));
            let below = compaction.bounds.tombstones_below.0;
            let over = |since: i64| passed.iter().rev().find(|(_, at)| time - at >= since).map_or(0, |(to, _)| *to);
            prop_assert!(below <= over(grace));
            prop_assert!(below >= over(grace + grace / 16 + 1));
            prop_assert!(compaction.passes.len() <= PASSES_MAX);
            prop_assert_eq!(&Compaction::decode(compaction.encode()).unwrap(), &compaction);
        }
    }

    #[test]
    fn arbitrary_bytes_are_an_error_or_a_state(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = Compaction::decode(bytes.into());
    }
}
