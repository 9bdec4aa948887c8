//! Joining: new members, static members that come back, and members that join again.

use tracing::{debug, info};

use super::member::{Member, duration_ms};
use super::protocols::Protocols;
use super::subscription::same_topics;
use super::timers::Timer;
use super::{Effect, Group, GroupState, IdSource, WaiterId};
use crate::answer::{Joined, JoinedMember};
use crate::error::GroupError;
use crate::ident::{InstanceId, MemberId, MonotonicMs};
use crate::request::JoinRequest;

/// How much of its name a member finds in its id. Names may be as long as the wire can carry a text, and the id has to fit too.
const ID_PREFIX_BYTES_MAX: usize = 1_024;

impl Group {
    /// The answer to `waiter` is among the effects of this event or of a later one.
    pub fn join(
        &mut self,
        request: &JoinRequest,
        waiter: WaiterId,
        ids: &mut dyn IdSource,
        now: MonotonicMs,
    ) -> Vec<Effect> {
        if self.state == GroupState::Dead {
            self.refuse_join(waiter, GroupError::CoordinatorNotAvailable, request.member.clone());
        } else if !self.has_room_for(request) {
            self.refuse_join(waiter, GroupError::GroupMaxSizeReached, MemberId::none());
            self.turn_away(&request.member, now);
        } else if !self.suits(request) {
            self.refuse_join(waiter, GroupError::InconsistentGroupProtocol, request.member.clone());
        } else if !self.has_bytes_for(request) {
            self.refuse_join(waiter, GroupError::GroupTooLarge, request.member.clone());
        } else if request.member.is_none() {
            self.join_new(request, waiter, ids, now);
        } else {
            self.join_known(request, waiter, now);
        }
        self.take_effects()
    }

    fn join_new(&mut self, request: &JoinRequest, waiter: WaiterId, ids: &mut dyn IdSource, now: MonotonicMs) {
        let name = request.instance.as_ref().map_or(&*request.client_id, InstanceId::as_str);
        let prefix = &name[..name.floor_char_boundary(ID_PREFIX_BYTES_MAX)];
        let id = MemberId::new(&format!("{prefix}-{}", ids.draw()));
        match &request.instance {
            Some(instance) => match self.roster.of_instance(instance).cloned() {
                Some(old) => self.replace_static(&old, id, request, waiter, now),
                None => self.add_member(id, request, waiter, now),
            },
            None if request.member_id_first => self.hand_out_id(id, request, waiter, now),
            None => self.add_member(id, request, waiter, now),
        }
    }

    /// KIP-394: a client that gives up during its first join and asks again must not become two members.
    fn hand_out_id(&mut self, id: MemberId, request: &JoinRequest, waiter: WaiterId, now: MonotonicMs) {
        if self.roster.pending_count() >= self.settings.group_size_max {
            self.refuse_join(waiter, GroupError::GroupMaxSizeReached, MemberId::none());
            return;
        }
        debug!(group = %self.id, member = %id, "member id handed out");
        self.roster.add_pending(id.clone());
        self.timers.set(Timer::Session(id.clone()), now.plus(duration_ms(request.session_timeout_ms)));
        self.refuse_join(waiter, GroupError::MemberIdRequired, id);
    }

    fn join_known(&mut self, request: &JoinRequest, waiter: WaiterId, now: MonotonicMs) {
        let id = &request.member;
        if self.roster.is_pending(id) && request.instance.is_none() {
            return self.add_member(id.clone(), request, waiter, now);
        }
        if let Err(error) = self.check_member(id, request.instance.as_ref()) {
            return self.refuse_join(waiter, error, id.clone());
        }
        let protocols = Protocols::new(&request.protocols);
        let is_unchanged = self.roster.get(id).is_some_and(|member| member.protocols == protocols);
        match self.state {
            GroupState::PreparingRebalance => {
                self.update_member(id, protocols, request, waiter);
                self.maybe_complete_join(now);
            }
            // It may have missed the answer to its join.
            GroupState::CompletingRebalance if is_unchanged => self.answer_with_current(id, waiter, now),
            // Only a leader sees what the group doesn't, such as new partitions: it joins again to assign anew.
            GroupState::Stable if is_unchanged && !self.roster.is_leader(id) => {
                self.answer_with_current(id, waiter, now);
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                let reason = if is_unchanged { "the leader joins again" } else { "a member changed its metadata" };
                self.update_member(id, protocols, request, waiter);
                self.prepare_rebalance(reason, now);
            }
            GroupState::Empty | GroupState::Dead => {
                self.refuse_join(waiter, GroupError::UnknownMemberId, id.clone());
            }
        }
    }

