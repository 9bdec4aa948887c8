//! One group of the consumer group protocol (KIP-848) as a pure state machine. It reads no clock and draws no dice: every event
//! carries its time and, where it matters, the topics as they are; [`ConsumerGroup::next_deadline`] says when to call
//! [`ConsumerGroup::tick`].
//!
//! The group has an epoch, which counts up with everything that changes who should have what: members, subscriptions, topics.
//! The target assignment is made for one epoch. Each member is led towards its target by its own heartbeats:
//!
//! ```text
//!              target changes, nothing to give up            partitions not given up by others yet
//!        ┌────────────────────────────────────────▶ Stable ◀──────────────────────▶ Unreleased
//!        │                                            │                                │
//!   (joins at epoch 0)                                │ partitions to give up          │
//!                                                     ▼                                │
//!                                                 Unrevoked ◀──────────────────────────┘
//!                                                     └── it no longer names them as its own: on to the target
//! ```
//!
//! A member that speaks the classic protocol can be among the others: its joins stand for the heartbeats that lead it on
//! (`classic.rs`), and whole groups change their kind while members are in (`convert.rs`).
//!
//! Invariants, at the end of every event:
//! - A partition has at most one holder: a member that was given it and that has not said, or been judged by a timeout, that it
//!   gave it up.
//! - Epochs never fall: neither the group's, nor the target's, nor a member's while it stays the same member (but for the one
//!   that a static member leaves with and comes back from).
//! - A member has a session timer; one with partitions to give up has a rebalance timer, if it can be told so by heartbeats.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use daybook_group_assignment::{Assignor, KnownTopic, Partitions};
use daybook_types::{GroupId, PartitionId};
use tracing::info;

use crate::core::IdSource;
use crate::error::GroupError;
use crate::ident::{Generation, InstanceId, MemberId, MonotonicMs};
use crate::settings::Settings;

mod classic;
mod commit;
mod convert;
mod describe;
mod embedded;
mod heartbeat;
mod member;
mod reconcile;
mod regexes;
mod target;

pub use commit::CommitPermit;
pub use describe::{ConsumerDescription, ConsumerMemberDescription};
pub use heartbeat::{ConsumerHeartbeat, HeartbeatAnswer};

use member::Member;
use regexes::Regexes;

pub(crate) use convert::can_upgrade;

/// Kafka's states of a consumer group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConsumerGroupState {
    Empty,
    /// The epoch has no target assignment yet.
    Assigning,
    /// Members are on their way to their targets.
    Reconciling,
    Stable,
    /// The group is no more; its owner may drop it.
    Dead,
}

/// The order is the order in which timers of one millisecond fire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// The member has had its time to give up partitions.
    Rebalance(MemberId),
    /// The classic member has had its time to join again.
    Join(MemberId),
    /// The classic member has had its time to sync.
    Sync(MemberId),
    /// The member has been silent.
    Session(MemberId),
    /// The group has long been empty.
    Retire,
}

#[derive(Debug)]
pub struct ConsumerGroup {
    id: GroupId,
    settings: Arc<Settings>,
    epoch: Generation,
    /// For which epoch the target assignment was made.
    target_epoch: Generation,
    target_made_at: Option<MonotonicMs>,
    members: BTreeMap<MemberId, Member>,
    by_instance: HashMap<InstanceId, MemberId>,
    /// Who holds a partition.
    holders: HashMap<PartitionId, MemberId>,
    /// The topics that members want and that exist.
    topics: BTreeMap<Arc<str>, KnownTopic>,
    /// Which state of the catalog `topics` was read from; none: to be read again.
    topics_version: Option<u64>,
    regexes: Regexes,
    timers: crate::timers::Timers<Timer>,
    members_bytes: usize,
    is_dead: bool,
}

impl ConsumerGroup {
    pub fn new(id: GroupId, settings: Arc<Settings>, now: MonotonicMs) -> Self {
        let mut group = Self {
            id,
            settings,
            epoch: Generation(0),
            target_epoch: Generation(0),
            target_made_at: None,
            members: BTreeMap::new(),
            by_instance: HashMap::new(),
            holders: HashMap::new(),
            topics: BTreeMap::new(),
            topics_version: None,
            regexes: Regexes::default(),
            timers: crate::timers::Timers::default(),
            members_bytes: 0,
            is_dead: false,
        };
        group.retire_later(now);
        group
    }

    pub fn next_deadline(&self) -> Option<MonotonicMs> {
        self.timers.next()
    }

