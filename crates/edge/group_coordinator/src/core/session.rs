//! A member's life in a generation: heartbeats, commits, leaving; and the checks that it is who it says.

use tracing::info;

use super::{Effect, Group, GroupState, Timer};
use crate::answer::Left;
use crate::error::GroupError;
use crate::ident::{InstanceId, MemberId, MonotonicMs};
use crate::request::{Leaver, MemberClaim};

impl Group {
    pub fn heartbeat(&mut self, claim: &MemberClaim, now: MonotonicMs) -> Result<(), GroupError> {
        self.check_claim(claim)?;
        self.touch(&claim.member, now);
        match self.state {
            // A consumer may heartbeat as soon as its join is answered, before it syncs.
            GroupState::CompletingRebalance | GroupState::Stable => Ok(()),
            GroupState::PreparingRebalance => Err(GroupError::RebalanceInProgress),
            GroupState::Empty | GroupState::Dead => Err(GroupError::UnknownMemberId),
        }
    }

    /// Whether offsets may be committed by who claims it. Without a generation, from a client that manages its partitions
    /// itself or from an administrator: only while the group has no members. During a rebalance: until the new generation
    /// begins, so that members can commit what they are about to give up.
    pub fn check_commit(&mut self, claim: &MemberClaim, now: MonotonicMs) -> Result<(), GroupError> {
        if claim.generation.is_none() && self.state == GroupState::Empty {
            return Ok(());
        }
        self.check_claim(claim)?;
        match self.state {
            GroupState::Stable | GroupState::PreparingRebalance => {
                self.touch(&claim.member, now);
                Ok(())
            }
            GroupState::CompletingRebalance => Err(GroupError::RebalanceInProgress),
            GroupState::Empty | GroupState::Dead => Err(GroupError::UnknownMemberId),
        }
    }

    /// Whether the claimant may commit offsets in a transaction. Who names no generation may: producers before KIP-447 know of no
    /// group. A rebalance that isn't complete is no hindrance, as long as the generation is the present one.
    pub fn check_transactional_commit(&mut self, claim: &MemberClaim, now: MonotonicMs) -> Result<(), GroupError> {
        if claim.names_nobody() {
            return Ok(());
        }
        self.check_claim(claim)?;
        self.touch(&claim.member, now);
        Ok(())
    }

    /// One outcome for each leaver, in order; at most one rebalance for all.
    pub fn leave(&mut self, leavers: &[Leaver], now: MonotonicMs) -> (Vec<Left>, Vec<Effect>) {
        let members_before = self.roster.len();
        let left = leavers
            .iter()
            .map(|leaver| Left {
                member: leaver.member.clone(),
                instance: leaver.instance.clone(),
                outcome: self.leave_one(leaver),
            })
            .collect();
        if self.roster.len() < members_before {
            self.after_removal("a member leaves", now);
        } else {
            // A pending member that leaves need no longer be waited for, nor is it a reason to rebalance.
            self.maybe_complete_join(now);
        }
        (left, self.take_effects())
    }

    fn leave_one(&mut self, leaver: &Leaver) -> Result<(), GroupError> {
        if self.roster.remove_pending(&leaver.member) {
            self.timers.cancel(&Timer::Session(leaver.member.clone()));
            return Ok(());
        }
        let id = if leaver.member.is_none() {
            let instance = leaver.instance.as_ref().ok_or(GroupError::UnknownMemberId)?;
            self.roster.of_instance(instance).cloned().ok_or(GroupError::UnknownMemberId)?
        } else {
            self.check_member(&leaver.member, leaver.instance.as_ref())?;
            leaver.member.clone()
        };
        info!(group = %self.id, member = %id, "member leaves");
        self.expel(&id);
        Ok(())
    }

    pub(super) fn check_claim(&self, claim: &MemberClaim) -> Result<(), GroupError> {
        self.check_member(&claim.member, claim.instance.as_ref())?;
        if claim.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        Ok(())
    }

    /// The instance first: a static member whose id is no longer known must learn that it was replaced.
    pub(super) fn check_member(&self, id: &MemberId, instance: Option<&InstanceId>) -> Result<(), GroupError> {
        if let Some(instance) = instance {
            let current = self.roster.of_instance(instance).ok_or(GroupError::UnknownMemberId)?;
            if current != id {
                return Err(GroupError::FencedInstanceId);
            }
        }
        if self.roster.contains(id) { Ok(()) } else { Err(GroupError::UnknownMemberId) }
    }
}
