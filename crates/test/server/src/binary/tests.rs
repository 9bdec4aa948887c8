use std::fs;
use std::time::{Duration, SystemTime};

use super::is_older;

#[test]
fn a_change_anywhere_below_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/src/b");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("c.rs"), "").unwrap();
    let now = SystemTime::now();
    assert!(is_older(dir.path(), now + Duration::from_secs(60)));
    assert!(!is_older(dir.path(), now - Duration::from_secs(60)));
    assert!(is_older(&dir.path().join("missing"), now));
}
