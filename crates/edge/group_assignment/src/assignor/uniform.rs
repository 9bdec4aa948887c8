//! All members want the same topics: each gets its share of all partitions and keeps what it has up to that.

use daybook_types::{PartitionId, PartitionIndex};

use super::AssignedMember;
use crate::Partitions;

pub(super) fn assign(members: &[AssignedMember<'_>]) -> Vec<Partitions> {
    let Some(first) = members.first() else { return Vec::new() };
    let mut free: Partitions = first
        .topics
        .iter()
        .flat_map(|(topic, count)| (0..*count).map(|index| PartitionId { topic: *topic, index: PartitionIndex(index) }))
        .collect();
    let (quota, mut extra) = (free.len() / members.len(), free.len() % members.len());

    // Who has most is first asked to keep one more than the least: then the fewest partitions move.
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(members[*index].target.len()));
    let mut targets = vec![Partitions::new(); members.len()];
    let mut missing = vec![0; members.len()];
    for &index in &order {
        let share = quota + usize::from(extra > 0);
        extra = extra.saturating_sub(1);
        let mut kept = Partitions::new();
        for partition in members[index].target.iter() {
            // A partition that is gone, or not wanted any more, isn't free.
            if kept.len() < share && free.remove(partition) {
                kept.insert(*partition);
            }
        }
        missing[index] = share - kept.len();
        targets[index] = kept;
    }
    let mut free = free.into_iter();
    for index in order {
        targets[index].extend(free.by_ref().take(missing[index]));
    }
    targets
}
