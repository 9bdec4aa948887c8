//! JoinGroup: become a member and wait for the next generation.

use daybook_group_coordinator::{JoinRefused, JoinRequest, Joined, JoinedMember, Protocol};

use super::member_ref::{group_id, instance_id, instance_text, member_id, member_text, word};
use crate::broker::{Broker, Caller};
use crate::error_code;
use crate::wire::messages::join_group_response::JoinGroupResponseMember;
use crate::wire::messages::{JoinGroupRequest, JoinGroupResponse};
use crate::wire::text;

/// From here on a new member is given its id first and joins with it (KIP-394).
const MEMBER_ID_FIRST_VERSION: i16 = 4;
/// From here on a protocol's name may be null.
const NULL_PROTOCOL_VERSION: i16 = 7;
/// From here on a leader can be told not to assign (KIP-814).
const SKIP_ASSIGNMENT_VERSION: i16 = 9;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: JoinGroupRequest) -> JoinGroupResponse {
    match broker.coordinator.join(asked(caller, &request)).await {
        Ok(joined) => accepted(&joined),
        Err(refused) => refusal(caller.version, &refused),
    }
}

fn asked(caller: &Caller, request: &JoinGroupRequest) -> JoinRequest {
    let rebalance_timeout_ms =
        if caller.version == 0 { request.session_timeout_ms } else { request.rebalance_timeout_ms };
    JoinRequest {
        group: group_id(&request.group_id),
        member: member_id(&request.member_id),
        instance: instance_id(request.group_instance_id.as_ref()),
        client_id: word(&caller.client_id),
        // As Kafka writes addresses, which tools show.
        client_host: format!("/{}", caller.peer.ip()).into(),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms,
        protocol_type: word(&request.protocol_type),
        protocols: request
            .protocols
            .iter()
            .map(|protocol| Protocol { name: word(&protocol.name), metadata: protocol.metadata.clone() })
            .collect(),
        member_id_first: caller.version >= MEMBER_ID_FIRST_VERSION,
        knows_skip_assignment: caller.version >= SKIP_ASSIGNMENT_VERSION,
    }
}

fn accepted(joined: &Joined) -> JoinGroupResponse {
    JoinGroupResponse::default()
        .with_generation_id(joined.generation.0)
        .with_protocol_type(Some(text(&*joined.protocol_type)))
        .with_protocol_name(Some(text(&*joined.protocol_name)))
        .with_leader(member_text(&joined.leader))
        .with_skip_assignment(joined.skip_assignment)
        .with_member_id(member_text(&joined.member))
        .with_members(joined.members.iter().map(member).collect())
}

fn member(joined: &JoinedMember) -> JoinGroupResponseMember {
    JoinGroupResponseMember::default()
        .with_member_id(member_text(&joined.member))
        .with_group_instance_id(instance_text(joined.instance.as_ref()))
        .with_metadata(joined.metadata.clone())
}

fn refusal(version: i16, refused: &JoinRefused) -> JoinGroupResponse {
    let no_protocol = if version >= NULL_PROTOCOL_VERSION { None } else { Some(text("")) };
    JoinGroupResponse::default()
        .with_error_code(error_code::code(Some(error_code::of_group(refused.error))))
        .with_generation_id(-1)
        .with_protocol_type(None)
        .with_protocol_name(no_protocol)
        .with_member_id(member_text(&refused.member))
}

#[cfg(test)]
mod tests;
