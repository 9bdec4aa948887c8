//! One group as a pure state machine. It reads no clock and draws no dice: every event carries its time, new ids come from
//! the [`IdSource`] given. What it wants done comes back as [`Effect`]s; [`Group::next_deadline`] says when to call
//! [`Group::tick`].
//!
//! ```text
//!            first join                  all joined, or time over
//!   Empty ─────────────▶ PreparingRebalance ─────────────▶ CompletingRebalance
//!     ▲                    │      ▲    ▲                      │      │
//!     └────── nobody left ─┘      │    └── who owes a sync ───┘      │ the leader syncs
//!                                 │        left or never sent it     ▼
//!                                 └───── joins, leaves, expiry ─── Stable
//! ```
//!
//! Invariants, at the end of every event:
//! - A group without members is Empty (or Dead), one with members isn't; every change from the one to the other and every
//!   completed rebalance is a new generation.
//! - Joins wait only in PreparingRebalance, syncs only in CompletingRebalance, and every one of them is answered.
//! - A member that waits for nothing has a session timer, and so has a new one and every pending one.
//! - PreparingRebalance has a join timer, CompletingRebalance a sync timer, Empty a retire timer; Dead has none.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use daybook_types::GroupId;

use crate::answer::{GroupDescription, GroupKind, JoinRefused, Joined, ListedGroup, Synced};
use crate::error::GroupError;
use crate::ident::{Generation, MemberId, MonotonicMs};
use crate::settings::Settings;

mod hand_over;
mod join;
mod member;
mod protocols;
mod rebalance;
mod roster;
mod session;
mod subscription;
mod sync;
mod timers;

pub use crate::ident::WaiterId;

pub(crate) use hand_over::{HandOver, HandedMember};
pub(crate) use member::duration_ms;
pub(crate) use protocols::{Protocols, Tally};
use roster::Roster;
use timers::{Timer, Timers};

/// The protocol type of classic groups of consumers.
pub(crate) const CONSUMER_PROTOCOL: &str = "consumer";

/// Kafka's states of a classic group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupState {
    Empty,
    /// Members are asked to join.
    PreparingRebalance,
    /// The generation is known; the leader's assignments are not.
    CompletingRebalance,
    Stable,
    /// The group is no more; its owner may drop it.
    Dead,
}

/// What is to be done with requests that waited or that have just come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    AnswerJoin { waiter: WaiterId, answer: Result<Joined, JoinRefused> },
    AnswerSync { waiter: WaiterId, answer: Result<Synced, GroupError> },
}

/// Where the unguessable part of new member ids comes from.
pub trait IdSource {
    fn draw(&mut self) -> String;
}

#[derive(Debug)]
pub struct Group {
    id: GroupId,
    settings: Arc<Settings>,
    state: GroupState,
    generation: Generation,
    /// Of the last members, if any were ever here.
    protocol_type: Option<Arc<str>>,
    /// While there is a generation with members.
    protocol_name: Option<Arc<str>>,
    roster: Roster,
    /// While the group's first rebalance gathers members.
    gathering: Option<Gathering>,
    timers: Timers,
    effects: Vec<Effect>,
}

/// The first rebalance waits a delay, and another as long as members have come during the last one (KIP-134).
#[derive(Clone, Copy, Debug)]
struct Gathering {
    /// What may still be waited after the present delay.
    remaining_ms: u64,
    member_came: bool,
}

impl Group {
    pub fn new(id: GroupId, settings: Arc<Settings>, now: MonotonicMs) -> Self {
        let mut timers = Timers::default();
        timers.set(Timer::Retire, now.plus(settings.empty_group_retention_ms));
        Self {
            id,
            settings,
            state: GroupState::Empty,
            generation: Generation(0),
            protocol_type: None,
            protocol_name: None,
            roster: Roster::default(),
            gathering: None,
            timers,
            effects: Vec::new(),
        }
    }

    /// When `tick` has something to do, unless an event comes before.
    pub fn next_deadline(&self) -> Option<MonotonicMs> {
        self.timers.next()
    }