    fn add_member(&mut self, id: MemberId, request: &JoinRequest, waiter: WaiterId, now: MonotonicMs) {
        debug!(group = %self.id, member = %id, client_id = %request.client_id, "member joins");
        if self.roster.is_empty() {
            self.protocol_type = Some(request.protocol_type.clone());
        }
        let mut member = Member::new(id.clone(), request);
        member.is_new = true;
        member.join_waiter = Some(waiter);
        self.roster.add(member);
        self.timers.set(Timer::Session(id), now.plus(self.settings.new_member_join_timeout_ms));
        if self.state == GroupState::PreparingRebalance {
            if let Some(gathering) = &mut self.gathering {
                gathering.member_came = true;
            }
            self.maybe_complete_join(now);
        } else {
            self.prepare_rebalance("a member joins", now);
        }
    }

    fn update_member(&mut self, id: &MemberId, protocols: Protocols, request: &JoinRequest, waiter: WaiterId) {
        let (session_timeout_ms, rebalance_timeout_ms) =
            (duration_ms(request.session_timeout_ms), duration_ms(request.rebalance_timeout_ms));
        self.roster.update(id, protocols, session_timeout_ms, rebalance_timeout_ms);
        if let Some(displaced) = self.roster.await_join(id, waiter) {
            self.refuse_join(displaced, GroupError::RebalanceInProgress, id.clone());
        }
    }

    /// KIP-345: a static member that comes back takes the place it had; whoever still uses its old id is fenced.
    fn replace_static(
        &mut self,
        old: &MemberId,
        id: MemberId,
        request: &JoinRequest,
        waiter: WaiterId,
        now: MonotonicMs,
    ) {
        info!(group = %self.id, old_member = %old, member = %id, "static member is replaced");
        self.refuse_waiting_join(old, GroupError::FencedInstanceId, old.clone());
        self.refuse_waiting_sync(old, GroupError::FencedInstanceId);
        self.timers.cancel(&Timer::Session(old.clone()));
        let old_leader = self.roster.leader().cloned();
        let mut member = Member::new(id.clone(), request);
        member.join_waiter = Some(waiter);
        if let Some(replaced) = self.roster.get(old) {
            member.assignment = replaced.assignment.clone();
            member.owes_sync = replaced.owes_sync;
        }
        let Some(replaced) = self.roster.replace(old, member) else { return };
        self.touch(&id, now);
        match self.state {
            GroupState::Stable if self.assignment_still_fits(&id, &replaced.protocols) => {
                self.answer_returned_static(&id, old_leader, request.knows_skip_assignment);
            }
            GroupState::Stable => self.prepare_rebalance("a static member came back changed", now),
            // The leader may already be assigning to the old id; the new one would get nothing.
            GroupState::CompletingRebalance => self.prepare_rebalance("a static member came back", now),
            GroupState::PreparingRebalance => self.maybe_complete_join(now),
            GroupState::Empty | GroupState::Dead => {}
        }
    }

