//! SyncGroup: hand out, or wait for, the generation's assignment.

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::{SyncGroupRequest, SyncGroupResponse};

pub(super) async fn handle(_broker: &Broker, _caller: &Caller, _request: SyncGroupRequest) -> SyncGroupResponse {
    SyncGroupResponse::default().with_error_code(error_code::code(Some(ErrorCode::CoordinatorNotAvailable)))
}
