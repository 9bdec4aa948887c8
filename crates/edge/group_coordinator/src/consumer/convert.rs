//! Whole groups that change their protocol while members are in: a classic group that a member of the new protocol joins, and a
//! consumer group whose last member of the new protocol has gone (`group.consumer.migration.policy`).

use std::sync::Arc;

use daybook_group_assignment::{Subscription, Topics};
use daybook_types::PartitionId;
use tracing::{info, warn};

use super::member::{ClassicSide, Member};
use super::{ConsumerGroup, Timer, embedded};
use crate::core::{Group, HandOver, HandedMember};
use crate::ident::MonotonicMs;
use crate::settings::Settings;

/// Whether a group may become a consumer group with the members it has.
pub(crate) fn can_upgrade(group: &Group, settings: &Settings) -> bool {
    let members = group.describe().members.len();
    let may = settings.consumer.migration_policy.allows_upgrade() && members <= settings.consumer.group_size_max;
    may && group.is_of_consumers()
}

impl ConsumerGroup {
    /// The group's members in a consumer group, each with what it was last assigned. None if a member's metadata can't be
    /// read: such a group stays what it is.
    pub(crate) fn from_classic(
        given: HandOver,
        settings: Arc<Settings>,
        topics: &dyn Topics,
        now: MonotonicMs,
    ) -> Option<Self> {
        let mut group = Self::new(given.group, settings, now);
        group.epoch = given.generation;
        group.target_epoch = given.generation;
        for handed in given.members {
            let session_timeout_ms = u64::try_from(handed.session_timeout_ms).unwrap_or(0);
            let Some(member) = group.adopt(handed, topics) else {
                warn!(group = %group.id, "the group stays classic: a member's metadata is malformed");
                return None;
            };
            group.timers.set(Timer::Session(member.id.clone()), now.plus(session_timeout_ms));
            group.insert_member(member);
        }
        info!(group = %group.id, epoch = %group.epoch, members = group.members.len(), "classic group becomes a consumer group");
        Some(group)
    }

    fn adopt(&mut self, handed: HandedMember, topics: &dyn Topics) -> Option<Member> {
        let subscription = embedded::read_subscription(&handed.protocols.first()?.metadata, topics)?;
        let assigned = embedded::read_assignment(&handed.assignment, topics)?;
        let mut member = Member::new(handed.id);
        for partition in assigned {
            // An assignor of a client may have given a partition twice.
            if let std::collections::hash_map::Entry::Vacant(holder) = self.holders.entry(partition) {
                holder.insert(member.id.clone());
                member.assigned.insert(partition, self.epoch);
            }
        }
        member.target = Arc::new(member.assigned.keys().copied().collect());
        member.instance = handed.instance;
        member.client_id = handed.client_id;
        member.client_host = handed.client_host;
        member.set_rebalance_timeout(handed.rebalance_timeout_ms);
        member.epoch = self.epoch;
        member.previous_epoch = self.epoch;
        member.rack = subscription.rack;
        let wanted = Subscription { names: subscription.topics, regex: None };
        member.subscription = self.shared_subscription(Arc::default(), wanted);
        let side = ClassicSide { session_timeout_ms: handed.session_timeout_ms, protocols: handed.protocols };
        member.classic = Some(side);
        Some(member)
    }

    /// Whether only members of the classic protocol are left, and the group may follow them.
    pub(crate) fn should_downgrade(&self) -> bool {
        !self.members.is_empty()
            && self.members.values().all(|member| member.classic.is_some())
            && self.settings.consumer.migration_policy.allows_downgrade()
            && self.members.len() <= self.settings.group_size_max
    }

    pub(crate) fn to_classic(&self, topics: &dyn Topics) -> HandOver {
        info!(group = %self.id, epoch = %self.epoch, members = self.members.len(), "consumer group becomes a classic group");
        let members = self.members.values().filter_map(|member| {
            let side = member.classic.clone()?;
            let version = side.protocol().map_or(0, |protocol| embedded::version_of(&protocol.metadata));
            let target: Vec<PartitionId> = member.target.iter().copied().collect();
            Some(HandedMember {
                id: member.id.clone(),
                instance: member.instance.clone(),
                client_id: member.client_id.clone(),
                client_host: member.client_host.clone(),
                session_timeout_ms: side.session_timeout_ms,
                rebalance_timeout_ms: i32::try_from(member.rebalance_timeout_ms).unwrap_or(i32::MAX),
                protocols: side.protocols,
                assignment: embedded::write_assignment(version, &target, topics),
            })
        });
        // Members are in the generation of their epoch, and are to find it so when they are told to join again.
        let generation = self.members.values().map(|member| member.epoch).max().unwrap_or(self.epoch);
        HandOver { group: self.id.clone(), generation, members: members.collect() }
    }
}
