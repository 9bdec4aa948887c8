use daybook_command::{AlterGroupConfigs, CommitOffsets, DeleteGroup, DeleteOffsets, OffsetToCommit};
use daybook_types::{GroupId, Offset, PartitionId, PartitionIndex, TimestampMs, TopicId};

use crate::{GroupConfigs, Groups, decode_configs, decode_offset, encode_configs, encode_offset};

fn partition(topic: u8, index: i32) -> PartitionId {
    PartitionId { topic: TopicId::from_bytes([topic; 16]), index: PartitionIndex(index) }
}

fn commit(group: &str, partition: PartitionId, offset: i64) -> CommitOffsets {
    CommitOffsets {
        group: GroupId::new(group),
        protocol_type: "consumer".into(),
        offsets: vec![OffsetToCommit { partition, offset: Offset(offset), leader_epoch: -1, metadata: "m".into() }],
    }
}

#[test]
fn the_last_commit_counts_and_its_metadata_is_kept() {
    let mut groups = Groups::default();
    groups.commit(&commit("g", partition(1, 0), 5), TimestampMs(10), |_| true);
    groups.commit(&commit("g", partition(1, 0), 3), TimestampMs(11), |_| true);
    let group = groups.group(&GroupId::new("g")).unwrap();
    let offset = &group.offsets[&partition(1, 0)];
    assert_eq!((offset.offset, offset.metadata.as_str(), offset.committed_at), (Offset(3), "m", TimestampMs(11)));
    let changes = groups.take_changes();
    assert_eq!(changes.len(), 1);
    let (kept, protocol_type) = changes[0].offset.clone().unwrap();
    assert_eq!(decode_offset(encode_offset(&kept, &protocol_type)).unwrap(), (kept, "consumer".to_owned()));
    assert!(groups.take_changes().is_empty());
}

#[test]
fn what_was_committed_for_a_deleted_topic_goes_and_so_does_an_empty_group() {
    let mut groups = Groups::default();
    groups.commit(&commit("a", partition(1, 0), 5), TimestampMs(1), |_| true);
    groups.commit(&commit("a", partition(2, 0), 6), TimestampMs(1), |_| true);
    groups.commit(&commit("b", partition(1, 1), 7), TimestampMs(1), |_| true);
    groups.commit(&commit("c", partition(3, 1), 7), TimestampMs(1), |_| false);
    groups.take_changes();
    groups.forget_topic(TopicId::from_bytes([1; 16]));
    assert_eq!(groups.groups().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a"]);
    let gone = groups.take_changes();
    assert_eq!(gone.len(), 2);
    assert!(gone.iter().all(|change| change.offset.is_none()));
}

#[test]
fn groups_and_offsets_are_deleted_once() {
    let mut groups = Groups::default();
    groups.commit(&commit("a", partition(1, 0), 5), TimestampMs(1), |_| true);
    groups.commit(&commit("a", partition(1, 1), 5), TimestampMs(1), |_| true);
    let some = DeleteOffsets { group: GroupId::new("a"), partitions: vec![partition(1, 1)] };
    groups.delete_offsets(&some).unwrap();
    assert_eq!(groups.group(&GroupId::new("a")).unwrap().offsets.len(), 1);
    let whole = DeleteGroup { group: GroupId::new("a") };
    groups.delete(&whole).unwrap();
    assert!(groups.delete(&whole).is_err());
    assert!(groups.delete_offsets(&some).is_err());
}

#[test]
fn configs_are_set_and_returned_to_their_defaults() {
    let mut configs = GroupConfigs::default();
    let group = GroupId::new("a");
    let alter = |name: &str, value: Option<&str>| AlterGroupConfigs {
        group: GroupId::new("a"),
        changes: vec![(name.into(), value.map(str::to_owned))],
    };
    configs.alter(&alter("x", Some("1"))).unwrap();
    configs.alter(&alter("y", Some("2"))).unwrap();
    let [(_, Some(kept))] = &configs.take_changes()[..] else { panic!("one group changed") };
    assert_eq!(decode_configs(encode_configs(kept)).as_ref(), Ok(kept));
    configs.alter(&alter("x", None)).unwrap();
    assert_eq!(configs.group(&group).unwrap().len(), 1);
    configs.alter(&alter("y", None)).unwrap();
    assert_eq!(configs.take_changes(), [(group, None)]);
    assert_eq!(configs.groups().count(), 0);
}
