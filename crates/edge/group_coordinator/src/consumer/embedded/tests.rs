use daybook_group_assignment::{FixedTopics, KnownTopic};
use daybook_types::TopicId;
use proptest::prelude::*;

use super::*;

fn topics() -> FixedTopics {
    let mut topics = FixedTopics::default();
    topics.put("a", KnownTopic { id: TopicId::from_bytes([1; 16]), partitions: 3 });
    topics.put("b", KnownTopic { id: TopicId::from_bytes([2; 16]), partitions: 2 });
    topics
}

/// As a Java consumer of version 3 writes it: topics a and b, no user data, b-1 owned, generation 7, rack r.
const SUBSCRIPTION: &[u8] =
    b"\x00\x03\0\0\0\x02\0\x01a\0\x01b\xff\xff\xff\xff\0\0\0\x01\0\x01b\0\0\0\x01\0\0\0\x01\0\0\0\x07\0\x01r";

#[test]
fn a_subscription_is_read() {
    let read = read_subscription(SUBSCRIPTION, &topics()).unwrap();
    assert_eq!(read.topics, BTreeSet::from(["a".into(), "b".into()]));
    assert_eq!(read.owned.len(), 1);
    assert_eq!(read.rack.as_deref(), Some("r"));
    let old = b"\0\0\0\0\0\x01\0\x01a\0\0\0\x02xy";
    assert_eq!(read_subscription(old, &topics()).unwrap().topics, BTreeSet::from(["a".into()]));
    for length in 0..SUBSCRIPTION.len() {
        assert_eq!(read_subscription(&SUBSCRIPTION[..length], &topics()), None, "cut after {length}");
    }
}

proptest! {
    #[test]
    fn an_assignment_is_read_as_it_was_written(indexes in prop::collection::btree_set((1..3_u8, 0..2), 0..6)) {
        let assigned: Vec<PartitionId> = indexes.into_iter().map(|(topic, index)| PartitionId {
            topic: TopicId::from_bytes([topic; 16]), index: PartitionIndex(index)
        }).collect();
        let written = write_assignment(3, &assigned, &topics());
        prop_assert_eq!(read_assignment(&written, &topics()), Some(assigned.into_iter().collect()));
    }

    #[test]
    fn no_bytes_harm(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = (read_subscription(&bytes, &topics()), read_assignment(&bytes, &topics()));
    }
}
