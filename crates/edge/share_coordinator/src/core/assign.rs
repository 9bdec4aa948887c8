//! Kafka's `simple` assignor: every partition has a member and every member a partition, evenly, and what was assigned before
//! stays where that allows it.
//!
//! With more partitions than members each partition has one member; with more members, they share partitions.

use std::collections::{BTreeMap, BTreeSet};

use daybook_types::PartitionId;

use crate::ident::MemberId;

pub type Assignment = BTreeSet<PartitionId>;

/// `wanted`: all partitions that each member subscribes to. `before`: what each has.
pub fn assign(
    wanted: &BTreeMap<MemberId, Assignment>,
    before: &BTreeMap<MemberId, Assignment>,
) -> BTreeMap<MemberId, Assignment> {
    let mut shares = Shares::new(wanted);
    shares.keep(wanted, before);
    shares.cover_partitions(wanted);
    shares.employ_members(wanted);
    shares.by_member
}

struct Shares {
    by_member: BTreeMap<MemberId, Assignment>,
    /// How many members each partition has.
    load: BTreeMap<PartitionId, usize>,
}

impl Shares {
    fn new(wanted: &BTreeMap<MemberId, Assignment>) -> Self {
        let by_member = wanted.keys().map(|member| (member.clone(), Assignment::new())).collect();
        let load = wanted.values().flatten().map(|partition| (*partition, 0)).collect();
        Self { by_member, load }
    }

    /// What was, as far as the even share goes.
    fn keep(&mut self, wanted: &BTreeMap<MemberId, Assignment>, before: &BTreeMap<MemberId, Assignment>) {
        let (members, partitions) = (self.by_member.len(), self.load.len());
        if members == 0 || partitions == 0 {
            return;
        }
        let mut of_member = Quota::new(partitions.max(members), members);
        let mut of_partition = Quota::new(members.max(partitions), partitions);
        for (member, wanted) in wanted {
            for partition in before.get(member).into_iter().flatten().filter(|partition| wanted.contains(partition)) {
                let held = self.by_member.get(member).map_or(0, BTreeSet::len);
                let load = self.load.get(partition).copied().unwrap_or(0);
                if of_member.allows(held) && of_partition.allows(load) {
                    of_member.take(held);
                    of_partition.take(load);
                    self.give(member, *partition);
                }
            }
        }
    }

    /// Every partition that nobody has goes to who has least.
    fn cover_partitions(&mut self, wanted: &BTreeMap<MemberId, Assignment>) {
        let idle: Vec<PartitionId> = self.load.iter().filter(|(_, load)| **load == 0).map(|(at, _)| *at).collect();
        for partition in idle {
            let takers = self.by_member.iter().filter(|(member, _)| wanted[*member].contains(&partition));
            let least = takers.min_by_key(|(_, has)| has.len()).map(|(member, _)| member.clone());
            if let Some(member) = least {
                self.give(&member, partition);
            }
        }
    }

    /// Every member that has nothing gets the partition that fewest have.
    fn employ_members(&mut self, wanted: &BTreeMap<MemberId, Assignment>) {
        for (member, wanted) in wanted {
            if self.by_member.get(member).is_some_and(BTreeSet::is_empty) {
                let least =
                    wanted.iter().min_by_key(|partition| self.load.get(*partition).copied().unwrap_or(0)).copied();
                if let Some(partition) = least {
                    self.give(member, partition);
                }
            }
        }
    }

    fn give(&mut self, member: &MemberId, partition: PartitionId) {
        if self.by_member.entry(member.clone()).or_default().insert(partition) {
            *self.load.entry(partition).or_default() += 1;
        }
    }
}

/// `total` things shared among `sharers`: each gets the whole part, as many as there are left over one more.
struct Quota {
    whole: usize,
    left_over: usize,
}

impl Quota {
    fn new(total: usize, sharers: usize) -> Self {
        Self { whole: total / sharers, left_over: total % sharers }
    }

    fn allows(&self, has: usize) -> bool {
        has < self.whole || (has == self.whole && self.left_over > 0)
    }

    fn take(&mut self, has: usize) {
        if has >= self.whole {
            self.left_over -= 1;
        }
    }
}
