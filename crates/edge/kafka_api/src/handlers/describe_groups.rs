//! DescribeGroups: the state and members of groups.

use crate::broker::{Broker, Caller};
use crate::wire::messages::{DescribeGroupsRequest, DescribeGroupsResponse};

pub(super) async fn handle(_broker: &Broker, _caller: &Caller, _request: DescribeGroupsRequest) -> DescribeGroupsResponse {
    DescribeGroupsResponse::default()
}