    /// Does all that is due.
    pub fn tick(&mut self, now: MonotonicMs) {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Rebalance(id) => {
                    self.fence(&id, "it did not give up partitions within its rebalance timeout", now)
                }
                Timer::Join(id) => self.fence(&id, "it did not join again within its rebalance timeout", now),
                Timer::Sync(id) => self.fence(&id, "it did not sync within its rebalance timeout", now),
                Timer::Session(id) => self.fence(&id, "it has been silent for its session timeout", now),
                Timer::Retire => self.is_dead = self.members.is_empty(),
            }
        }
    }

    pub fn state(&self) -> ConsumerGroupState {
        if self.is_dead {
            ConsumerGroupState::Dead
        } else if self.members.is_empty() {
            ConsumerGroupState::Empty
        } else if self.epoch > self.target_epoch {
            ConsumerGroupState::Assigning
        } else if self.members.values().any(|member| !member.is_reconciled_to(self.target_epoch)) {
            ConsumerGroupState::Reconciling
        } else {
            ConsumerGroupState::Stable
        }
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn may_delete(&self) -> Result<(), GroupError> {
        if self.members.is_empty() { Ok(()) } else { Err(GroupError::NonEmptyGroup) }
    }

    /// Ends the group.
    pub fn close(&mut self) {
        self.is_dead = true;
        self.timers.clear();
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        const GROUP_BYTES: usize = 2048;
        const HOLDER_BYTES: usize = 256;
        GROUP_BYTES + self.id.as_str().len() + self.members_bytes + self.holders.len() * HOLDER_BYTES
    }

    /// Whether anybody's subscription takes in the topic.
    pub fn is_subscribed_to(&self, topic: &str) -> bool {
        self.members.values().any(|member| {
            let by_regex = member.subscription.regex.as_ref().and_then(|regex| self.regexes.names(regex));
            member.subscription.names.contains(topic) || by_regex.is_some_and(|names| names.contains(topic))
        })
    }

    /// The assignor with the most votes; the first of the server's where nobody votes.
    pub fn assignor(&self) -> Assignor {
        let votes = |assignor| self.members.values().filter(|member| member.assignor == Some(assignor)).count();
        // Of several with the same number the last would win, so the default stands last.
        Assignor::ALL.into_iter().rev().max_by_key(|assignor| votes(*assignor)).unwrap_or(Assignor::Uniform)
    }

    fn retire_later(&mut self, now: MonotonicMs) {
        self.timers.set(Timer::Retire, now.plus(self.settings.empty_group_retention_ms.max(1)));
    }

    fn fence(&mut self, id: &MemberId, reason: &'static str, now: MonotonicMs) {
        if self.members.contains_key(id) {
            info!(group = %self.id, member = %id, reason, "member is fenced");
            self.remove_member(id, now);
        }
    }

    fn insert_member(&mut self, member: Member) {
        self.timers.cancel(&Timer::Retire);
        if let Some(instance) = &member.instance {
            self.by_instance.insert(instance.clone(), member.id.clone());
        }
        self.members_bytes += member.bytes();
        self.members.insert(member.id.clone(), member);
    }

    /// Takes a member out, with all it holds, and begins an epoch without it.
    fn remove_member(&mut self, id: &MemberId, now: MonotonicMs) {
        let Some(member) = self.take_member(id) else { return };
        for partition in member.holds() {
            self.holders.remove(partition);
        }
        self.topics_version = None;
        self.bump_epoch();
        if self.members.is_empty() {
            self.retire_later(now);
        }
    }

    /// Takes a member out of the books, but for what it holds.
    fn take_member(&mut self, id: &MemberId) -> Option<Member> {
        let member = self.members.remove(id)?;
        self.members_bytes -= member.bytes();
        if let Some(instance) = &member.instance
            && self.by_instance.get(instance) == Some(id)
        {
            self.by_instance.remove(instance);
        }
        for timer in [Timer::Rebalance, Timer::Join, Timer::Sync, Timer::Session] {
            self.timers.cancel(&timer(id.clone()));
        }
        Some(member)
    }

    /// Lets a static member that comes back have everything of its old self but its name and its epoch.
    fn rename_member(&mut self, old: &MemberId, new: &MemberId) {
        let Some(mut member) = self.take_member(old) else { return };
        info!(group = %self.id, old_member = %old, member = %new, "static member is replaced");
        for partition in member.holds() {
            self.holders.insert(*partition, new.clone());
        }
        member.id = new.clone();
        member.epoch = Generation(0);
        member.previous_epoch = Generation(0);
        self.insert_member(member);
    }

    fn bump_epoch(&mut self) {
        self.epoch = self.epoch.next();
        info!(group = %self.id, epoch = %self.epoch, members = self.members.len(), "group has a new epoch");
    }

    /// What a member should have, as far as it still wants it.
    fn wanted_target(&self, id: &MemberId) -> Partitions {
        let Some(member) = self.members.get(id) else { return Partitions::new() };
        let wants = self.wanted_topics(&member.subscription);
        let wants =
            |partition: &&PartitionId| wants.binary_search_by_key(&partition.topic, |(topic, _)| *topic).is_ok();
        member.target.iter().filter(wants).copied().collect()
    }

    fn new_member_id(ids: &mut dyn IdSource) -> MemberId {
        MemberId::new(&ids.draw())
    }
}

impl ConsumerGroupState {
    /// Kafka's name of the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Assigning => "Assigning",
            Self::Reconciling => "Reconciling",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

#[cfg(test)]
mod tests;
