use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_types::{PartitionId, PartitionIndex, TopicId};
use proptest::prelude::*;

use crate::{AssignedMember, Assignor, FixedTopics, KnownTopic, Partitions, TopicRegex};

fn topic(number: u8) -> TopicId {
    TopicId::from_bytes([number; 16])
}

fn parts(list: &[(u8, i32)]) -> Arc<Partitions> {
    Arc::new(list.iter().map(|(t, p)| PartitionId { topic: topic(*t), index: PartitionIndex(*p) }).collect())
}

fn wants(list: &[(u8, i32)]) -> Arc<[(TopicId, i32)]> {
    list.iter().map(|(t, count)| (topic(*t), *count)).collect()
}

fn member<'a>(id: &'a str, topics: &[(u8, i32)], target: &[(u8, i32)]) -> AssignedMember<'a> {
    AssignedMember { id, instance: None, topics: wants(topics), target: parts(target) }
}

#[test]
fn range_gives_neighbours_and_the_rest_to_the_first() {
    let members = [member("b", &[(1, 5), (2, 3)], &[]), member("a", &[(1, 5), (2, 3)], &[])];
    let targets = Assignor::Range.assign(&members);
    assert_eq!(targets[1], parts(&[(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]));
    assert_eq!(targets[0], parts(&[(1, 3), (1, 4), (2, 2)]));
}

#[test]
fn range_puts_static_members_first_by_instance() {
    let mut members = [member("a", &[(1, 3)], &[]), member("b", &[(1, 3)], &[]), member("c", &[(1, 3)], &[])];
    members[2].instance = Some("i1");
    members[1].instance = Some("i2");
    let targets = Assignor::Range.assign(&members);
    assert_eq!(targets, [parts(&[(1, 2)]), parts(&[(1, 1)]), parts(&[(1, 0)])]);
}

#[test]
fn range_divides_each_topic_among_those_who_want_it() {
    let members = [member("a", &[(1, 2), (2, 2)], &[]), member("b", &[(2, 2)], &[])];
    let targets = Assignor::Range.assign(&members);
    assert_eq!(targets, [parts(&[(1, 0), (1, 1), (2, 0)]), parts(&[(2, 1)])]);
}

#[test]
fn uniform_takes_from_who_has_most_and_moves_nothing_else() {
    let all: Vec<(u8, i32)> = (0..6).map(|p| (1, p)).collect();
    let members = [member("a", &[(1, 6)], &all[..3]), member("b", &[(1, 6)], &all[3..]), member("c", &[(1, 6)], &[])];
    let targets = Assignor::Uniform.assign(&members);
    assert_eq!(targets, [parts(&[(1, 0), (1, 1)]), parts(&[(1, 3), (1, 4)]), parts(&[(1, 2), (1, 5)])]);
}

#[test]
fn uniform_gives_a_lost_members_partitions_to_the_others() {
    let members = [member("a", &[(1, 5)], &[(1, 0), (1, 3)]), member("c", &[(1, 5)], &[(1, 1)])];
    let targets = Assignor::Uniform.assign(&members);
    assert_eq!(targets, [parts(&[(1, 0), (1, 2), (1, 3)]), parts(&[(1, 1), (1, 4)])]);
}

#[test]
fn a_target_that_stays_is_not_made_anew() {
    let members = [member("a", &[(1, 2)], &[(1, 0)]), member("b", &[(1, 2)], &[(1, 1)])];
    let targets = Assignor::Uniform.assign(&members);
    assert!(targets.iter().zip(&members).all(|(target, member)| Arc::ptr_eq(target, &member.target)));
}

#[test]
fn members_that_want_different_topics_are_evened_out() {
    // Only a may have topic 1; b and c must take all of topic 2 between them.
    let members = [
        member("a", &[(1, 4), (2, 4)], &[(2, 0), (2, 1), (2, 2), (2, 3)]),
        member("b", &[(2, 4)], &[]),
        member("c", &[(2, 4)], &[]),
    ];
    let targets = Assignor::Uniform.assign(&members);
    assert_eq!(targets[0], parts(&[(1, 0), (1, 1), (1, 2), (1, 3)]));
    assert_eq!((targets[1].len(), targets[2].len()), (2, 2));
}

#[test]
fn an_expression_matches_whole_names_only() {
    let mut topics = FixedTopics::default();
    for (number, name) in (0..).zip(["order", "order-eu", "orders", "new-order", "a|b"]) {
        topics.put(name, KnownTopic { id: topic(number), partitions: 1 });
    }
    let found = |text: &str| {
        let names = TopicRegex::new(text).unwrap().resolve(&topics);
        names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("order"), "order");
    assert_eq!(found("order.*"), "order order-eu orders");
    assert_eq!(found("order|new-order"), "new-order order");
    assert_eq!(found(r"^order[a-z]$"), "orders");
    assert_eq!(found("(?i)ORDER"), "order");
    assert_eq!(found(""), "");
    for broken in ["(", "a)(b", "*", r"(?=a)", &"a{1000}".repeat(100), &"x".repeat(10_000)] {
        assert!(TopicRegex::new(broken).is_err(), "{broken}");
    }
}

/// Partitions of topics, which of them each member wants, and what members had: topic, partition, member.
type Wishes = (Vec<i32>, Vec<Vec<bool>>, Vec<(u8, i32, usize)>);

fn group() -> impl Strategy<Value = Wishes> {
    (1..5_usize, 1..7_usize).prop_flat_map(|(topics, members)| {
        (
            prop::collection::vec(0..9, topics),
            prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.7), topics), members),
            // Also of topics that don't exist, beyond the last partition, and of those who don't want it.
            prop::collection::vec((0..topics as u8 + 1, 0..10, 0..members), 0..20),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_wanted_partition_has_one_owner_that_wants_it(
        (counts, wanted, had) in group(), assignor in prop::sample::select(Assignor::ALL.to_vec()), alike in any::<bool>()
    ) {
        let ids: Vec<String> = (0..wanted.len()).map(|index| format!("m{index}")).collect();
        let had: BTreeMap<(u8, i32), usize> = had.into_iter().map(|(t, p, m)| ((t, p), m)).collect();
        let topics = |index: usize| -> Vec<(u8, i32)> {
            let wanted = &wanted[if alike { 0 } else { index }];
            (0..).zip(&counts).zip(wanted).filter(|(_, wants)| **wants).map(|((t, count), _)| (t, *count)).collect()
        };
        let members: Vec<AssignedMember<'_>> = ids.iter().enumerate().map(|(index, id)| {
            let had: Vec<(u8, i32)> = had.iter().filter(|(_, m)| **m == index).map(|(p, _)| *p).collect();
            member(id, &topics(index), &had)
        }).collect();
        let targets = assignor.assign(&members);
        let mut owners: BTreeMap<PartitionId, usize> = BTreeMap::new();
        for (index, target) in targets.iter().enumerate() {
            for partition in target.iter() {
                prop_assert_eq!(owners.insert(*partition, index), None, "two owners");
                let wants = topics(index).iter().any(|(t, count)| {
                    topic(*t) == partition.topic && (0..*count).contains(&partition.index.0)
                });
                prop_assert!(wants, "a partition nobody asked for");
            }
        }
        for index in 0..members.len() {
            for (t, count) in topics(index) {
                for p in 0..count {
                    let owned = owners.contains_key(&PartitionId { topic: topic(t), index: PartitionIndex(p) });
                    prop_assert!(owned, "an orphan");
                }
            }
        }
        if assignor == Assignor::Uniform {
            // Nobody has two more than one who wants one of their topics.
            for (rich, target) in targets.iter().enumerate() {
                for partition in target.iter() {
                    for (poor, other) in targets.iter().enumerate().filter(|(poor, _)| *poor != rich) {
                        let wants = members[poor].topics.iter().any(|(id, _)| *id == partition.topic);
                        prop_assert!(!wants || target.len() <= other.len() + 1, "uneven: {targets:?}");
                    }
                }
            }
            // Settled: assigning again changes nothing.
            let again: Vec<AssignedMember<'_>> = members.iter().zip(&targets)
                .map(|(member, target)| AssignedMember { target: target.clone(), ..member.clone() }).collect();
            prop_assert_eq!(assignor.assign(&again), targets);
        }
    }
}
