//! ListGroups: every group that has members or offsets.

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::{ListGroupsRequest, ListGroupsResponse};

pub(super) async fn handle(_broker: &Broker, _caller: &Caller, _request: ListGroupsRequest) -> ListGroupsResponse {
    ListGroupsResponse::default().with_error_code(error_code::code(Some(ErrorCode::CoordinatorNotAvailable)))
}
