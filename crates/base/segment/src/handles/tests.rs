use std::path::PathBuf;
use std::sync::Arc;

use daybook_types::{Offset, PartitionId, PartitionIndex, TopicId};
use daybook_world::{Disk, RealDisk};
use tempfile::TempDir;

use super::{FILES_OPEN_MAX, Handles, Key};
use crate::name::{Kind, SegmentName};

fn key(number: i32) -> Key {
    let partition = PartitionId { topic: TopicId::from_bytes([1; 16]), index: PartitionIndex(number) };
    Key { partition, segment: SegmentName { base: Offset(0), generation: 0 }, kind: Kind::Data }
}

#[test]
fn the_files_used_last_stay_open() {
    let dir = TempDir::new().unwrap();
    let disk = RealDisk::open(dir.path()).unwrap();
    let handles = Handles::default();
    let mut opened = 0;
    let mut get = |number: i32| {
        let file = handles.get(key(number), || {
            opened += 1;
            disk.create(&PathBuf::from(number.to_string()))
        });
        (file.unwrap(), opened)
    };
    let first = get(0).0;
    for number in 1..2_000 {
        get(number);
        get(0);
        assert!(handles.len() <= FILES_OPEN_MAX);
    }
    let (again, opened) = get(0);
    assert!(Arc::ptr_eq(&first, &again));
    assert_eq!(opened, 2_000);
    assert_eq!(get(1_999).1, 2_000);
    assert_eq!(get(1).1, 2_001);
    handles.forget(|key| key.partition.index == PartitionIndex(0));
    assert_eq!(handles.len(), FILES_OPEN_MAX - 1);
}
