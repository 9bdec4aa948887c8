use std::mem::size_of;

use daybook_types::{PartitionId, PartitionIndex, TopicId};

use crate::PartitionFiles;
use crate::files::{Seen, Segment};
use crate::name;

#[test]
fn names_of_partitions_are_read_back() {
    let id = PartitionId { topic: TopicId::from_bytes([0xab; 16]), index: PartitionIndex(12) };
    assert_eq!(name::partition(&id.to_string()), Some(id));
    for other in ["", "notes", "abc-1", "ABABABABABABABABABABABABABABABAB-1", "abababababababababababababababab-+1"] {
        assert_eq!(name::partition(other), None, "{other}");
    }
}

/// Ten thousand idle partitions must not cost more than some megabytes.
#[test]
fn an_idle_partition_is_small() {
    let bytes = size_of::<PartitionFiles>() + size_of::<Segment>() + size_of::<Seen>();
    assert!(bytes < 512, "{bytes}");
}
