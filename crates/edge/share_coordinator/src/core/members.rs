//! The members of one share group: who is in, with which epoch, and what each is assigned.
//!
//! Rules as in KIP-932: a member is told a new assignment with its next heartbeat and has it at once; there is nothing to revoke,
//! since records are locked one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daybook_delivery::MonotonicMs;
use daybook_types::{PartitionId, PartitionIndex, TopicId};
use thiserror::Error;

use super::assign::{Assignment, assign};
use crate::ident::MemberId;

/// Of a heartbeat that joins, and of one that leaves.
const EPOCH_JOIN: i32 = 0;
const EPOCH_LEAVE: i32 = -1;

/// A topic by name: its id and how many partitions it has.
pub type Topics<'a> = &'a dyn Fn(&str) -> Option<(TopicId, i32)>;

#[derive(Clone, Copy, Debug)]
pub struct GroupRules {
    pub members_max: usize,
    pub session_timeout_ms: u64,
}

#[derive(Clone, Debug)]
pub struct Heartbeat {
    pub member: MemberId,
    pub epoch: i32,
    pub rack: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    /// None: as before.
    pub subscribed: Option<BTreeSet<Arc<str>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeaten {
    pub epoch: i32,
    /// None: as before.
    pub assignment: Option<Assignment>,
    pub has_left: bool,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HeartbeatError {
    #[error("the member is not in the group; it must join again with epoch 0")]
    UnknownMember,
    #[error("the member has another epoch; it must give up what it has and join again with epoch 0")]
    FencedEpoch,
    #[error("the group has as many members as it may")]
    GroupFull,
    #[error("a member that joins must name the topics that it subscribes to")]
    NoTopics,
}

#[derive(Debug, Default)]
pub struct Group {
    epoch: i32,
    members: BTreeMap<MemberId, Member>,
    /// Every topic that somebody subscribes to, with how many partitions it had when the assignment was made.
    topics: BTreeMap<TopicId, i32>,
}

#[derive(Clone, Debug)]
pub struct Member {
    pub epoch: i32,
    previous_epoch: i32,
    pub rack: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub subscribed: BTreeSet<Arc<str>>,
    /// As it was last told.
    pub assignment: Assignment,
    target: Assignment,
    expires: MonotonicMs,
}

impl Group {
    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn members(&self) -> impl Iterator<Item = (&MemberId, &Member)> {
        self.members.iter()
    }

    pub fn heartbeat(
        &mut self,
        beat: Heartbeat,
        topics: Topics<'_>,
        rules: &GroupRules,
        now: MonotonicMs,
    ) -> Result<Heartbeaten, HeartbeatError> {
        if beat.epoch == EPOCH_LEAVE {
            self.remove(&beat.member, topics).ok_or(HeartbeatError::UnknownMember)?;
            return Ok(Heartbeaten { epoch: EPOCH_LEAVE, assignment: None, has_left: true });
        }
        let is_changed = self.admit(&beat, rules)?;
        if is_changed {
            self.epoch += 1;
        }
        self.refresh(topics, is_changed);
        let member = self.members.get_mut(&beat.member).ok_or(HeartbeatError::UnknownMember)?;
        member.expires = now.plus(rules.session_timeout_ms);
        // Who comes with the epoch before hasn't got the last answer.
        let tells = beat.epoch == EPOCH_JOIN || beat.epoch != member.epoch || member.assignment != member.target;
        if member.epoch != self.epoch {
            member.previous_epoch = member.epoch;
            member.epoch = self.epoch;
        }
        member.assignment.clone_from(&member.target);
        let assignment = tells.then(|| member.assignment.clone());
        Ok(Heartbeaten { epoch: member.epoch, assignment, has_left: false })
    }

    pub fn next_deadline(&self) -> Option<MonotonicMs> {
        self.members.values().map(|member| member.expires).min()
    }

    /// Puts out whoever wasn't heard of for too long.
    pub fn expire(&mut self, topics: Topics<'_>, now: MonotonicMs) -> Vec<MemberId> {
        let gone: Vec<MemberId> =
            self.members.iter().filter(|(_, member)| member.expires <= now).map(|(id, _)| id.clone()).collect();
        for id in &gone {
            self.remove(id, topics);
        }
        gone
    }

    fn remove(&mut self, id: &MemberId, topics: Topics<'_>) -> Option<Member> {
        let gone = self.members.remove(id)?;
        self.epoch += 1;
        self.refresh(topics, true);
        Some(gone)
    }

    /// Takes in what a member says of itself; says whether another assignment may be due.
    fn admit(&mut self, beat: &Heartbeat, rules: &GroupRules) -> Result<bool, HeartbeatError> {
        let is_full = self.members.len() >= rules.members_max;
        let Some(member) = self.members.get_mut(&beat.member) else {
            if beat.epoch != EPOCH_JOIN {
                return Err(HeartbeatError::UnknownMember);
            }
            if is_full {
                return Err(HeartbeatError::GroupFull);
            }
            let subscribed =
                beat.subscribed.clone().filter(|names| !names.is_empty()).ok_or(HeartbeatError::NoTopics)?;
            let member = Member {
                epoch: 0,
                previous_epoch: 0,
                rack: beat.rack.clone(),
                client_id: beat.client_id.clone(),
                client_host: beat.client_host.clone(),
                subscribed,
                assignment: Assignment::new(),
                target: Assignment::new(),
                expires: MonotonicMs::default(),
            };
            self.members.insert(beat.member.clone(), member);
            return Ok(true);
        };
        if beat.epoch != EPOCH_JOIN && beat.epoch != member.epoch && beat.epoch != member.previous_epoch {
            return Err(HeartbeatError::FencedEpoch);
        }
        member.client_id = beat.client_id.clone();
        member.client_host = beat.client_host.clone();
        if beat.rack.is_some() {
            member.rack = beat.rack.clone();
        }
        match &beat.subscribed {
            Some(names) if *names != member.subscribed => {
                member.subscribed.clone_from(names);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Looks at the topics anew, and assigns if something is different.
    fn refresh(&mut self, topics: Topics<'_>, is_changed: bool) {
        let names: BTreeSet<&Arc<str>> = self.members.values().flat_map(|member| &member.subscribed).collect();
        let found: BTreeMap<&str, (TopicId, i32)> =
            names.into_iter().filter_map(|name| topics(name).map(|topic| (&**name, topic))).collect();
        let now: BTreeMap<TopicId, i32> = found.values().copied().collect();
        if !is_changed && now == self.topics {
            return;
        }
        let partitions = |name: &Arc<str>| {
            let (id, count) = found.get(&**name).copied().unwrap_or((TopicId::from_bytes([0; 16]), 0));
            (0..count).map(move |index| PartitionId { topic: id, index: PartitionIndex(index) })
        };
        let wanted = |member: &Member| member.subscribed.iter().flat_map(partitions).collect::<Assignment>();
        let wanted = self.members.iter().map(|(id, member)| (id.clone(), wanted(member))).collect();
        let before = self.members.iter().map(|(id, member)| (id.clone(), member.target.clone())).collect();
        if !is_changed {
            self.epoch += 1;
        }
        self.topics = now;
        for (id, target) in assign(&wanted, &before) {
            if let Some(member) = self.members.get_mut(&id) {
                member.target = target;
            }
        }
    }
}
