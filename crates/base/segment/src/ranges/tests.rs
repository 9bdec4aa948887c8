use proptest::prelude::*;

use super::{RANGES_MAX, Ranges};

proptest! {
    #[test]
    fn behaves_as_a_set_of_bytes(added in prop::collection::vec((0..200_u64, 0..20_u64), 0..20), wanted in (0..200_u64, 0..100_u64)) {
        let mut ranges = Ranges::default();
        let mut model = vec![false; 320];
        for (start, bytes) in added {
            ranges.insert(start..start + bytes);
            model[start as usize..(start + bytes) as usize].fill(true);
        }
        let wanted = wanted.0..wanted.0 + wanted.1;
        let missing = ranges.missing(wanted.clone());
        prop_assert!(missing.is_sorted_by_key(|range| range.start));
        prop_assert!(missing.iter().all(|range| !range.is_empty()));
        let missing: Vec<u64> = missing.into_iter().flatten().collect();
        let expected: Vec<u64> = wanted.filter(|&byte| !model[byte as usize]).collect();
        prop_assert_eq!(missing, expected);
        // Ranges that touch are one.
        prop_assert!(ranges.ranges.is_sorted_by(|a, b| a.end < b.start));
    }
}

#[test]
fn too_many_ranges_are_forgotten_the_smallest_first() {
    let mut ranges = Ranges::default();
    for number in 0..RANGES_MAX as u64 {
        ranges.insert(number * 100..number * 100 + 50);
    }
    ranges.insert(99_000..99_001);
    assert_eq!(ranges.ranges.len(), RANGES_MAX);
    assert_eq!(ranges.missing(99_000..99_001).first(), Some(&(99_000..99_001)));
    assert_eq!(ranges.missing(0..50), []);
}
