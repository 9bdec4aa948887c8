//! Membership of a share group: who is in, at which epoch, with which partitions.

use std::collections::BTreeMap;

use daybook_delivery::MonotonicMs;
use daybook_types::{PartitionId, PartitionIndex, TopicId};
use proptest::prelude::*;

use crate::core::{Assignment, Group, GroupRules, Heartbeat, HeartbeatError, assign};
use crate::ident::MemberId;

const RULES: GroupRules = GroupRules { members_max: 3, session_timeout_ms: 1_000 };

fn topic(name: &str) -> Option<(TopicId, i32)> {
    let count = name.strip_prefix('t')?.parse().ok()?;
    Some((TopicId::from_bytes([count as u8; 16]), count))
}

fn beat(member: &str, epoch: i32, subscribed: &[&str]) -> Heartbeat {
    Heartbeat {
        member: MemberId::new(member),
        epoch,
        rack: None,
        client_id: "c".into(),
        client_host: "h".into(),
        subscribed: (!subscribed.is_empty()).then(|| subscribed.iter().map(|name| (*name).into()).collect()),
    }
}

fn send(group: &mut Group, beat: Heartbeat, now: u64) -> Result<(i32, Option<usize>), HeartbeatError> {
    let beaten = group.heartbeat(beat, &topic, &RULES, MonotonicMs(now))?;
    Ok((beaten.epoch, beaten.assignment.map(|assignment| assignment.len())))
}

#[test]
fn members_come_share_and_go() {
    let mut group = Group::default();
    assert_eq!(send(&mut group, beat("a", 0, &[]), 0), Err(HeartbeatError::NoTopics));
    assert_eq!(send(&mut group, beat("a", 1, &["t4"]), 0), Err(HeartbeatError::UnknownMember));
    assert_eq!(send(&mut group, beat("a", 0, &["t4"]), 0), Ok((1, Some(4))));
    assert_eq!(send(&mut group, beat("b", 0, &["t4"]), 0), Ok((2, Some(2))));
    // The first one is told with its next heartbeat, once.
    assert_eq!(send(&mut group, beat("a", 1, &[]), 1), Ok((2, Some(2))));
    assert_eq!(send(&mut group, beat("a", 2, &[]), 1), Ok((2, None)));
    // The answer was lost: it comes with the epoch before, and is told again.
    assert_eq!(send(&mut group, beat("a", 1, &[]), 1), Ok((2, Some(2))));
    assert_eq!(send(&mut group, beat("a", 7, &[]), 1), Err(HeartbeatError::FencedEpoch));
    assert_eq!(send(&mut group, beat("b", -1, &[]), 1), Ok((-1, None)));
    assert_eq!(send(&mut group, beat("a", 2, &[]), 1), Ok((3, Some(4))));
}

#[test]
fn a_topic_that_appears_or_grows_is_assigned() {
    let mut group = Group::default();
    let mut count = None;
    let mut send = |epoch: i32, count: Option<i32>| {
        let topics = |_: &str| count.map(|count| (TopicId::from_bytes([1; 16]), count));
        let beaten = group.heartbeat(beat("a", epoch, &["later"]), &topics, &RULES, MonotonicMs(0)).unwrap();
        (beaten.epoch, beaten.assignment.map(|assignment| assignment.len()))
    };
    assert_eq!(send(0, count), (1, Some(0)));
    count = Some(2);
    assert_eq!(send(1, count), (2, Some(2)));
    assert_eq!(send(2, Some(3)), (3, Some(3)));
}

#[test]
fn the_silent_are_put_out_and_a_full_group_takes_nobody() {
    let mut group = Group::default();
    for (member, now) in [("a", 0), ("b", 500), ("c", 500)] {
        send(&mut group, beat(member, 0, &["t6"]), now).unwrap();
    }
    assert_eq!(send(&mut group, beat("d", 0, &["t6"]), 600), Err(HeartbeatError::GroupFull));
    assert_eq!(group.next_deadline(), Some(MonotonicMs(1_000)));
    assert_eq!(group.expire(&topic, MonotonicMs(1_000)), [MemberId::new("a")]);
    // It joined as the second; since then one came and one went.
    assert_eq!(send(&mut group, beat("b", 2, &["t6"]), 1_000), Ok((4, Some(3))));
}

proptest! {
    #[test]
    fn every_partition_has_a_member_and_every_member_a_partition(
        before in prop::collection::btree_map(0..8u8, prop::collection::btree_set(0..10i32, 0..10), 0..8),
        members in prop::collection::btree_set(0..8u8, 1..8),
        partitions in 1..10i32,
    ) {
        let at = |index: i32| PartitionId { topic: TopicId::from_bytes([1; 16]), index: PartitionIndex(index) };
        let name = |member: &u8| MemberId::new(&format!("m{member}"));
        let all: Assignment = (0..partitions).map(at).collect();
        let wanted: BTreeMap<MemberId, Assignment> = members.iter().map(|member| (name(member), all.clone())).collect();
        let before = before.iter().map(|(member, had)| (name(member), had.iter().copied().map(at).collect())).collect();
        let assigned = assign(&wanted, &before);
        let loads: Vec<usize> = all.iter().map(|at| assigned.values().filter(|has| has.contains(at)).count()).collect();
        let shares: Vec<usize> = assigned.values().map(std::collections::BTreeSet::len).collect();
        prop_assert_eq!(assigned.len(), members.len());
        prop_assert!(assigned.values().all(|has| has.is_subset(&all)));
        for counts in [&loads, &shares] {
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            prop_assert!(*least >= 1 && most - least <= 1, "uneven: {:?} {:?}", loads, shares);
        }
        prop_assert_eq!(assign(&wanted, &assigned), assigned, "what is even stays");
    }
}
