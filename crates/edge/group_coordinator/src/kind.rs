//! A group of either protocol, and how it changes from one to the other.

use std::sync::Arc;

use daybook_group_assignment::Topics;
use daybook_types::GroupId;

use crate::answer::{GroupKind, Left, ListedGroup, Synced};
use crate::consumer::{
    CommitPermit, ConsumerGroup, ConsumerGroupState, ConsumerHeartbeat, HeartbeatAnswer, can_upgrade,
};
use crate::core::{CONSUMER_PROTOCOL, Effect, Group, GroupState, IdSource, WaiterId};
use crate::error::GroupError;
use crate::ident::MonotonicMs;
use crate::request::{JoinRequest, Leaver, MemberClaim, SyncRequest};
use crate::settings::Settings;

// There are a few thousand of them at most, each in a map of its own accord.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub(crate) enum AnyGroup {
    Classic(Group),
    Consumer(ConsumerGroup),
}

/// What an event of a group may look at beside it.
pub(crate) struct Scene<'a> {
    pub id: &'a GroupId,
    pub settings: &'a Arc<Settings>,
    pub topics: &'a dyn Topics,
    pub ids: &'a mut dyn IdSource,
    pub now: MonotonicMs,
}

impl AnyGroup {
    pub fn next_deadline(&self) -> Option<MonotonicMs> {
        match self {
            Self::Classic(group) => group.next_deadline(),
            Self::Consumer(group) => group.next_deadline(),
        }
    }

    pub fn tick(&mut self, now: MonotonicMs) -> Vec<Effect> {
        match self {
            Self::Classic(group) => group.tick(now),
            Self::Consumer(group) => {
                group.tick(now);
                Vec::new()
            }
        }
    }

    pub fn is_dead(&self) -> bool {
        match self {
            Self::Classic(group) => group.state() == GroupState::Dead,
            Self::Consumer(group) => group.state() == ConsumerGroupState::Dead,
        }
    }

    /// Nobody is in it or on the way, so that nobody would miss it.
    pub fn is_vacant(&self) -> bool {
        match self {
            Self::Classic(group) => group.is_vacant(),
            Self::Consumer(group) => group.is_empty(),
        }
    }

    pub fn bytes(&self) -> usize {
        match self {
            Self::Classic(group) => group.bytes(),
            Self::Consumer(group) => group.bytes(),
        }
    }

    pub fn may_delete(&self) -> Result<(), GroupError> {
        match self {
            Self::Classic(group) => group.may_delete(),
            Self::Consumer(group) => group.may_delete(),
        }
    }

    pub fn listed(&self, id: &GroupId) -> ListedGroup {
        match self {
            Self::Classic(group) => group.listed(),
            Self::Consumer(group) => ListedGroup {
                group: id.clone(),
                kind: GroupKind::Consumer,
                state: group.state().as_str(),
                protocol_type: CONSUMER_PROTOCOL.into(),
            },
        }
    }

    /// Ends the group; whoever waits is told `error`. A consumer group is left Dead by dropping it.
    pub fn close(&mut self, error: GroupError) -> Vec<Effect> {
        match self {
            Self::Classic(group) => group.close(error),
            Self::Consumer(group) => {
                group.close();
                Vec::new()
            }
        }
    }

    /// Whether offsets of the topic may not be deleted, because a member reads it.
    pub fn is_subscribed_to(&self, topic: &str) -> bool {
        match self {
            Self::Classic(group) => group.is_subscribed_to(topic),
            Self::Consumer(group) => group.is_subscribed_to(topic),
        }
    }

    /// Whether offsets may be deleted at all: which topics others than consumers read, nobody knows.
    pub fn may_delete_offsets(&self) -> Result<(), GroupError> {
        match self {
            Self::Classic(group) if !group.is_of_consumers() => group.may_delete(),
            Self::Classic(_) | Self::Consumer(_) => Ok(()),
        }
    }

    pub fn join(&mut self, request: &JoinRequest, waiter: WaiterId, scene: Scene<'_>) -> Vec<Effect> {
        match self {
            Self::Classic(group) => group.join(request, waiter, scene.ids, scene.now),
            Self::Consumer(group) if group.is_empty() => {
                let mut group = Group::new(scene.id.clone(), scene.settings.clone(), scene.now);
                let effects = group.join(request, waiter, scene.ids, scene.now);
                *self = Self::Classic(group);
                effects
            }
            Self::Consumer(group) => {
                let answer = group.join_classic(request, scene.topics, scene.ids, scene.now);
                vec![Effect::AnswerJoin { waiter, answer }]
            }
        }
    }

