//! Syncing: the leader hands in who does what, everyone learns their part.

use std::collections::HashMap;

use bytes::Bytes;
use tracing::info;

use super::{Effect, Group, GroupState, WaiterId};
use crate::error::GroupError;
use crate::ident::{MemberId, MonotonicMs};
use crate::request::SyncRequest;

impl Group {
    /// The answer to `waiter` is among the effects of this event or of a later one.
    pub fn sync(&mut self, request: &SyncRequest, waiter: WaiterId, now: MonotonicMs) -> Vec<Effect> {
        match self.check_sync(request) {
            Ok(()) => self.sync_member(request, waiter, now),
            Err(error) => self.refuse_sync(waiter, error),
        }
        self.take_effects()
    }

    fn check_sync(&self, request: &SyncRequest) -> Result<(), GroupError> {
        self.check_claim(&request.claim)?;
        let differs = |given: &Option<_>, ours: &Option<_>| given.is_some() && ours.is_some() && given != ours;
        if differs(&request.protocol_type, &self.protocol_type) || differs(&request.protocol_name, &self.protocol_name)
        {
            return Err(GroupError::InconsistentGroupProtocol);
        }
        Ok(())
    }

    fn sync_member(&mut self, request: &SyncRequest, waiter: WaiterId, now: MonotonicMs) {
        let id = &request.claim.member;
        self.touch(id, now);
        match self.state {
            GroupState::PreparingRebalance => self.refuse_sync(waiter, GroupError::RebalanceInProgress),
            GroupState::CompletingRebalance => self.wait_for_assignment(request, waiter, now),
            GroupState::Stable => {
                let mut assignment = Bytes::new();
                if let Some(member) = self.roster.get_mut(id) {
                    member.owes_sync = false;
                    assignment = member.assignment.clone();
                }
                self.accept_sync(waiter, assignment);
            }
            GroupState::Empty | GroupState::Dead => self.refuse_sync(waiter, GroupError::UnknownMemberId),
        }
    }

    fn wait_for_assignment(&mut self, request: &SyncRequest, waiter: WaiterId, now: MonotonicMs) {
        let id = &request.claim.member;
        let is_leader = self.roster.is_leader(id);
        if is_leader && !self.has_bytes_for_assignments(request) {
            return self.refuse_sync(waiter, GroupError::GroupTooLarge);
        }
        let Some(member) = self.roster.get_mut(id) else { return };
        member.owes_sync = false;
        if let Some(displaced) = member.sync_waiter.replace(waiter) {
            self.refuse_sync(displaced, GroupError::RebalanceInProgress);
        }
        if is_leader {
            self.stabilise(&request.assignments, now);
        }
    }

    /// Members that the leader forgot get nothing.
    fn stabilise(&mut self, assignments: &[(MemberId, Bytes)], now: MonotonicMs) {
        let assignments: HashMap<&MemberId, &Bytes> = assignments.iter().map(|(id, bytes)| (id, bytes)).collect();
        self.state = GroupState::Stable;
        info!(group = %self.id, generation = %self.generation, members = self.roster.len(), "group is stable");
        for id in self.roster.ids() {
            // Copied, lest what one member keeps pin the leader's whole request.
            let assignment = assignments.get(&id).map(|bytes| Bytes::copy_from_slice(bytes)).unwrap_or_default();
            self.roster.assign(&id, assignment.clone());
            if let Some(waiter) = self.roster.get_mut(&id).and_then(|member| member.sync_waiter.take()) {
                self.accept_sync(waiter, assignment);
                self.touch(&id, now);
            }
        }
    }

    fn has_bytes_for_assignments(&self, request: &SyncRequest) -> bool {
        let freed: usize = self.roster.iter().map(|member| member.assignment.len()).sum();
        self.roster.bytes() - freed + request.bytes() <= self.settings.group_bytes_max
    }
}

impl SyncRequest {
    /// Upper bound of what the assignments take in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.assignments.iter().map(|(_, assignment)| assignment.len()).sum()
    }
}
