//! ConsumerGroupHeartbeat: joining, staying, changing one's mind, leaving.

use std::collections::BTreeSet;
use std::sync::Arc;

use daybook_group_assignment::{Assignor, Partitions, Subscription, TopicRegex, Topics};
use daybook_types::GroupId;
use tracing::{debug, info};

use super::member::{Held, Member};
use super::{ConsumerGroup, ConsumerGroupState, Timer};
use crate::core::IdSource;
use crate::error::GroupError;
use crate::ident::{Generation, InstanceId, MemberId, MonotonicMs};

/// At most so many heartbeats a second of one group while it is on its way: the larger it is, the longer each waits.
const HASTY_HEARTBEATS_A_SECOND_MAX: u64 = 2_000;

/// Options are what the member left out because it didn't change.
#[derive(Clone, Debug)]
pub struct ConsumerHeartbeat {
    pub group: GroupId,
    pub member: MemberId,
    pub epoch: Generation,
    pub instance: Option<InstanceId>,
    pub rack: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub rebalance_timeout_ms: Option<i32>,
    pub names: Option<BTreeSet<Arc<str>>>,
    /// Empty: no expression any more.
    pub regex: Option<Arc<str>>,
    pub assignor: Option<Arc<str>>,
    /// What the member has.
    pub owned: Option<Partitions>,
    /// Whether members make their ids themselves: from version 1 on (KIP-1082).
    pub makes_its_id: bool,
    /// `consumer.session.timeout.ms` of this group, if set.
    pub session_timeout_ms: Option<u64>,
    /// `consumer.heartbeat.interval.ms` of this group, if set.
    pub heartbeat_interval_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    pub member: MemberId,
    pub epoch: Generation,
    /// When to ask again.
    pub interval_ms: u64,
    /// What the member may use, where it has to be told.
    pub assignment: Option<Partitions>,
}

impl ConsumerHeartbeat {
    /// What can be judged without knowing the group.
    pub fn check(&self) -> Result<(), GroupError> {
        let invalid = |reason| Err(GroupError::InvalidRequest { reason });
        let is_empty = |text: Option<&str>| text.is_some_and(str::is_empty);
        if self.member.is_none() && (self.makes_its_id || self.epoch != Generation::JOINING) {
            return invalid("MemberId can't be empty.");
        }
        if self.group.as_str().is_empty() {
            return invalid("GroupId can't be empty.");
        }
        if is_empty(self.instance.as_ref().map(InstanceId::as_str)) {
            return invalid("InstanceId can't be empty.");
        }
        if is_empty(self.rack.as_deref()) {
            return invalid("RackId can't be empty.");
        }
        match self.epoch {
            Generation::JOINING if self.rebalance_timeout_ms.is_none() => {
                return invalid("RebalanceTimeoutMs must be provided in first request.");
            }
            Generation::JOINING if !self.owned.as_ref().is_some_and(BTreeSet::is_empty) => {
                return invalid("TopicPartitions must be empty when (re-)joining.");
            }
            Generation::JOINING if self.names.is_none() && self.regex.is_none() => {
                return invalid("SubscribedTopicNames or SubscribedTopicRegex must be given when (re-)joining.");
            }
            Generation::AWAY if self.instance.is_none() => return invalid("InstanceId can't be null."),
            Generation(epoch) if epoch < Generation::AWAY.0 => return invalid("MemberEpoch is invalid."),
            _ => {}
        }
        if self.assignor.as_ref().is_some_and(|name| Assignor::of_name(name).is_none()) {
            return Err(GroupError::UnsupportedAssignor);
        }
        match self.regex.as_deref().filter(|regex| !regex.is_empty()).map(TopicRegex::new) {
            Some(Err(invalid)) => {
                debug!(group = %self.group, member = %self.member, %invalid, "member subscribes by what is no expression");
                Err(GroupError::InvalidRegex)
            }
            _ => Ok(()),
        }
    }

    pub fn is_joining(&self) -> bool {
        self.epoch == Generation::JOINING
    }

    pub fn is_leaving(&self) -> bool {
        self.epoch.is_none()
    }

    fn is_full(&self) -> bool {
        self.rebalance_timeout_ms.is_some() && (self.names.is_some() || self.regex.is_some()) && self.owned.is_some()
    }

    /// Upper bound of what the member takes in memory by what is said here.
    pub(crate) fn bytes(&self) -> usize {
        const NAME_BYTES: usize = 64;
        let names: usize = self.names.iter().flatten().map(|name| NAME_BYTES + name.len()).sum();
        names
            + self.regex.as_ref().map_or(0, |regex| regex.len())
            + self.member.as_str().len()
            + self.client_id.len()
            + self.client_host.len()
    }
}

