//! A consumer group as those see it who look at it.

use std::sync::Arc;

use daybook_group_assignment::{Assignor, Partitions};

use super::{ConsumerGroup, ConsumerGroupState};
use crate::ident::{Generation, InstanceId, MemberId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerDescription {
    pub state: ConsumerGroupState,
    pub epoch: Generation,
    pub target_epoch: Generation,
    pub assignor: Assignor,
    pub members: Vec<ConsumerMemberDescription>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerMemberDescription {
    pub member: MemberId,
    pub instance: Option<InstanceId>,
    pub rack: Option<Arc<str>>,
    pub epoch: Generation,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub names: Vec<Arc<str>>,
    pub regex: Option<Arc<str>>,
    pub assigned: Partitions,
    pub target: Arc<Partitions>,
    pub speaks_classic: bool,
}

impl ConsumerGroup {
    pub fn describe(&self) -> ConsumerDescription {
        let member = |member: &super::Member| ConsumerMemberDescription {
            member: member.id.clone(),
            instance: member.instance.clone(),
            rack: member.rack.clone(),
            epoch: member.epoch,
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            names: member.subscription.names.iter().cloned().collect(),
            regex: member.subscription.regex.clone(),
            assigned: member.assigned.keys().copied().collect(),
            target: member.target.clone(),
            speaks_classic: member.classic.is_some(),
        };
        ConsumerDescription {
            state: self.state(),
            epoch: self.epoch,
            target_epoch: self.target_epoch,
            assignor: self.assignor(),
            members: self.members.values().map(member).collect(),
        }
    }
}
