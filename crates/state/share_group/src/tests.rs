use daybook_command::{DeleteShareState, PutSharePartition, SharePartitionState, ShareRefusal, ShareRun};
use daybook_types::{GroupId, Offset, PartitionId, PartitionIndex, TopicId};

use crate::{ShareGroups, decode_state, encode_state};

fn partition(topic: u8, index: i32) -> PartitionId {
    PartitionId { topic: TopicId::from_bytes([topic; 16]), index: PartitionIndex(index) }
}

fn put(partition: PartitionId, only_if: Option<i32>, epoch: i32, start: i64) -> PutSharePartition {
    let runs = vec![ShareRun { first: Offset(start + 1), last: Offset(start + 3), is_done: true, deliveries: 2 }];
    let state = SharePartitionState { epoch, start: Offset(start), runs };
    PutSharePartition { group: GroupId::new("g"), partition, only_if, state }
}

#[test]
fn a_state_is_kept_by_who_knows_the_epoch_that_is_kept() {
    let mut groups = ShareGroups::default();
    let at = partition(1, 0);
    let fenced = |expected, kept| Err(ShareRefusal::Fenced { group: GroupId::new("g"), expected, kept });
    assert_eq!(groups.put(&put(at, Some(0), 0, 5), |_| true), fenced(Some(0), None));
    assert_eq!(groups.put(&put(at, None, 0, 5), |_| true), Ok(()));
    assert_eq!(groups.put(&put(at, None, 0, 5), |_| true), fenced(None, Some(0)));
    assert_eq!(groups.put(&put(at, Some(0), 0, 9), |_| true), Ok(()));
    let backwards = ShareRefusal::Backwards { group: GroupId::new("g"), kept: Offset(9), asked: Offset(8) };
    assert_eq!(groups.put(&put(at, Some(0), 0, 8), |_| true), Err(backwards));
    // An administrator may.
    assert_eq!(groups.put(&put(at, Some(0), 1, 2), |_| true), Ok(()));
    assert_eq!(groups.put(&put(at, Some(0), 0, 12), |_| true), fenced(Some(0), Some(1)));
    assert_eq!(groups.partition(&GroupId::new("g"), at).unwrap().start, Offset(2));
    assert!(matches!(groups.put(&put(at, Some(1), 1, 3), |_| false), Err(ShareRefusal::UnknownPartition { .. })));
}

#[test]
fn what_goes_is_told_once_and_an_empty_group_goes_with_it() {
    let mut groups = ShareGroups::default();
    for at in [partition(1, 0), partition(1, 1), partition(2, 0)] {
        groups.put(&put(at, None, 0, 5), |_| true).unwrap();
    }
    let kept = groups.take_changes();
    assert_eq!(kept.len(), 3);
    for change in kept {
        let state = change.state.unwrap();
        assert_eq!(decode_state(encode_state(&state)), Ok(state));
    }
    groups.forget_topic(TopicId::from_bytes([2; 16]));
    let group = GroupId::new("g");
    groups.delete(&DeleteShareState { group: group.clone(), partitions: Some(vec![partition(1, 1)]) }).unwrap();
    let gone: Vec<_> = groups.take_changes().into_iter().map(|change| (change.partition, change.state)).collect();
    assert_eq!(gone, [(partition(1, 1), None), (partition(2, 0), None)]);
    groups.delete(&DeleteShareState { group: group.clone(), partitions: None }).unwrap();
    assert_eq!(groups.groups().count(), 0);
    let again = groups.delete(&DeleteShareState { group: group.clone(), partitions: None });
    assert_eq!(again, Err(ShareRefusal::UnknownGroup { group }));
}
