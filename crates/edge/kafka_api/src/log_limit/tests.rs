use std::time::{Duration, Instant};

use super::LogLimit;

#[test]
fn lets_some_through_and_tells_how_many_it_kept_back() {
    let start = Instant::now();
    let limit = LogLimit::new(2, Duration::from_secs(10), start);
    assert_eq!(limit.admit(start), Some(0));
    assert_eq!(limit.admit(start), Some(0));
    assert_eq!(limit.admit(start + Duration::from_secs(1)), None);
    assert_eq!(limit.admit(start + Duration::from_secs(9)), None);
    assert_eq!(limit.admit(start + Duration::from_secs(10)), Some(2));
    assert_eq!(limit.admit(start + Duration::from_secs(11)), Some(0));
    assert_eq!(limit.admit(start + Duration::from_secs(12)), None);
}