    /// Whether the members, one of which is now another, would still be assigned what they have.
    fn assignment_still_fits(&self, id: &MemberId, old_protocols: &Protocols) -> bool {
        let Some(protocol_name) = &self.protocol_name else { return false };
        if self.roster.elect_protocol().as_ref() != Some(protocol_name) {
            return false;
        }
        if !self.is_of_consumers() {
            // What others say in their metadata is not known here; Kafka looks at nobody's.
            return true;
        }
        let new = self.roster.get(id).and_then(|member| member.protocols.metadata(protocol_name));
        match (old_protocols.metadata(protocol_name), new) {
            (Some(old), Some(new)) => same_topics(old, new),
            _ => false,
        }
    }

    /// A leader that comes back must not assign: the group is stable and wouldn't hear it. Clients that can't be told so
    /// (before KIP-814) are told that the old id leads.
    fn answer_returned_static(&mut self, id: &MemberId, old_leader: Option<MemberId>, knows_skip_assignment: bool) {
        let Some(waiter) = self.roster.take_join_waiter(id) else { return };
        let mut joined = self.joined(id);
        if knows_skip_assignment {
            joined.skip_assignment = self.roster.is_leader(id);
        } else {
            joined.members = Vec::new();
            joined.leader = old_leader.unwrap_or_else(MemberId::none);
        }
        self.accept_join(waiter, joined);
    }

    fn answer_with_current(&mut self, id: &MemberId, waiter: WaiterId, now: MonotonicMs) {
        let mut joined = self.joined(id);
        if self.state == GroupState::Stable {
            joined.members = Vec::new();
        }
        self.accept_join(waiter, joined);
        self.touch(id, now);
    }

    /// The present generation as `id` sees it.
    pub(super) fn joined(&self, id: &MemberId) -> Joined {
        let protocol_name = self.protocol_name_or_empty();
        let members: Vec<JoinedMember> = if self.roster.is_leader(id) {
            self.roster.iter().map(|member| member.for_leader(&protocol_name)).collect()
        } else {
            Vec::new()
        };
        Joined {
            member: id.clone(),
            generation: self.generation,
            protocol_type: self.protocol_type_or_empty(),
            protocol_name,
            leader: self.roster.leader().cloned().unwrap_or_else(MemberId::none),
            members,
            skip_assignment: false,
        }
    }

    fn has_room_for(&self, request: &JoinRequest) -> bool {
        let returns = request.member.is_none()
            && request.instance.as_ref().is_some_and(|instance| self.roster.of_instance(instance).is_some());
        if returns {
            return true;
        }
        match self.state {
            GroupState::Empty | GroupState::Dead => true,
            // Of the members that are coming back the first ones stay: the limit may have been lowered.
            GroupState::PreparingRebalance => {
                self.roster.get(&request.member).is_some_and(Member::is_joining)
                    || self.roster.joining_count() < self.settings.group_size_max
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                self.roster.contains(&request.member) || self.roster.len() < self.settings.group_size_max
            }
        }
    }

    /// For whom there is no room, there is no place to be waited for either.
    fn turn_away(&mut self, id: &MemberId, now: MonotonicMs) {
        if self.roster.remove_pending(id) || self.roster.remove(id).is_some() {
            self.timers.cancel(&Timer::Session(id.clone()));
            self.maybe_complete_join(now);
        }
    }

    fn suits(&self, request: &JoinRequest) -> bool {
        if self.state == GroupState::Empty {
            return !request.protocol_type.is_empty() && !request.protocols.is_empty();
        }
        self.protocol_type.as_ref() == Some(&request.protocol_type)
            && self.roster.knows_any(request.protocols.iter().map(|protocol| &protocol.name))
    }

    /// A member that asks for no more than it has is never refused.
    fn has_bytes_for(&self, request: &JoinRequest) -> bool {
        let returning = request.instance.as_ref().and_then(|instance| self.roster.of_instance(instance));
        let id = returning.unwrap_or(&request.member);
        let growth = match self.roster.get(id) {
            Some(member) => request.protocols_bytes().saturating_sub(member.protocols.bytes()),
            None => request.bytes().saturating_sub(self.roster.bytes_of(id)),
        };
        growth == 0 || self.roster.bytes() + growth <= self.settings.group_bytes_max
    }
}
