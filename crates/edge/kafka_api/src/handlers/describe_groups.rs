//! DescribeGroups: the state and members of groups.
//!
//! A group that has committed offsets and that the coordinator doesn't know has no members: it is Empty. One that neither knows
//! is Dead; clients new enough are told that it doesn't exist (KIP-1043).

use std::collections::HashSet;

use daybook_group_coordinator::{GroupDescription, GroupError, GroupKind, GroupState, MemberDescription};

use super::authorized_operations;
use super::member_ref::{group_id, instance_text, member_text};
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use crate::wire::messages::{DescribeGroupsRequest, DescribeGroupsResponse};
use crate::wire::text;

const NOT_FOUND_VERSION: i16 = 6;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: DescribeGroupsRequest) -> DescribeGroupsResponse {
    // Told once each: the answer can't be made larger than the groups are by asking for the same ones again.
    let mut seen = HashSet::new();
    let groups = request.groups.iter().filter(|asked| seen.insert(*asked)).map(|asked| {
        let id = group_id(asked);
        if let Ok(Some(listed)) = broker.coordinator.listed(&id)
            && listed.kind != GroupKind::Classic
        {
            return of_another_kind(caller.version).with_group_id(asked.clone());
        }
        let known = broker.coordinator.describe(&id);
        let offsets_type = || broker.reader.group_offsets(&id).map(|offsets| offsets.protocol_type);
        let group = describe(caller.version, known, offsets_type).with_group_id(asked.clone());
        let shows_operations = request.include_authorized_operations && group.error_code == 0;
        if shows_operations { group.with_authorized_operations(authorized_operations::GROUP) } else { group }
    });
    DescribeGroupsResponse::default().with_groups(groups.collect())
}

/// `offsets_type`: the protocol type of a group that has offsets.
fn describe(
    version: i16,
    known: Result<Option<GroupDescription>, GroupError>,
    offsets_type: impl FnOnce() -> Option<String>,
) -> DescribedGroup {
    match known {
        Err(error) => failed(error_code::of_group(error)),
        Ok(Some(group)) => described(&group),
        Ok(None) => match offsets_type() {
            Some(protocol_type) => DescribedGroup::default()
                .with_group_state(text(GroupState::Empty.as_str()))
                .with_protocol_type(text(protocol_type)),
            None if version < NOT_FOUND_VERSION => {
                DescribedGroup::default().with_group_state(text(GroupState::Dead.as_str()))
            }
            None => failed(ErrorCode::GroupIdNotFound)
                .with_group_state(text(GroupState::Dead.as_str()))
                .with_error_message(Some(text("the group has neither members nor committed offsets"))),
        },
    }
}

/// A group of the consumer group protocol is none to who asks this way.
fn of_another_kind(version: i16) -> DescribedGroup {
    let dead = text(GroupState::Dead.as_str());
    if version < NOT_FOUND_VERSION {
        return DescribedGroup::default().with_group_state(dead);
    }
    failed(ErrorCode::GroupIdNotFound)
        .with_group_state(dead)
        .with_error_message(Some(text("the group is not a classic group")))
}

fn described(group: &GroupDescription) -> DescribedGroup {
    DescribedGroup::default()
        .with_group_state(text(group.state.as_str()))
        .with_protocol_type(text(&*group.protocol_type))
        .with_protocol_data(text(group.protocol_name.as_deref().unwrap_or_default()))
        .with_members(group.members.iter().map(member).collect())
}

fn member(member: &MemberDescription) -> DescribedGroupMember {
    DescribedGroupMember::default()
        .with_member_id(member_text(&member.member))
        .with_group_instance_id(instance_text(member.instance.as_ref()))
        .with_client_id(text(&*member.client_id))
        .with_client_host(text(&*member.client_host))
        .with_member_metadata(member.metadata.clone())
        .with_member_assignment(member.assignment.clone())
}

fn failed(error: ErrorCode) -> DescribedGroup {
    DescribedGroup::default().with_error_code(error_code::code(Some(error)))
}

#[cfg(test)]
mod tests;
