use std::collections::BTreeMap;

use daybook_catalog::TopicSettings;
use daybook_segment::SegmentEnds;
use daybook_types::{Offset, TimestampMs};

use super::{Compactable, Dirty, Plan, groups, plan};

fn settings(configs: &[(&str, &str)]) -> TopicSettings {
    let configs: BTreeMap<String, String> =
        configs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    TopicSettings::of(&configs, &BTreeMap::new())
}

/// Ten offsets each; segment `n` has records from time `1000 n` to `1000 n + 999`.
fn segments(bytes: &[u64]) -> Vec<SegmentEnds> {
    let segment = |(number, bytes): (usize, &u64)| SegmentEnds {
        base_offset: Offset(number as i64 * 10),
        generation: 0,
        next_offset: Offset(number as i64 * 10 + 10),
        data_bytes: *bytes,
        index_bytes: 0,
        max_timestamp: TimestampMs(number as i64 * 1000 + 999),
    };
    bytes.iter().enumerate().map(segment).collect()
}

fn look(segments: &[SegmentEnds], compacted_to: i64) -> Compactable<'_> {
    Compactable {
        segments,
        start: Offset(0),
        stable: Offset(1_000),
        compacted_to: Offset(compacted_to),
        decided_to: Offset(compacted_to),
        now: TimestampMs(100_000),
    }
}

fn planned(configs: &[(&str, &str)], look: Compactable<'_>) -> Option<Plan> {
    plan(&settings(configs), look, |base| Some(TimestampMs(base.0 * 100 + 1)))
}

fn dirty(plan: Option<Plan>) -> Option<(i64, i64)> {
    plan.map(|Plan { dirty: Dirty { from, to }, .. }| (from.0, to.0))
}

#[test]
fn the_last_segment_is_left_out() {
    assert_eq!(dirty(planned(&[], look(&segments(&[]), 0))), None);
    assert_eq!(dirty(planned(&[], look(&segments(&[100]), 0))), None);
    assert_eq!(dirty(planned(&[], look(&segments(&[100, 100]), 0))), Some((0, 10)));
}

#[test]
fn it_must_be_worth_it() {
    let all = segments(&[100, 100, 100, 100, 1]);
    // Half of it, which is not more than half.
    assert_eq!(dirty(planned(&[], look(&all, 20))), None);
    assert_eq!(dirty(planned(&[], look(&all, 10))), Some((10, 40)));
    assert_eq!(dirty(planned(&[("min.cleanable.dirty.ratio", "0.2")], look(&all, 30))), Some((30, 40)));
    assert_eq!(dirty(planned(&[("min.cleanable.dirty.ratio", "0")], look(&all, 40))), None);
    assert_eq!(dirty(planned(&[("min.cleanable.dirty.ratio", "1")], look(&all, 0))), None);
}

#[test]
fn what_is_too_young_or_not_stable_waits() {
    let all = segments(&[100; 6]);
    // Segment 3 ends at 3,999: at 100,000 that is 96,001 ago.
    assert_eq!(dirty(planned(&[("min.compaction.lag.ms", "96001")], look(&all, 0))), Some((0, 40)));
    assert_eq!(dirty(planned(&[("min.compaction.lag.ms", "96002")], look(&all, 0))), Some((0, 30)));
    assert_eq!(dirty(planned(&[], Compactable { stable: Offset(29), ..look(&all, 0) })), Some((0, 20)));
    assert_eq!(dirty(planned(&[], Compactable { stable: Offset(9), ..look(&all, 0) })), None);
}

#[test]
fn nothing_waits_longer_than_it_may() {
    let all = segments(&[1_000, 1_000, 1_000, 10, 10, 1]);
    assert_eq!(dirty(planned(&[], look(&all, 30))), None);
    // Segment 3 begins at 3,001.
    assert_eq!(dirty(planned(&[("max.compaction.lag.ms", "96998")], look(&all, 30))), Some((30, 50)));
    assert_eq!(dirty(planned(&[("max.compaction.lag.ms", "96999")], look(&all, 30))), None);
}

#[test]
fn what_was_decided_is_done_whatever_it_is_worth() {
    let all = segments(&[1_000, 1_000, 10, 10]);
    let resumed = Compactable { decided_to: Offset(25), ..look(&all, 20) };
    let plan = planned(&[("min.compaction.lag.ms", "99999999")], resumed).unwrap();
    assert_eq!((plan.dirty, plan.is_resumed), (Dirty { from: Offset(20), to: Offset(25) }, true));
}

#[test]
fn what_was_trimmed_counts_for_nothing() {
    let all = segments(&[1_000, 100, 100, 100, 1]);
    let look = Compactable { start: Offset(12), ..look(&all, 20) };
    // 200 of 300 bytes are new, not 200 of 1,300.
    assert_eq!(dirty(planned(&[], look)), Some((20, 40)));
    assert_eq!(dirty(planned(&[], Compactable { start: Offset(25), ..look })), Some((25, 40)));
}

#[test]
fn small_neighbours_become_one() {
    let all = segments(&[40, 40, 30, 90, 20, 5, 5, 1]);
    let bases = |to: i64, bytes: u64| -> Vec<(i64, i64)> {
        groups(&all, Offset(to), bytes).into_iter().map(|bases| (bases.start.0, bases.end.0)).collect()
    };
    assert_eq!(bases(70, 100), [(0, 11), (20, 21), (30, 31), (40, 61)]);
    assert_eq!(bases(25, 100), [(0, 11), (20, 21)]);
    assert_eq!(bases(1_000, 10), [(0, 1), (10, 11), (20, 21), (30, 31), (40, 41), (50, 61)]);
    assert_eq!(bases(0, 100), []);
    assert_eq!(groups(&[], Offset(5), 1), []);
}
