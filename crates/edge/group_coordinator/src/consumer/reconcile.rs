//! Leading one member towards its target: what it has to give up first, what it may have already.

use std::collections::btree_map::Entry;

use daybook_group_assignment::Partitions;
use daybook_types::PartitionId;
use tracing::debug;

use super::member::{Held, MemberState};
use super::{ConsumerGroup, Timer};
use crate::ident::{MemberId, MonotonicMs};

impl ConsumerGroup {
    /// `owned`: what the member says it has; none where it didn't say. `subscription_changed`: what it no longer wants is
    /// taken back even if its target is still an older one.
    pub(super) fn reconcile(
        &mut self,
        id: &MemberId,
        owned: Option<&Partitions>,
        subscription_changed: bool,
        now: MonotonicMs,
    ) {
        let Some(member) = self.members.get(id) else { return };
        let goes_on = match member.state {
            MemberState::Stable => member.epoch != self.target_epoch || subscription_changed,
            MemberState::Unrevoked => subscription_changed || !owns_any(owned, &member.to_revoke),
            MemberState::Unreleased => true,
        };
        if goes_on {
            self.advance(id, owned, now);
        }
    }

    fn advance(&mut self, id: &MemberId, owned: Option<&Partitions>, now: MonotonicMs) {
        let target = self.wanted_target(id);
        let Some(member) = self.members.get(id) else { return };
        let mut assigned = member.assigned.clone();
        let mut to_revoke = Held::new();
        assigned.retain(|partition, epoch| {
            let stays = target.contains(partition);
            if !stays {
                to_revoke.insert(*partition, *epoch);
            }
            stays
        });
        // What it was asked to give up before, and still has.
        if owns_any(owned, &member.to_revoke) {
            to_revoke.extend(member.to_revoke.iter().filter(|(partition, _)| is_owned(owned, partition)));
        }
        if owns_any(owned, &to_revoke) {
            return self.settle_member(id, MemberState::Unrevoked, assigned, to_revoke, now);
        }
        let mut state = MemberState::Stable;
        for partition in target {
            let Entry::Vacant(slot) = assigned.entry(partition) else { continue };
            if self.holders.get(&partition).is_none_or(|holder| holder == id) {
                slot.insert(self.target_epoch);
            } else {
                state = MemberState::Unreleased;
            }
        }
        if let Some(member) = self.members.get_mut(id) {
            member.set_epoch(self.target_epoch);
        }
        self.settle_member(id, state, assigned, Held::new(), now);
    }

    /// Brings the books to the member's new state.
    fn settle_member(&mut self, id: &MemberId, state: MemberState, assigned: Held, to_revoke: Held, now: MonotonicMs) {
        let Some(member) = self.members.get_mut(id) else { return };
        for partition in member.holds() {
            self.holders.remove(partition);
        }
        member.state = state;
        member.assigned = assigned;
        member.to_revoke = to_revoke;
        for partition in member.holds() {
            let other = self.holders.insert(*partition, id.clone());
            debug_assert!(other.is_none(), "{partition} is held by {other:?} and given to {id}");
        }
        debug!(
            group = %self.id, member = %id, epoch = %member.epoch, ?state, assigned = member.assigned.len(),
            to_revoke = member.to_revoke.len(), "member moves towards its target"
        );
        let timer = Timer::Rebalance(id.clone());
        if state != MemberState::Unrevoked {
            self.timers.cancel(&timer);
        } else if member.classic.is_none() {
            // One that speaks the classic protocol is held to its join and its sync.
            self.timers.set(timer, now.plus(member.rebalance_timeout_ms));
        }
    }
}

fn is_owned(owned: Option<&Partitions>, partition: &PartitionId) -> bool {
    owned.is_none_or(|owned| owned.contains(partition))
}

/// Who doesn't say what it has may have all of it.
fn owns_any(owned: Option<&Partitions>, partitions: &Held) -> bool {
    partitions.keys().any(|partition| is_owned(owned, partition))
}
