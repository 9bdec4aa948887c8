//! Rebalances: how one begins, who is waited for, how it ends in a generation.

use bytes::Bytes;
use tracing::{debug, info, warn};

use super::member::Member;
use super::timers::Timer;
use super::{Gathering, Group, GroupState};
use crate::error::GroupError;
use crate::ident::{MemberId, MonotonicMs};

/// The least time until a group looks again whether anybody came: a rebalance timeout of nothing must not keep it looking.
const NOBODY_CAME_WAIT_MS_MIN: u64 = 1_000;

impl Group {
    /// Asks all members to join again. Not for a group that is preparing already.
    pub(super) fn prepare_rebalance(&mut self, reason: &'static str, now: MonotonicMs) {
        if self.state == GroupState::CompletingRebalance {
            self.take_back_assignments(now);
        }
        for member in self.roster.iter_mut() {
            member.owes_sync = false;
        }
        self.timers.cancel(&Timer::Sync);
        info!(group = %self.id, generation = %self.generation, reason, "rebalance begins");
        let was_empty = self.state == GroupState::Empty;
        self.state = GroupState::PreparingRebalance;
        if was_empty {
            self.gather(now);
        } else if self.roster.have_all_joined() || self.roster.is_empty() {
            self.complete_join(now);
        } else {
            self.timers.set(Timer::Join, now.plus(self.roster.rebalance_timeout_ms()));
        }
    }

    fn gather(&mut self, now: MonotonicMs) {
        let delay_ms = self.settings.initial_rebalance_delay_ms;
        let remaining_ms = self.roster.rebalance_timeout_ms().saturating_sub(delay_ms);
        self.gathering = Some(Gathering { remaining_ms, member_came: false });
        self.timers.cancel(&Timer::Retire);
        self.timers.set(Timer::Join, now.plus(delay_ms));
    }

    /// Those who sync must join again instead.
    fn take_back_assignments(&mut self, now: MonotonicMs) {
        for id in self.roster.ids() {
            self.roster.assign(&id, Bytes::new());
            if self.roster.get(&id).is_some_and(|member| member.sync_waiter.is_some()) {
                self.refuse_waiting_sync(&id, GroupError::RebalanceInProgress);
                self.touch(&id, now);
            }
        }
    }

    pub(super) fn on_join_time_over(&mut self, now: MonotonicMs) {
        if let Some(gathering) = &mut self.gathering
            && gathering.member_came
            && gathering.remaining_ms > 0
        {
            let delay_ms = self.settings.initial_rebalance_delay_ms.min(gathering.remaining_ms);
            gathering.remaining_ms -= delay_ms;
            gathering.member_came = false;
            self.timers.set(Timer::Join, now.plus(delay_ms));
        } else {
            self.complete_join(now);
        }
    }

    /// Ends the join phase if there is nobody left to wait for. The first rebalance waits its delay out all the same,
    /// unless nobody is left at all.
    pub(super) fn maybe_complete_join(&mut self, now: MonotonicMs) {
        let is_complete = self.roster.have_all_joined() && self.gathering.is_none();
        if self.state == GroupState::PreparingRebalance && (is_complete || self.roster.is_empty()) {
            self.complete_join(now);
        }
    }

    /// Ends the join phase. Members that haven't come back are out, static ones excepted: their sessions decide.
    fn complete_join(&mut self, now: MonotonicMs) {
        self.timers.cancel(&Timer::Join);
        self.gathering = None;
        for id in self.roster.ids_where(|member| !member.is_joining() && member.instance.is_none()) {
            info!(group = %self.id, member = %id, "member did not rejoin in time and is removed");
            self.roster.remove(&id);
            self.timers.cancel(&Timer::Session(id));
        }
        if self.roster.is_empty() {
            self.become_empty(now);
        } else if self.roster.elect_joined_leader() {
            self.begin_generation(now);
        } else {
            // Only static members are left and none has come. Until one comes or all expire there is nobody to lead.
            warn!(group = %self.id, "no member rejoined in time; waiting on");
            let wait_ms = self.roster.rebalance_timeout_ms().max(NOBODY_CAME_WAIT_MS_MIN);
            self.timers.set(Timer::Join, now.plus(wait_ms));
        }
    }

    fn become_empty(&mut self, now: MonotonicMs) {
        self.generation = self.generation.next();
        self.protocol_name = None;
        self.state = GroupState::Empty;
        self.timers.cancel(&Timer::Sync);
        self.timers.set(Timer::Retire, now.plus(self.settings.empty_group_retention_ms));
        info!(group = %self.id, generation = %self.generation, "group is empty");
    }

    fn begin_generation(&mut self, now: MonotonicMs) {
        self.generation = self.generation.next();
        self.protocol_name = self.roster.elect_protocol();
        self.state = GroupState::CompletingRebalance;
        info!(
            group = %self.id, generation = %self.generation, members = self.roster.len(),
            "generation begins"
        );
        for id in self.roster.ids() {
            if let Some(waiter) = self.roster.take_join_waiter(&id) {
                let joined = self.joined(&id);
                self.accept_join(waiter, joined);
            }
            if let Some(member) = self.roster.get_mut(&id) {
                member.is_new = false;
                member.owes_sync = true;
            }
            self.touch(&id, now);
        }
        self.timers.set(Timer::Sync, now.plus(self.roster.rebalance_timeout_ms()));
    }

    /// Who joined and never syncs would hold the group up for good as long as it heartbeats.
    pub(super) fn on_sync_time_over(&mut self, now: MonotonicMs) {
        let debtors = self.roster.ids_where(|member| member.owes_sync);
        if debtors.is_empty() {
            return;
        }
        for id in debtors {
            info!(group = %self.id, member = %id, "member did not sync in time and is removed");
            self.expel(&id);
        }
        self.prepare_rebalance("a member did not sync in time", now);
    }

    /// The session of a member or of one that was given an id has run out.
    pub(super) fn on_silence(&mut self, id: &MemberId, now: MonotonicMs) {
        if self.roster.remove_pending(id) {
            debug!(group = %self.id, member = %id, "member id was never used");
            self.maybe_complete_join(now);
        } else if self.roster.get(id).is_some_and(Member::may_expire) {
            info!(group = %self.id, member = %id, "member has been silent for its session timeout and is removed");
            self.expel(id);
            self.after_removal("a member was silent for its session timeout", now);
        }
    }

    /// Takes a member out and tells its waiting requests.
    pub(super) fn expel(&mut self, id: &MemberId) {
        self.refuse_waiting_join(id, GroupError::UnknownMemberId, MemberId::none());
        self.refuse_waiting_sync(id, GroupError::UnknownMemberId);
        self.roster.remove(id);
        self.timers.cancel(&Timer::Session(id.clone()));
    }

    pub(super) fn after_removal(&mut self, reason: &'static str, now: MonotonicMs) {
        match self.state {
            GroupState::Stable | GroupState::CompletingRebalance => self.prepare_rebalance(reason, now),
            GroupState::PreparingRebalance => self.maybe_complete_join(now),
            GroupState::Empty | GroupState::Dead => {}
        }
    }
}