impl ConsumerGroup {
    pub fn heartbeat(
        &mut self,
        request: &ConsumerHeartbeat,
        topics: &dyn Topics,
        ids: &mut dyn IdSource,
        now: MonotonicMs,
    ) -> Result<HeartbeatAnswer, GroupError> {
        request.check()?;
        if request.is_leaving() {
            return self.leave(request, now);
        }
        self.check_room(request)?;
        let standing = self.standing(request)?;
        if let Some(regex) = request.regex.as_ref().filter(|regex| !regex.is_empty()) {
            self.regexes.add(regex, topics).map_err(|_| GroupError::InvalidRegex)?;
        }
        let id = match standing {
            Standing::Member(id) => id,
            Standing::Returns { old } => {
                self.rename_member(&old, &request.member);
                request.member.clone()
            }
            Standing::New => {
                let id = if request.member.is_none() { Self::new_member_id(ids) } else { request.member.clone() };
                info!(group = %self.id, member = %id, client_id = %request.client_id, "member joins");
                self.insert_member(Member { instance: request.instance.clone(), ..Member::new(id.clone()) });
                id
            }
        };
        let assigned_before = self.members.get(&id).map(|member| member.assigned.clone());
        let subscription_changed = self.update_member(&id, request);
        self.proceed(&id, request.owned.as_ref(), subscription_changed, topics, now);
        let session_timeout_ms = request.session_timeout_ms.unwrap_or(self.settings.consumer.session_timeout_ms);
        self.timers.set(Timer::Session(id.clone()), now.plus(session_timeout_ms));
        let interval_ms = self.interval_ms(request);
        let member = self.members.get(&id).ok_or(GroupError::UnknownMemberId)?;
        // A member that joins or that lost track is told everything.
        let is_told = request.epoch == Generation::JOINING
            || request.is_full()
            || !assigned_before.is_some_and(|before| before.keys().eq(member.assigned.keys()));
        Ok(HeartbeatAnswer {
            member: id.clone(),
            epoch: member.epoch,
            interval_ms,
            assignment: is_told.then(|| member.assigned.keys().copied().collect()),
        })
    }

    /// The group goes on: epoch, target, and this member towards it.
    pub(super) fn proceed(
        &mut self,
        id: &MemberId,
        owned: Option<&Partitions>,
        subscription_changed: bool,
        topics: &dyn Topics,
        now: MonotonicMs,
    ) {
        if subscription_changed || self.epoch == Generation(0) {
            self.topics_version = None;
            self.bump_epoch();
            let epoch = self.epoch;
            self.look_at_topics(topics, now);
            // One change, one epoch.
            self.epoch = epoch;
        } else {
            self.look_at_topics(topics, now);
        }
        self.maybe_make_target(now);
        self.reconcile(id, owned, subscription_changed, now);
    }

    fn leave(&mut self, request: &ConsumerHeartbeat, now: MonotonicMs) -> Result<HeartbeatAnswer, GroupError> {
        let id = &request.member;
        if let Some(instance) = &request.instance {
            self.check_instance(instance, id)?;
        }
        let member = self.members.get_mut(id).ok_or(GroupError::UnknownMemberId)?;
        if request.epoch == Generation::AWAY {
            info!(group = %self.id, member = %id, "static member leaves for a while");
            member.epoch = Generation::AWAY;
            for partition in std::mem::take(&mut member.to_revoke).keys() {
                self.holders.remove(partition);
            }
            self.timers.cancel(&Timer::Rebalance(id.clone()));
        } else {
            info!(group = %self.id, member = %id, "member leaves");
            self.remove_member(id, now);
        }
        Ok(HeartbeatAnswer { member: id.clone(), epoch: request.epoch, interval_ms: 0, assignment: None })
    }

    fn check_room(&self, request: &ConsumerHeartbeat) -> Result<(), GroupError> {
        let is_known = self.members.contains_key(&request.member)
            || request.instance.as_ref().is_some_and(|instance| self.by_instance.contains_key(instance));
        if !is_known && self.members.len() >= self.settings.consumer.group_size_max {
            return Err(GroupError::GroupMaxSizeReached);
        }
        // Who asks for no more than it has is never refused.
        let growth = request.bytes().saturating_sub(self.members.get(&request.member).map_or(0, Member::bytes));
        if growth > 0 && self.members_bytes + growth > self.settings.group_bytes_max {
            return Err(GroupError::GroupTooLarge);
        }
        Ok(())
    }

    fn standing(&self, request: &ConsumerHeartbeat) -> Result<Standing, GroupError> {
        let joins = request.epoch == Generation::JOINING;
        let id = &request.member;
        if let Some(instance) = &request.instance {
            match self.by_instance.get(instance) {
                None if joins && self.members.contains_key(id) => {
                    return Err(GroupError::InvalidRequest { reason: "InstanceId can't be taken on later." });
                }
                None if joins => return Ok(Standing::New),
                None => return Err(GroupError::UnknownMemberId),
                Some(old) if joins && old != id => {
                    let member = self.members.get(old).ok_or(GroupError::UnknownMemberId)?;
                    // One that speaks the classic protocol can't say that it is away; the newer one counts.
                    if member.classic.is_none() && !member.is_away() {
                        info!(group = %self.id, %instance, owner = %old, member = %id, "instance id is not released");
                        return Err(GroupError::UnreleasedInstanceId);
                    }
                    return Ok(Standing::Returns { old: old.clone() });
                }
                Some(old) if joins => return Ok(Standing::Returns { old: old.clone() }),
                Some(current) if current != id => return Err(GroupError::FencedInstanceId),
                Some(_) => {}
            }
        }
        match self.members.get(id) {
            Some(member) => check_epoch(member, request).map(|()| Standing::Member(id.clone())),
            None if joins => Ok(Standing::New),
            None => Err(GroupError::UnknownMemberId),
        }
    }

