//! Members of the classic protocol in a consumer group: joins lead them towards their targets, syncs tell them what they have,
//! heartbeats tell them to join again. Nobody leads and nobody assigns but the server.

use std::sync::Arc;

use daybook_group_assignment::{Subscription, Topics};
use daybook_types::PartitionId;
use tracing::info;

use super::embedded::{self, EmbeddedSubscription};
use super::member::{ClassicSide, Member, MemberState};
use super::{ConsumerGroup, Timer};
use crate::answer::{JoinRefused, Joined, Left, Synced};
use crate::core::{CONSUMER_PROTOCOL, IdSource, Protocols, Tally, duration_ms};
use crate::error::GroupError;
use crate::ident::{MemberId, MonotonicMs};
use crate::request::{JoinRequest, Leaver, MemberClaim, SyncRequest};

impl ConsumerGroup {
    pub fn join_classic(
        &mut self,
        request: &JoinRequest,
        topics: &dyn Topics,
        ids: &mut dyn IdSource,
        now: MonotonicMs,
    ) -> Result<Joined, JoinRefused> {
        let refused = |error| JoinRefused { error, member: request.member.clone() };
        let subscription = self.check_join(request, topics).map_err(refused)?;
        if request.member.is_none() && request.instance.is_none() && request.member_id_first {
            // It isn't remembered: whoever comes with it is let in.
            return Err(JoinRefused { error: GroupError::MemberIdRequired, member: Self::new_member_id(ids) });
        }
        let id = self.find_classic(request, ids).map_err(refused)?;
        let owned = subscription.owned.clone();
        let changed = self.update_classic(&id, request, subscription);
        self.proceed(&id, Some(&owned), changed, topics, now);
        self.timers.cancel(&Timer::Join(id.clone()));
        self.timers.set(Timer::Session(id.clone()), now.plus(duration_ms(request.session_timeout_ms)));
        self.timers.set(Timer::Sync(id.clone()), now.plus(duration_ms(request.rebalance_timeout_ms)));
        let member = self.members.get(&id).ok_or_else(|| refused(GroupError::UnknownMemberId))?;
        Ok(Joined {
            member: id.clone(),
            generation: member.epoch,
            protocol_type: CONSUMER_PROTOCOL.into(),
            protocol_name: protocol_name(member),
            leader: MemberId::none(),
            members: Vec::new(),
            skip_assignment: false,
        })
    }

    pub fn sync_classic(
        &mut self,
        request: &SyncRequest,
        topics: &dyn Topics,
        now: MonotonicMs,
    ) -> Result<Synced, GroupError> {
        let id = self.check_classic(&request.claim)?;
        let member = self.members.get(&id).ok_or(GroupError::UnknownMemberId)?;
        let name = protocol_name(member);
        if request.protocol_type.as_deref().is_some_and(|given| given != CONSUMER_PROTOCOL)
            || request.protocol_name.as_ref().is_some_and(|given| *given != name)
        {
            return Err(GroupError::InconsistentGroupProtocol);
        }
        // One that has partitions to give up learns of it by this answer; the others join again for the newest target.
        if member.epoch < self.target_epoch && member.state != MemberState::Unrevoked {
            self.await_join(&id, now);
            return Err(GroupError::RebalanceInProgress);
        }
        let assigned: Vec<PartitionId> = member.assigned.keys().copied().collect();
        let side = member.classic.as_ref();
        let version =
            side.and_then(ClassicSide::protocol).map_or(0, |protocol| embedded::version_of(&protocol.metadata));
        self.timers.cancel(&Timer::Sync(id.clone()));
        self.touch_classic(&id, now);
        Ok(Synced {
            protocol_type: request.protocol_type.clone().unwrap_or_else(|| CONSUMER_PROTOCOL.into()),
            protocol_name: name,
            assignment: embedded::write_assignment(version, &assigned, topics),
        })
    }

    pub fn heartbeat_classic(
        &mut self,
        claim: &MemberClaim,
        topics: &dyn Topics,
        now: MonotonicMs,
    ) -> Result<(), GroupError> {
        let id = self.check_classic(claim)?;
        self.touch_classic(&id, now);
        self.look_at_topics(topics, now);
        self.maybe_make_target(now);
        let member = self.members.get(&id).ok_or(GroupError::UnknownMemberId)?;
        let can_go_on = match member.state {
            MemberState::Stable => member.epoch < self.target_epoch,
            MemberState::Unrevoked => true,
            MemberState::Unreleased => {
                let has_or_may_have = |partition: &PartitionId| {
                    member.assigned.contains_key(partition) || !self.holders.contains_key(partition)
                };
                member.epoch < self.target_epoch || member.target.iter().all(has_or_may_have)
            }
        };
        if can_go_on {
            self.await_join(&id, now);
            return Err(GroupError::RebalanceInProgress);
        }
        Ok(())
    }

    /// One outcome for each leaver, in order.
    pub fn leave_classic(&mut self, leavers: &[Leaver], now: MonotonicMs) -> Vec<Left> {
        let leave = |leaver: &Leaver| Left {
            member: leaver.member.clone(),
            instance: leaver.instance.clone(),
            outcome: self.leave_one_classic(leaver, now),
        };
        leavers.iter().map(leave).collect()
    }