    pub fn sync(&mut self, request: &SyncRequest, waiter: WaiterId, scene: Scene<'_>) -> Vec<Effect> {
        match self {
            Self::Classic(group) => group.sync(request, waiter, scene.now),
            Self::Consumer(group) => {
                let answer: Result<Synced, GroupError> = group.sync_classic(request, scene.topics, scene.now);
                vec![Effect::AnswerSync { waiter, answer }]
            }
        }
    }

    pub fn heartbeat(&mut self, claim: &MemberClaim, scene: Scene<'_>) -> Result<(), GroupError> {
        match self {
            Self::Classic(group) => group.heartbeat(claim, scene.now),
            Self::Consumer(group) => group.heartbeat_classic(claim, scene.topics, scene.now),
        }
    }

    pub fn leave(&mut self, leavers: &[Leaver], now: MonotonicMs) -> (Vec<Left>, Vec<Effect>) {
        match self {
            Self::Classic(group) => group.leave(leavers, now),
            Self::Consumer(group) => (group.leave_classic(leavers, now), Vec::new()),
        }
    }

    pub fn check_commit(
        &mut self,
        claim: &MemberClaim,
        knows_epochs: bool,
        now: MonotonicMs,
    ) -> Result<CommitPermit, GroupError> {
        match self {
            Self::Classic(group) => group.check_commit(claim, now).map(|()| CommitPermit::Any),
            Self::Consumer(group) => group.check_commit(claim, knows_epochs),
        }
    }

    /// In a transaction (KIP-447). Producers before that name no member.
    pub fn check_transactional_commit(&mut self, claim: &MemberClaim, now: MonotonicMs) -> Result<(), GroupError> {
        match self {
            Self::Classic(group) => group.check_transactional_commit(claim, now),
            Self::Consumer(_) if claim.names_nobody() => Ok(()),
            Self::Consumer(group) => match group.check_commit(claim, true) {
                Ok(CommitPermit::Any) => Ok(()),
                // The answers of transactions know no stale epoch.
                Ok(CommitPermit::Only(..)) | Err(GroupError::StaleMemberEpoch) => Err(GroupError::IllegalGeneration),
                Err(error) => Err(error),
            },
        }
    }

    /// Of the new protocol. A classic group becomes a consumer group, if it has no members or is allowed to.
    pub fn consumer_heartbeat(
        &mut self,
        request: &ConsumerHeartbeat,
        scene: Scene<'_>,
    ) -> (Result<HeartbeatAnswer, GroupError>, Vec<Effect>) {
        let mut effects = Vec::new();
        if let Self::Classic(group) = self {
            if !request.is_joining() {
                // It is from before a restart, or was in a group that is no more. It joins anew.
                return (Err(GroupError::UnknownMemberId), effects);
            }
            let consumer = if group.state() == GroupState::Empty {
                Some(ConsumerGroup::new(scene.id.clone(), scene.settings.clone(), scene.now))
            } else if can_upgrade(group, scene.settings) {
                ConsumerGroup::from_classic(group.hand_over(), scene.settings.clone(), scene.topics, scene.now)
            } else {
                None
            };
            let Some(consumer) = consumer else { return (Err(GroupError::NotConsumerGroup), effects) };
            effects = group.close(GroupError::RebalanceInProgress);
            *self = Self::Consumer(consumer);
        }
        match self {
            Self::Consumer(group) => (group.heartbeat(request, scene.topics, scene.ids, scene.now), effects),
            Self::Classic(_) => (Err(GroupError::NotConsumerGroup), effects),
        }
    }

    /// Whether, after an event, the group should follow its members back to the classic protocol.
    pub fn should_downgrade(&self) -> bool {
        matches!(self, Self::Consumer(group) if group.should_downgrade())
    }

    pub fn downgrade(&mut self, settings: &Arc<Settings>, topics: &dyn Topics, now: MonotonicMs) {
        if let Self::Consumer(group) = self {
            *self = Self::Classic(Group::take_over(group.to_classic(topics), settings.clone(), now));
        }
    }
}
