//! JoinGroup: become a member and wait for the next generation.

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::{JoinGroupRequest, JoinGroupResponse};

pub(super) async fn handle(_broker: &Broker, _caller: &Caller, _request: JoinGroupRequest) -> JoinGroupResponse {
    JoinGroupResponse::default().with_error_code(error_code::code(Some(ErrorCode::CoordinatorNotAvailable)))
}
