//! LeaveGroup: members go.

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::{LeaveGroupRequest, LeaveGroupResponse};

pub(super) async fn handle(_broker: &Broker, _caller: &Caller, _request: LeaveGroupRequest) -> LeaveGroupResponse {
    LeaveGroupResponse::default().with_error_code(error_code::code(Some(ErrorCode::CoordinatorNotAvailable)))
}
