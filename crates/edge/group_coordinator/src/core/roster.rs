//! Who is in a group: its members in the order they joined, the static ones by instance, those who were given an id and
//! have not joined with it, and the leader.
//!
//! Invariants: there is a leader exactly when there are members, and it is one of them; an instance belongs to one member;
//! nobody is pending and a member at once; the counts (joining, bytes, tally) are those of the members.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use indexmap::{IndexMap, IndexSet};

use super::member::Member;
use super::protocols::{self, Protocols, Tally};
use crate::ident::{InstanceId, MemberId, WaiterId};

#[derive(Debug, Default)]
pub(crate) struct Roster {
    members: IndexMap<MemberId, Member>,
    by_instance: HashMap<InstanceId, MemberId>,
    pending: IndexSet<MemberId>,
    leader: Option<MemberId>,
    tally: Tally,
    joining_count: usize,
    bytes: usize,
}

impl Roster {
    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn joining_count(&self) -> usize {
        self.joining_count
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What one takes of `bytes`, member or pending.
    pub fn bytes_of(&self, id: &MemberId) -> usize {
        match self.get(id) {
            Some(member) => member.bytes(),
            None if self.is_pending(id) => pending_bytes(id),
            None => 0,
        }
    }

    pub fn contains(&self, id: &MemberId) -> bool {
        self.members.contains_key(id)
    }

    pub fn get(&self, id: &MemberId) -> Option<&Member> {
        self.members.get(id)
    }

    /// For changes that touch no count.
    pub fn get_mut(&mut self, id: &MemberId) -> Option<&mut Member> {
        self.members.get_mut(id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.members.values_mut()
    }

    pub fn ids(&self) -> Vec<MemberId> {
        self.members.keys().cloned().collect()
    }

    pub fn ids_where(&self, filter: impl Fn(&Member) -> bool) -> Vec<MemberId> {
        self.iter().filter(|member| filter(member)).map(|member| member.id.clone()).collect()
    }

    pub fn of_instance(&self, instance: &InstanceId) -> Option<&MemberId> {
        self.by_instance.get(instance)
    }

    pub fn leader(&self) -> Option<&MemberId> {
        self.leader.as_ref()
    }

    pub fn is_leader(&self, id: &MemberId) -> bool {
        self.leader.as_ref() == Some(id)
    }

    /// All members have come back and nobody is on the way.
    pub fn have_all_joined(&self) -> bool {
        self.joining_count == self.members.len() && self.pending.is_empty()
    }

    /// The longest that any member asks to be waited for.
    pub fn rebalance_timeout_ms(&self) -> u64 {
        self.iter().map(|member| member.rebalance_timeout_ms).max().unwrap_or(0)
    }

    /// The caller has seen to it that neither the id nor the instance is taken.
    pub fn add(&mut self, member: Member) {
        debug_assert!(!self.contains(&member.id));
        self.remove_pending(&member.id);
        if let Some(instance) = &member.instance {
            self.by_instance.insert(instance.clone(), member.id.clone());
        }
        self.leader.get_or_insert_with(|| member.id.clone());
        self.tally.add(&member.protocols);
        self.joining_count += usize::from(member.is_joining());
        self.bytes += member.bytes();
        self.members.insert(member.id.clone(), member);
    }

    /// Takes a member out. Was it the leader, then the first of those who remain leads.
    pub fn remove(&mut self, id: &MemberId) -> Option<Member> {
        let member = self.members.shift_remove(id)?;
        self.forget(&member);
        if let Some(instance) = &member.instance {
            self.by_instance.remove(instance);
        }
        if self.is_leader(id) {
            self.leader = self.members.keys().next().cloned();
        }
        Some(member)
    }

    /// Puts `new` in the place of a static member, leadership included, and returns the old one.
    pub fn replace(&mut self, old: &MemberId, new: Member) -> Option<Member> {
        let index = self.members.get_index_of(old)?;
        let was_leader = self.is_leader(old);
        let new_id = new.id.clone();
        let removed = self.members.shift_remove(old)?;
        self.forget(&removed);
        if was_leader {
            self.leader = Some(new_id.clone());
        }
        self.add(new);
        let last = self.members.get_index_of(&new_id)?;
        self.members.move_index(last, index);
        Some(removed)
    }

    fn forget(&mut self, member: &Member) {
        self.tally.remove(&member.protocols);
        self.joining_count -= usize::from(member.is_joining());
        self.bytes -= member.bytes();
    }

    pub fn add_pending(&mut self, id: MemberId) {
        debug_assert!(!self.contains(&id));
        self.bytes += pending_bytes(&id);
        self.pending.insert(id);
    }

    pub fn remove_pending(&mut self, id: &MemberId) -> bool {
        let removed = self.pending.shift_remove(id);
        if removed {
            self.bytes -= pending_bytes(id);
        }
        removed
    }

    pub fn is_pending(&self, id: &MemberId) -> bool {
        self.pending.contains(id)
    }

    pub fn pending_count(&self) -> usize {
        self.pending.len()
    }

    /// What a member says about itself from now on.
    pub fn update(&mut self, id: &MemberId, protocols: Protocols, session_timeout_ms: u64, rebalance_timeout_ms: u64) {
        if let Some(member) = self.members.get_mut(id) {
            self.bytes -= member.bytes();
            self.tally.remove(&member.protocols);
            member.protocols = protocols;
            member.session_timeout_ms = session_timeout_ms;
            member.rebalance_timeout_ms = rebalance_timeout_ms;
            self.tally.add(&member.protocols);
            self.bytes += member.bytes();
        }
    }

    pub fn assign(&mut self, id: &MemberId, assignment: Bytes) {
        if let Some(member) = self.members.get_mut(id) {
            self.bytes = self.bytes - member.assignment.len() + assignment.len();
            member.assignment = assignment;
        }
    }

    /// Lets the member's join wait; returns the one that waited before.
    pub fn await_join(&mut self, id: &MemberId, waiter: WaiterId) -> Option<WaiterId> {
        let displaced = self.members.get_mut(id)?.join_waiter.replace(waiter);
        self.joining_count += usize::from(displaced.is_none());
        displaced
    }

    pub fn take_join_waiter(&mut self, id: &MemberId) -> Option<WaiterId> {
        let waiter = self.members.get_mut(id)?.join_waiter.take();
        self.joining_count -= usize::from(waiter.is_some());
        waiter
    }

    /// Sees to it that the leader is one that has come back. False if nobody has.
    pub fn elect_joined_leader(&mut self) -> bool {
        if self.leader.as_ref().and_then(|leader| self.get(leader)).is_some_and(Member::is_joining) {
            return true;
        }
        let first_joined = self.iter().find(|member| member.is_joining()).map(|member| member.id.clone());
        if first_joined.is_some() {
            self.leader = first_joined;
            return true;
        }
        false
    }

    pub fn knows_any(&self, mut names: impl Iterator<Item = impl AsRef<str>>) -> bool {
        names.any(|name| self.tally.is_known_to_all(name.as_ref(), self.members.len()))
    }

    pub fn elect_protocol(&self) -> Option<Arc<str>> {
        protocols::elect(self.iter().map(|member| &member.protocols), &self.tally, self.members.len())
    }

    #[cfg(test)]
    pub fn pending(&self) -> impl Iterator<Item = &MemberId> {
        self.pending.iter()
    }

    #[cfg(test)]
    pub fn instances(&self) -> &HashMap<InstanceId, MemberId> {
        &self.by_instance
    }
}

/// Memory held for an id given out, its places in maps included.
pub(crate) fn pending_bytes(id: &MemberId) -> usize {
    const PENDING_BYTES: usize = 128;
    PENDING_BYTES + id.as_str().len()
}
