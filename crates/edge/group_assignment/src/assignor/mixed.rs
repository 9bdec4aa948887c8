//! Members want different topics: who has a partition keeps it, what is free goes to whoever has least, and then partitions
//! move from who has most to who has least, topic by topic, until no move makes the group more even.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use daybook_types::{PartitionId, PartitionIndex, TopicId};

use super::AssignedMember;
use crate::Partitions;

/// Rounds over all topics. Each but the last makes some move, so this ends sooner in all but contrived groups.
const ROUNDS_MAX: usize = 16;

pub(super) fn assign(members: &[AssignedMember<'_>]) -> Vec<Partitions> {
    let mut topics: BTreeMap<TopicId, Topic> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        for (id, count) in member.topics.iter() {
            let topic = topics.entry(*id).or_insert_with(|| Topic {
                id: *id,
                subscribers: Vec::new(),
                owners: vec![None; usize::try_from(*count).unwrap_or(0)],
            });
            topic.subscribers.push(index);
        }
    }
    let mut loads = vec![0; members.len()];
    for (index, member) in members.iter().enumerate() {
        for partition in member.target.iter() {
            let wants = member.topics.binary_search_by_key(&partition.topic, |(id, _)| *id).is_ok();
            let place = topics.get_mut(&partition.topic).filter(|_| wants).and_then(|topic| topic.place(*partition));
            if let Some(place @ None) = place {
                *place = Some(index);
                loads[index] += 1;
            }
        }
    }
    // Topics with the most partitions a subscriber first: they leave the least choice.
    let mut topics: Vec<Topic> = topics.into_values().collect();
    topics.sort_by_key(|topic| {
        let per_subscriber = topic.owners.len() * 1_000 / topic.subscribers.len();
        (Reverse(per_subscriber), topic.subscribers.len(), topic.id)
    });
    for topic in &mut topics {
        topic.fill(&mut loads);
    }
    for _ in 0..ROUNDS_MAX {
        let moved: usize = topics.iter_mut().map(|topic| topic.balance(&mut loads)).sum();
        if moved == 0 {
            break;
        }
    }
    let mut targets = vec![Partitions::new(); members.len()];
    for topic in &topics {
        for (index, owner) in (0_i32..).zip(&topic.owners) {
            if let Some(owner) = owner {
                targets[*owner].insert(PartitionId { topic: topic.id, index: PartitionIndex(index) });
            }
        }
    }
    targets
}

struct Topic {
    id: TopicId,
    /// By place among the members. Not empty.
    subscribers: Vec<usize>,
    owners: Vec<Option<usize>>,
}

impl Topic {
    fn place(&mut self, partition: PartitionId) -> Option<&mut Option<usize>> {
        self.owners.get_mut(usize::try_from(partition.index.0).ok()?)
    }

    fn by_load(&self, loads: &[usize]) -> BTreeSet<(usize, usize)> {
        self.subscribers.iter().map(|member| (loads[*member], *member)).collect()
    }

    /// Gives what nobody has to whoever has least.
    fn fill(&mut self, loads: &mut [usize]) {
        let mut by_load = self.by_load(loads);
        for owner in self.owners.iter_mut().filter(|owner| owner.is_none()) {
            let Some((load, least)) = by_load.pop_first() else { return };
            *owner = Some(least);
            loads[least] = load + 1;
            by_load.insert((load + 1, least));
        }
    }

    /// Moves partitions of this topic from who has most to who has least. Returns how many.
    fn balance(&mut self, loads: &mut [usize]) -> usize {
        let mut owned: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (partition, owner) in self.owners.iter().enumerate() {
            if let Some(owner) = owner {
                owned.entry(*owner).or_default().push(partition);
            }
        }
        let mut receivers = self.by_load(loads);
        let mut givers: BTreeSet<(usize, usize)> = owned.keys().map(|member| (loads[*member], *member)).collect();
        let mut moved = 0;
        while let (Some(&(most, giver)), Some(&(least, receiver))) = (givers.last(), receivers.first()) {
            if most <= least + 1 {
                break;
            }
            let Some(partition) = owned.get_mut(&giver).and_then(Vec::pop) else {
                givers.remove(&(most, giver));
                continue;
            };
            self.owners[partition] = Some(receiver);
            receivers.remove(&(most, giver));
            receivers.insert((most - 1, giver));
            receivers.remove(&(least, receiver));
            receivers.insert((least + 1, receiver));
            givers.remove(&(most, giver));
            givers.insert((most - 1, giver));
            // It gives again only what it had before: one that gets has least, and gives nothing.
            if givers.remove(&(least, receiver)) {
                givers.insert((least + 1, receiver));
            }
            loads[giver] -= 1;
            loads[receiver] += 1;
            moved += 1;
        }
        moved
    }
}
