use daybook_segment::SegmentEnds;
use daybook_types::{Offset, TimestampMs};

use super::{Limits, start_kept};

/// Ten records of a hundred bytes each, the latest at `timestamp`.
fn segments(timestamps: &[i64]) -> Vec<SegmentEnds> {
    let segment = |(number, timestamp): (usize, &i64)| SegmentEnds {
        base_offset: Offset(number as i64 * 10),
        generation: 0,
        next_offset: Offset(number as i64 * 10 + 10),
        data_bytes: 1000,
        index_bytes: 0,
        max_timestamp: TimestampMs(*timestamp),
    };
    timestamps.iter().enumerate().map(segment).collect()
}

const NOW: TimestampMs = TimestampMs(100_000);
const AGE: Limits = Limits { age_ms: Some(10_000), bytes: None };
const END: Offset = Offset(1000);

fn kept(timestamps: &[i64], limits: Limits) -> Option<Offset> {
    start_kept(&segments(timestamps), Offset(0), END, limits, NOW)
}

#[test]
fn without_limits_all_stays() {
    assert_eq!(kept(&[0, 0, 0], Limits::default()), None);
}

#[test]
fn the_oldest_go_by_their_latest_record() {
    assert_eq!(kept(&[80_000, 89_999, 90_000, 95_000], AGE), Some(Offset(20)));
    assert_eq!(kept(&[90_000, 80_000], AGE), None);
    // All of them, the one that is written to too.
    assert_eq!(kept(&[1, 2], AGE), Some(Offset(20)));
}

#[test]
fn what_has_no_timestamp_does_not_age_and_keeps_what_follows() {
    assert_eq!(kept(&[-1, 2], AGE), None);
    assert_eq!(kept(&[2, -1], AGE), Some(Offset(10)));
}

#[test]
fn by_size_at_least_the_limit_stays() {
    let bytes = |limit| Limits { age_ms: None, bytes: Some(limit) };
    assert_eq!(kept(&[0; 5], bytes(5_000)), None);
    assert_eq!(kept(&[0; 5], bytes(4_001)), None);
    assert_eq!(kept(&[0; 5], bytes(4_000)), Some(Offset(10)));
    assert_eq!(kept(&[0; 5], bytes(1_500)), Some(Offset(30)));
    assert_eq!(kept(&[0; 5], bytes(0)), Some(Offset(50)));
}

#[test]
fn nothing_goes_from_the_last_stable_offset_on() {
    let all = segments(&[1; 4]);
    assert_eq!(start_kept(&all, Offset(0), Offset(25), AGE, NOW), Some(Offset(20)));
    assert_eq!(start_kept(&all, Offset(0), Offset(9), AGE, NOW), None);
}

#[test]
fn what_is_below_the_start_is_not_counted() {
    let all = segments(&[1; 4]);
    let limits = Limits { age_ms: None, bytes: Some(2_000) };
    assert_eq!(start_kept(&all, Offset(20), END, limits, NOW), None);
    // A segment that reaches over the start counts whole, as in Kafka.
    assert_eq!(start_kept(&all, Offset(15), END, limits, NOW), Some(Offset(20)));
}