    /// Does all that is due.
    pub fn tick(&mut self, now: MonotonicMs) -> Vec<Effect> {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Join => self.on_join_time_over(now),
                Timer::Sync => self.on_sync_time_over(now),
                Timer::Retire => self.on_retire_time(now),
                Timer::Session(member) => self.on_silence(&member, now),
            }
        }
        self.take_effects()
    }

    fn on_retire_time(&mut self, now: MonotonicMs) {
        if self.is_vacant() {
            self.state = GroupState::Dead;
            self.timers.clear();
        } else {
            // Somebody was given an id and may yet join. At least a millisecond on, lest `tick` never end.
            self.timers.set(Timer::Retire, now.plus(self.settings.empty_group_retention_ms.max(1)));
        }
    }

    pub fn state(&self) -> GroupState {
        self.state
    }

    /// Nobody is in it or on the way, so that nobody would miss it.
    pub fn is_vacant(&self) -> bool {
        self.state == GroupState::Empty && self.roster.pending_count() == 0
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        const GROUP_BYTES: usize = 1024;
        GROUP_BYTES + self.id.as_str().len() + self.roster.bytes()
    }

    /// Whether the group may be deleted: it has no members.
    pub fn may_delete(&self) -> Result<(), GroupError> {
        match self.state {
            GroupState::Empty | GroupState::Dead => Ok(()),
            GroupState::PreparingRebalance | GroupState::CompletingRebalance | GroupState::Stable => {
                Err(GroupError::NonEmptyGroup)
            }
        }
    }

    /// Ends the group; whoever waits is told `error`.
    pub fn close(&mut self, error: GroupError) -> Vec<Effect> {
        for id in self.roster.ids() {
            self.refuse_waiting_join(&id, error, id.clone());
            self.refuse_waiting_sync(&id, error);
        }
        self.roster = Roster::default();
        self.gathering = None;
        self.timers.clear();
        self.state = GroupState::Dead;
        self.take_effects()
    }

    /// Whether a member's subscription takes in the topic; of a group that is not settled nobody knows, so it does.
    pub fn is_subscribed_to(&self, topic: &str) -> bool {
        self.roster.iter().any(|member| {
            let metadata = self.protocol_name.as_ref().and_then(|name| member.protocols.metadata(name));
            let topics = metadata.and_then(|metadata| subscription::topics(metadata));
            topics.is_none_or(|topics| topics.contains(topic.as_bytes()))
        })
    }

    /// Consumers, whose subscriptions can be read.
    pub fn is_of_consumers(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER_PROTOCOL)
    }

    pub fn describe(&self) -> GroupDescription {
        let protocol_name = if self.state == GroupState::Stable { self.protocol_name.clone() } else { None };
        GroupDescription {
            state: self.state,
            generation: self.generation,
            protocol_type: self.protocol_type_or_empty(),
            leader: self.roster.leader().cloned(),
            members: self.roster.iter().map(|member| member.describe(protocol_name.as_deref())).collect(),
            protocol_name,
        }
    }

    pub fn listed(&self) -> ListedGroup {
        ListedGroup {
            group: self.id.clone(),
            kind: GroupKind::Classic,
            state: self.state.as_str(),
            protocol_type: self.protocol_type_or_empty(),
        }
    }

    fn protocol_type_or_empty(&self) -> Arc<str> {
        self.protocol_type.clone().unwrap_or_else(|| "".into())
    }

    fn protocol_name_or_empty(&self) -> Arc<str> {
        self.protocol_name.clone().unwrap_or_else(|| "".into())
    }

    /// The member has shown that it lives.
    fn touch(&mut self, id: &MemberId, now: MonotonicMs) {
        if let Some(member) = self.roster.get(id) {
            self.timers.set(Timer::Session(id.clone()), now.plus(member.session_timeout_ms));
        }
    }

    fn accept_join(&mut self, waiter: WaiterId, joined: Joined) {
        self.effects.push(Effect::AnswerJoin { waiter, answer: Ok(joined) });
    }

    fn refuse_join(&mut self, waiter: WaiterId, error: GroupError, member: MemberId) {
        self.effects.push(Effect::AnswerJoin { waiter, answer: Err(JoinRefused { error, member }) });
    }

    fn refuse_waiting_join(&mut self, id: &MemberId, error: GroupError, shown_id: MemberId) {
        if let Some(waiter) = self.roster.take_join_waiter(id) {
            self.refuse_join(waiter, error, shown_id);
        }
    }

    fn accept_sync(&mut self, waiter: WaiterId, assignment: Bytes) {
        let synced = Synced {
            protocol_type: self.protocol_type_or_empty(),
            protocol_name: self.protocol_name_or_empty(),
            assignment,
        };
        self.effects.push(Effect::AnswerSync { waiter, answer: Ok(synced) });
    }

    fn refuse_sync(&mut self, waiter: WaiterId, error: GroupError) {
        self.effects.push(Effect::AnswerSync { waiter, answer: Err(error) });
    }

    fn refuse_waiting_sync(&mut self, id: &MemberId, error: GroupError) {
        if let Some(waiter) = self.roster.get_mut(id).and_then(|member| member.sync_waiter.take()) {
            self.refuse_sync(waiter, error);
        }
    }

    fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }
}

impl GroupState {
    /// Kafka's name of the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

impl fmt::Display for GroupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
