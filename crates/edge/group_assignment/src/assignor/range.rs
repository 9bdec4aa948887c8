//! Runs of neighbouring partitions of each topic, in the order of instances and ids. Not sticky by itself: the order is.

use std::collections::BTreeMap;

use daybook_types::{PartitionId, PartitionIndex, TopicId};

use super::AssignedMember;
use crate::Partitions;

pub(super) fn assign(members: &[AssignedMember<'_>]) -> Vec<Partitions> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    // Static members first, by instance, so that their numbers outlast a restart; then the others by id.
    order.sort_by_key(|index| {
        let member = &members[*index];
        (member.instance.is_none(), member.instance.unwrap_or(member.id))
    });
    let mut subscribers: BTreeMap<TopicId, (i32, Vec<usize>)> = BTreeMap::new();
    for index in order {
        for (topic, partitions) in members[index].topics.iter() {
            subscribers.entry(*topic).or_insert_with(|| (*partitions, Vec::new())).1.push(index);
        }
    }
    let mut targets = vec![Partitions::new(); members.len()];
    for (topic, (partitions, subscribers)) in subscribers {
        let count = i32::try_from(subscribers.len()).unwrap_or(i32::MAX);
        let (quota, extra) = (partitions / count, partitions % count);
        let mut next = 0;
        for (place, index) in (0_i32..).zip(subscribers) {
            let end = next + quota + i32::from(place < extra);
            targets[index].extend((next..end).map(|index| PartitionId { topic, index: PartitionIndex(index) }));
            next = end;
        }
    }
    targets
}
