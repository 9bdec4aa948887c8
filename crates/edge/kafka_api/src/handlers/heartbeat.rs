//! Heartbeat: a member is still there.

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::{HeartbeatRequest, HeartbeatResponse};

pub(super) async fn handle(_broker: &Broker, _caller: &Caller, _request: HeartbeatRequest) -> HeartbeatResponse {
    HeartbeatResponse::default().with_error_code(error_code::code(Some(ErrorCode::CoordinatorNotAvailable)))
}
