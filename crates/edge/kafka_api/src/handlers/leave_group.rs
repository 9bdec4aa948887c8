//! LeaveGroup: members go.

use daybook_group_coordinator::{GroupError, Leaver, Left};

use super::member_ref::{group_id, instance_id, instance_text, member_id, member_text};
use crate::broker::{Broker, Caller};
use crate::error_code;
use crate::wire::messages::leave_group_request::MemberIdentity;
use crate::wire::messages::leave_group_response::MemberResponse;
use crate::wire::messages::{LeaveGroupRequest, LeaveGroupResponse};

/// From here on a request takes out several members, static ones by instance too (KIP-345).
const SEVERAL_MEMBERS_VERSION: i16 = 3;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: LeaveGroupRequest) -> LeaveGroupResponse {
    let left = broker.coordinator.leave(&group_id(&request.group_id), &leavers(caller.version, &request));
    answer(caller.version, left)
}

fn leavers(version: i16, request: &LeaveGroupRequest) -> Vec<Leaver> {
    if version < SEVERAL_MEMBERS_VERSION {
        return vec![Leaver { member: member_id(&request.member_id), instance: None }];
    }
    let leaver = |member: &MemberIdentity| Leaver {
        member: member_id(&member.member_id),
        instance: instance_id(member.group_instance_id.as_ref()),
    };
    request.members.iter().map(leaver).collect()
}

fn answer(version: i16, left: Result<Vec<Left>, GroupError>) -> LeaveGroupResponse {
    let response = LeaveGroupResponse::default();
    match left {
        Err(error) => response.with_error_code(code(Err(error))),
        Ok(left) if version < SEVERAL_MEMBERS_VERSION => {
            // One was asked for, so one is here.
            response.with_error_code(left.first().map_or(0, |left| code(left.outcome)))
        }
        Ok(left) => response.with_members(left.iter().map(member).collect()),
    }
}

fn member(left: &Left) -> MemberResponse {
    MemberResponse::default()
        .with_member_id(member_text(&left.member))
        .with_group_instance_id(instance_text(left.instance.as_ref()))
        .with_error_code(code(left.outcome))
}

fn code(outcome: Result<(), GroupError>) -> i16 {
    error_code::code(outcome.err().map(error_code::of_group))
}

#[cfg(test)]
mod tests;
