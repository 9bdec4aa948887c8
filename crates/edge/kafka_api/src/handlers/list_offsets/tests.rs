use daybook_types::TimestampMs;

use super::{Asked, what};
use crate::error_code::ErrorCode;

#[test]
fn negative_timestamps_mean_what_their_version_knows() {
    for version in 1..=10 {
        assert_eq!(what(-1, version), Ok(Asked::Latest));
        assert_eq!(what(-2, version), Ok(Asked::Earliest));
        assert_eq!(what(0, version), Ok(Asked::AtOrAfter(TimestampMs(0))));
        assert_eq!(what(-6, version), Err(ErrorCode::UnsupportedVersion));
        assert_eq!(what(i64::MIN, version), Err(ErrorCode::UnsupportedVersion));
    }
    let since = |timestamp| (1..=10).find(|version| what(timestamp, *version).is_ok());
    assert_eq!([since(-3), since(-4), since(-5)], [Some(7), Some(8), Some(9)]);
}
