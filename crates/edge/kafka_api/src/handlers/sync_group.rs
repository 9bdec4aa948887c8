//! SyncGroup: hand out, or wait for, the generation's assignment.

use bytes::Bytes;
use daybook_group_coordinator::{GroupError, SyncRequest, Synced};

use super::member_ref::{claim, group_id, member_id, word};
use crate::broker::{Broker, Caller};
use crate::error_code;
use crate::wire::messages::{SyncGroupRequest, SyncGroupResponse};
use crate::wire::text;

/// From here on the member must say which protocol it believes was chosen (KIP-559).
const PROTOCOL_NAMED_VERSION: i16 = 5;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: SyncGroupRequest) -> SyncGroupResponse {
    let names_protocol = request.protocol_type.is_some() && request.protocol_name.is_some();
    if caller.version >= PROTOCOL_NAMED_VERSION && !names_protocol {
        return refusal(GroupError::InconsistentGroupProtocol);
    }
    match broker.coordinator.sync(asked(&request)).await {
        Ok(synced) => accepted(&synced),
        Err(error) => refusal(error),
    }
}

fn asked(request: &SyncGroupRequest) -> SyncRequest {
    SyncRequest {
        group: group_id(&request.group_id),
        claim: claim(&request.member_id, request.group_instance_id.as_ref(), request.generation_id),
        protocol_type: request.protocol_type.as_ref().map(word),
        protocol_name: request.protocol_name.as_ref().map(word),
        assignments: request
            .assignments
            .iter()
            .map(|assignment| (member_id(&assignment.member_id), assignment.assignment.clone()))
            .collect(),
    }
}

fn accepted(synced: &Synced) -> SyncGroupResponse {
    SyncGroupResponse::default()
        .with_protocol_type(Some(text(&*synced.protocol_type)))
        .with_protocol_name(Some(text(&*synced.protocol_name)))
        .with_assignment(synced.assignment.clone())
}

fn refusal(error: GroupError) -> SyncGroupResponse {
    SyncGroupResponse::default()
        .with_error_code(error_code::code(Some(error_code::of_group(error))))
        .with_assignment(Bytes::new())
}

#[cfg(test)]
mod tests;
