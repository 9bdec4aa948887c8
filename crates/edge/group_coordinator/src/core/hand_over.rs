//! A group's members on their way from one protocol to the other.

use std::sync::Arc;

use bytes::Bytes;
use daybook_types::GroupId;

use super::member::Member;
use super::{CONSUMER_PROTOCOL, Group, GroupState};
use crate::ident::{Generation, InstanceId, MemberId, MonotonicMs};
use crate::request::{JoinRequest, Protocol};
use crate::settings::Settings;

#[derive(Clone, Debug)]
pub(crate) struct HandOver {
    pub group: GroupId,
    pub generation: Generation,
    pub members: Vec<HandedMember>,
}

/// A member of the classic protocol.
#[derive(Clone, Debug)]
pub(crate) struct HandedMember {
    pub id: MemberId,
    pub instance: Option<InstanceId>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub session_timeout_ms: i32,
    pub rebalance_timeout_ms: i32,
    pub protocols: Vec<Protocol>,
    pub assignment: Bytes,
}

impl Group {
    /// Members and what they were last assigned. The group itself is then to be closed.
    pub(crate) fn hand_over(&self) -> HandOver {
        let member = |member: &Member| HandedMember {
            id: member.id.clone(),
            instance: member.instance.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            session_timeout_ms: timeout_ms(member.session_timeout_ms),
            rebalance_timeout_ms: timeout_ms(member.rebalance_timeout_ms),
            protocols: member.protocols.list().to_vec(),
            assignment: member.assignment.clone(),
        };
        HandOver {
            group: self.id.clone(),
            generation: self.generation,
            members: self.roster.iter().map(member).collect(),
        }
    }

    /// A classic group of these members, who are asked to join again.
    pub(crate) fn take_over(given: HandOver, settings: Arc<Settings>, now: MonotonicMs) -> Self {
        let mut group = Self::new(given.group.clone(), settings, now);
        group.timers.clear();
        group.generation = given.generation;
        group.protocol_type = Some(CONSUMER_PROTOCOL.into());
        group.state = GroupState::Stable;
        for member in given.members {
            let (id, assignment) = (member.id.clone(), member.assignment.clone());
            group.roster.add(Member::new(id.clone(), &member.into_request(given.group.clone())));
            group.roster.assign(&id, assignment);
            group.touch(&id, now);
        }
        group.protocol_name = group.roster.elect_protocol();
        group.prepare_rebalance("the last member of the consumer group protocol has gone", now);
        group
    }
}

impl HandedMember {
    fn into_request(self, group: GroupId) -> JoinRequest {
        JoinRequest {
            group,
            member: self.id,
            instance: self.instance,
            client_id: self.client_id,
            client_host: self.client_host,
            session_timeout_ms: self.session_timeout_ms,
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            protocol_type: CONSUMER_PROTOCOL.into(),
            protocols: self.protocols,
            member_id_first: true,
            knows_skip_assignment: true,
        }
    }
}

fn timeout_ms(duration_ms: u64) -> i32 {
    i32::try_from(duration_ms).unwrap_or(i32::MAX)
}