    pub(super) fn check_instance(&self, instance: &InstanceId, id: &MemberId) -> Result<(), GroupError> {
        match self.by_instance.get(instance) {
            None => Err(GroupError::UnknownMemberId),
            Some(current) if current != id => Err(GroupError::FencedInstanceId),
            Some(_) => Ok(()),
        }
    }

    /// Takes over what the member says of itself. Returns whether it wants other topics.
    fn update_member(&mut self, id: &MemberId, request: &ConsumerHeartbeat) -> bool {
        let known = self.members.get(id).map(|member| member.subscription.clone()).unwrap_or_default();
        let mut subscription = (*known).clone();
        if let Some(names) = &request.names {
            subscription.names.clone_from(names);
        }
        if let Some(regex) = &request.regex {
            subscription.regex = Some(regex.clone()).filter(|regex| !regex.is_empty());
        }
        let subscription = self.shared_subscription(known, subscription);
        self.change_member(id, |member| {
            let changed = !Arc::ptr_eq(&member.subscription, &subscription);
            member.subscription = subscription;
            if let Some(rack) = &request.rack {
                member.rack = Some(rack.clone());
            }
            if let Some(timeout_ms) = request.rebalance_timeout_ms {
                member.set_rebalance_timeout(timeout_ms);
            }
            if let Some(name) = &request.assignor {
                member.assignor = Assignor::of_name(name);
            }
            member.client_id = request.client_id.clone();
            member.client_host = request.client_host.clone();
            member.classic = None;
            changed
        })
    }

    /// The same subscription is kept once: most members of a group have one.
    pub(super) fn shared_subscription(&self, known: Arc<Subscription>, new: Subscription) -> Arc<Subscription> {
        if *known == new {
            return known;
        }
        let others = self.members.values().map(|member| &member.subscription);
        others.into_iter().find(|other| ***other == new).cloned().unwrap_or_else(|| Arc::new(new))
    }

    /// Lets `change` happen to a member, with the books kept.
    pub(super) fn change_member(&mut self, id: &MemberId, change: impl FnOnce(&mut Member) -> bool) -> bool {
        let Some(member) = self.members.get_mut(id) else { return false };
        self.members_bytes -= member.bytes();
        let changed = change(member);
        self.members_bytes += member.bytes();
        changed
    }

    /// A member that has to wait for others, or others for it, is asked to come again sooner than in quiet times: that is what
    /// a rebalance takes its time with.
    fn interval_ms(&self, request: &ConsumerHeartbeat) -> u64 {
        let quiet_ms = request.heartbeat_interval_ms.unwrap_or(self.settings.consumer.heartbeat_interval_ms);
        let is_settled = match self.state() {
            ConsumerGroupState::Reconciling => {
                self.members.values().all(|member| member.is_away() || member.is_reconciled_to(self.target_epoch))
            }
            ConsumerGroupState::Assigning => false,
            ConsumerGroupState::Empty | ConsumerGroupState::Stable | ConsumerGroupState::Dead => true,
        };
        if is_settled {
            return quiet_ms;
        }
        let members = self.members.len() as u64;
        let hasty_ms = self.settings.consumer.rebalance_heartbeat_interval_ms;
        hasty_ms.max(members * 1_000 / HASTY_HEARTBEATS_A_SECOND_MAX).min(quiet_ms)
    }
}

/// Whom a heartbeat comes from.
enum Standing {
    Member(MemberId),
    /// A static member that was known by another id, or joins again with its own.
    Returns {
        old: MemberId,
    },
    New,
}

/// The epoch must be the member's, or the one before if the member shows that it only missed an answer.
fn check_epoch(member: &Member, request: &ConsumerHeartbeat) -> Result<(), GroupError> {
    let missed_an_answer =
        request.epoch == member.previous_epoch && has_at_most(request.owned.as_ref(), &member.assigned);
    if request.epoch == Generation::JOINING || request.epoch == member.epoch || missed_an_answer {
        Ok(())
    } else {
        debug!(member = %member.id, epoch = %member.epoch, given = %request.epoch, "member epoch is fenced");
        Err(GroupError::FencedMemberEpoch)
    }
}

fn has_at_most(owned: Option<&Partitions>, assigned: &Held) -> bool {
    owned.is_some_and(|owned| owned.iter().all(|partition| assigned.contains_key(partition)))
}
