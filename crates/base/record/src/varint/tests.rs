use proptest::prelude::*;

use super::{bytes_of, put, unzigzag, zigzag};

proptest! {
    #[test]
    fn zigzag_round_trips(value: i64) {
        prop_assert_eq!(unzigzag(zigzag(value)), value);
        let mut out = Vec::new();
        put(&mut out, value);
        prop_assert_eq!(out.len(), bytes_of(value));
    }
}

#[test]
fn small_numbers_of_either_sign_take_one_byte() {
    for (value, bytes) in [(0, 1), (-1, 1), (63, 1), (-64, 1), (64, 2), (-65, 2), (i64::MAX, 10), (i64::MIN, 10)] {
        assert_eq!(bytes_of(value), bytes, "{value}");
    }
}
