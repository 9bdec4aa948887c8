//! Heartbeat: a member is still there.

use super::member_ref::{claim, group_id};
use crate::broker::{Broker, Caller};
use crate::error_code;
use crate::wire::messages::{HeartbeatRequest, HeartbeatResponse};

pub(super) async fn handle(broker: &Broker, _caller: &Caller, request: HeartbeatRequest) -> HeartbeatResponse {
    let claim = claim(&request.member_id, request.group_instance_id.as_ref(), request.generation_id);
    let outcome = broker.coordinator.heartbeat(&group_id(&request.group_id), &claim);
    HeartbeatResponse::default().with_error_code(error_code::code(outcome.err().map(error_code::of_group)))
}
