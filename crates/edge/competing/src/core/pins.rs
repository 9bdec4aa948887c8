//! Which consumer has which affinities.
//!
//! Affinities fall into buckets; a bucket has an owner, given when its first item comes. A bucket whose items are still held by an
//! earlier owner waits for them, so that items of one affinity are never with two consumers.

use std::collections::BTreeMap;

use super::ident::ConsumerId;

/// As many as KurrentDB has: far more than consumers, so that they share evenly.
const BUCKETS: usize = 1024;

#[derive(Debug)]
pub(super) struct Pins {
    buckets: Vec<Bucket>,
    /// Buckets of each consumer that is here.
    owned: BTreeMap<ConsumerId, usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    owner: Option<ConsumerId>,
    held: usize,
    holder: Option<ConsumerId>,
}

impl Pins {
    pub fn new() -> Self {
        Self { buckets: vec![Bucket::default(); BUCKETS], owned: BTreeMap::new() }
    }

    /// The new consumer takes over what the others have above their share: idle buckets first.
    pub fn add(&mut self, id: ConsumerId) {
        self.owned.insert(id, 0);
        let assigned: usize = self.owned.values().sum();
        let share = assigned.div_ceil(self.owned.len());
        let crowded: Vec<(ConsumerId, usize)> = self
            .owned
            .iter()
            .filter(|(_, owned)| **owned > share)
            .map(|(other, owned)| (*other, owned - share))
            .collect();
        for (other, surplus) in crowded {
            let mut theirs: Vec<usize> = (0..BUCKETS).filter(|at| self.buckets[*at].owner == Some(other)).collect();
            theirs.sort_by_key(|at| self.buckets[*at].held);
            for at in theirs.into_iter().take(surplus) {
                self.assign(at, id);
            }
        }
    }

    pub fn remove(&mut self, id: ConsumerId) {
        self.owned.remove(&id);
        for bucket in &mut self.buckets {
            if bucket.owner == Some(id) {
                bucket.owner = None;
            }
            if bucket.holder == Some(id) {
                (bucket.holder, bucket.held) = (None, 0);
            }
        }
    }

    /// Who is to get the next item of this affinity; `None` while an earlier owner holds some, or nobody is here.
    pub fn owner_of(&mut self, affinity: u64) -> Option<ConsumerId> {
        let at = bucket_of(affinity);
        let owner = match self.buckets[at].owner {
            Some(owner) => owner,
            None => {
                let least = self.owned.iter().min_by_key(|(_, owned)| **owned).map(|(id, _)| *id)?;
                self.assign(at, least);
                least
            }
        };
        self.buckets[at].holder.is_none_or(|holder| holder == owner).then_some(owner)
    }

    pub fn give(&mut self, affinity: u64, id: ConsumerId) {
        let bucket = &mut self.buckets[bucket_of(affinity)];
        bucket.holder = Some(id);
        bucket.held += 1;
    }

    pub fn take(&mut self, affinity: u64) {
        let bucket = &mut self.buckets[bucket_of(affinity)];
        bucket.held = bucket.held.saturating_sub(1);
        if bucket.held == 0 {
            bucket.holder = None;
        }
    }

    fn assign(&mut self, at: usize, id: ConsumerId) {
        if let Some(owned) = self.buckets[at].owner.and_then(|old| self.owned.get_mut(&old)) {
            *owned -= 1;
        }
        self.buckets[at].owner = Some(id);
        *self.owned.entry(id).or_default() += 1;
    }
}

fn bucket_of(affinity: u64) -> usize {
    (affinity % BUCKETS as u64) as usize
}
