use daybook_types::{FaultKind, Offset, TimestampMs};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{EndsError, FileEnds, SegmentEnds};

fn any_ends() -> impl Strategy<Value = FileEnds> {
    let generation = prop_oneof![3 => Just(0), 1 => any::<u32>()];
    let row = (0..9_i64, generation, 1..1_000_000_i64, any::<u64>(), any::<u64>(), any::<i64>());
    let compacted_to = prop_oneof![1 => Just(0), 1 => 0..i64::MAX];
    (vec(row, 0..20), compacted_to).prop_map(|(rows, compacted_to)| {
        let mut next = 0;
        let segments = rows.into_iter().map(|(gap, generation, records, data_bytes, index_bytes, timestamp)| {
            let base = next + gap;
            next = base + records;
            SegmentEnds {
                base_offset: Offset(base),
                generation,
                next_offset: Offset(next),
                data_bytes,
                index_bytes,
                max_timestamp: TimestampMs(timestamp),
            }
        });
        FileEnds { segments: segments.collect(), compacted_to: Offset(compacted_to) }
    })
}

proptest! {
    #[test]
    fn ends_round_trip(ends in any_ends()) {
        prop_assert_eq!(FileEnds::decode(&ends.encode()), Ok(ends));
    }

    #[test]
    fn any_bytes_are_ends_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(ends) = FileEnds::decode(&bytes) {
            prop_assert_eq!(FileEnds::decode(&ends.encode()), Ok(ends));
        }
    }

    #[test]
    fn trimming_keeps_what_reaches_past_the_start(ends in any_ends(), start in 0..5_000_000_i64) {
        let start = Offset(start);
        let trimmed = ends.clone().trimmed(start);
        prop_assert!(trimmed.segments.iter().all(|segment| segment.next_offset > start));
        prop_assert!(ends.segments.ends_with(&trimmed.segments));
        let gone = ends.segments.len() - trimmed.segments.len();
        prop_assert!(ends.segments[..gone].iter().all(|segment| segment.next_offset <= start));
    }
}

#[test]
fn the_encoding_is_that_of_the_format_document() {
    let mut ends = FileEnds {
        segments: vec![SegmentEnds {
            base_offset: Offset(1),
            generation: 0,
            next_offset: Offset(2),
            data_bytes: 3,
            index_bytes: 4,
            max_timestamp: TimestampMs(-1),
        }],
        compacted_to: Offset(0),
    };
    let mut expected = vec![1, 0, 0, 0, 1];
    for field in [1_i64, 2, 3, 4, -1] {
        expected.extend(field.to_be_bytes());
    }
    assert_eq!(ends.encode(), expected);
    assert_eq!(FileEnds::decode(&expected), Ok(ends.clone()));
    // One segment that was rewritten, and all have their generation.
    ends.segments[0].generation = 5;
    expected[0] = 2;
    expected.extend(5_u32.to_be_bytes());
    assert_eq!(ends.encode(), expected);
    // Compacted, and that stands behind the number of segments.
    ends.compacted_to = Offset(7);
    expected[0] = 3;
    expected.splice(5..5, 7_i64.to_be_bytes());
    assert_eq!(ends.encode(), expected);
    assert_eq!(FileEnds::decode(&expected), Ok(ends));
}

#[test]
fn what_is_no_ends_is_refused() {
    let good = FileEnds::default().encode();
    assert_eq!(FileEnds::decode(&[]), Err(EndsError::Truncated { bytes: 0 }));
    assert_eq!(FileEnds::decode(&good[..4]), Err(EndsError::Truncated { bytes: 4 }));
    assert_eq!(FileEnds::decode(&[4, 0, 0, 0, 0]), Err(EndsError::Version { version: 4 }));
    assert_eq!(FileEnds::decode(&[1, 0, 0, 0, 1]), Err(EndsError::Length { segments: 1, bytes: 5 }));
    assert_eq!(EndsError::Version { version: 3 }.kind(), FaultKind::Reject);
    assert_eq!(EndsError::Truncated { bytes: 0 }.kind(), FaultKind::Corrupt);
    let backwards = SegmentEnds {
        base_offset: Offset(5),
        generation: 0,
        next_offset: Offset(5),
        data_bytes: 1,
        index_bytes: 0,
        max_timestamp: TimestampMs(0),
    };
    let error = FileEnds::decode(&FileEnds { segments: vec![backwards], ..FileEnds::default() }.encode()).unwrap_err();
    assert_eq!(error, EndsError::Order { base_offset: Offset(5) });
}