    fn leave_one_classic(&mut self, leaver: &Leaver, now: MonotonicMs) -> Result<(), GroupError> {
        let id = match &leaver.instance {
            // An administrator names the instance only.
            Some(instance) if leaver.member.is_none() => {
                self.by_instance.get(instance).cloned().ok_or(GroupError::UnknownMemberId)?
            }
            Some(instance) => {
                self.check_instance(instance, &leaver.member)?;
                leaver.member.clone()
            }
            None => leaver.member.clone(),
        };
        let member = self.members.get(&id).ok_or(GroupError::UnknownMemberId)?;
        if member.classic.is_none() {
            return Err(GroupError::UnknownMemberId);
        }
        info!(group = %self.id, member = %id, "member leaves");
        self.remove_member(&id, now);
        Ok(())
    }

    fn check_join(&self, request: &JoinRequest, topics: &dyn Topics) -> Result<EmbeddedSubscription, GroupError> {
        let is_known = self.members.contains_key(&request.member)
            || request.instance.as_ref().is_some_and(|instance| self.by_instance.contains_key(instance));
        if !is_known && self.members.len() >= self.settings.consumer.group_size_max {
            return Err(GroupError::GroupMaxSizeReached);
        }
        let growth =
            request.protocols_bytes().saturating_sub(self.members.get(&request.member).map_or(0, Member::bytes));
        if growth > 0 && self.members_bytes + request.bytes() > self.settings.group_bytes_max {
            return Err(GroupError::GroupTooLarge);
        }
        let mut tally = Tally::default();
        let sides = self.members.values().filter_map(|member| member.classic.as_ref());
        let mut members_count = 0;
        for side in sides {
            tally.add(&Protocols::new(&side.protocols));
            members_count += 1;
        }
        let shares_one = request.protocols.iter().any(|protocol| tally.is_known_to_all(&protocol.name, members_count));
        if &*request.protocol_type != CONSUMER_PROTOCOL || !shares_one {
            return Err(GroupError::InconsistentGroupProtocol);
        }
        let first = request.protocols.first().ok_or(GroupError::InconsistentGroupProtocol)?;
        embedded::read_subscription(&first.metadata, topics).ok_or(GroupError::InconsistentGroupProtocol)
    }

    fn find_classic(&mut self, request: &JoinRequest, ids: &mut dyn IdSource) -> Result<MemberId, GroupError> {
        let id = if request.member.is_none() { Self::new_member_id(ids) } else { request.member.clone() };
        let known = request.instance.as_ref().and_then(|instance| self.by_instance.get(instance)).cloned();
        match (&request.instance, known) {
            (Some(_), Some(old)) if request.member.is_none() => self.rename_member(&old, &id),
            (Some(_), Some(old)) if old != id => return Err(GroupError::FencedInstanceId),
            (Some(_), None) if !request.member.is_none() => return Err(GroupError::UnknownMemberId),
            _ if self.members.contains_key(&id) => {}
            _ => {
                info!(group = %self.id, member = %id, client_id = %request.client_id, "member joins by the classic protocol");
                self.insert_member(Member { instance: request.instance.clone(), ..Member::new(id.clone()) });
            }
        }
        Ok(id)
    }

    fn update_classic(&mut self, id: &MemberId, request: &JoinRequest, said: EmbeddedSubscription) -> bool {
        let known = self.members.get(id).map(|member| member.subscription.clone()).unwrap_or_default();
        let subscription = self.shared_subscription(known, Subscription { names: said.topics, regex: None });
        // Copied: kept as it came, metadata would pin the whole request it was cut from.
        let protocols = Protocols::new(&request.protocols).list().to_vec();
        self.timers.cancel(&Timer::Rebalance(id.clone()));
        self.change_member(id, |member| {
            let changed = !Arc::ptr_eq(&member.subscription, &subscription);
            member.subscription = subscription;
            member.rack = said.rack;
            member.assignor = None;
            member.set_rebalance_timeout(request.rebalance_timeout_ms);
            member.client_id = request.client_id.clone();
            member.client_host = request.client_host.clone();
            member.classic = Some(ClassicSide { session_timeout_ms: request.session_timeout_ms, protocols });
            changed
        })
    }

    fn check_classic(&self, claim: &MemberClaim) -> Result<MemberId, GroupError> {
        if let Some(instance) = &claim.instance {
            self.check_instance(instance, &claim.member)?;
        }
        let member = self.members.get(&claim.member).filter(|member| member.classic.is_some());
        match member {
            None => Err(GroupError::UnknownMemberId),
            Some(member) if member.epoch != claim.generation => Err(GroupError::IllegalGeneration),
            Some(member) => Ok(member.id.clone()),
        }
    }

    fn touch_classic(&mut self, id: &MemberId, now: MonotonicMs) {
        if let Some(side) = self.members.get(id).and_then(|member| member.classic.as_ref()) {
            self.timers.set(Timer::Session(id.clone()), now.plus(duration_ms(side.session_timeout_ms)));
        }
    }

    /// It has been asked to join again, and has its time for that.
    fn await_join(&mut self, id: &MemberId, now: MonotonicMs) {
        let timer = Timer::Join(id.clone());
        if let Some(member) = self.members.get(id)
            && !self.timers.is_set(&timer)
        {
            self.timers.set(timer, now.plus(member.rebalance_timeout_ms));
        }
    }
}

fn protocol_name(member: &Member) -> Arc<str> {
    member.classic.as_ref().and_then(ClassicSide::protocol).map_or_else(|| "".into(), |protocol| protocol.name.clone())
}
