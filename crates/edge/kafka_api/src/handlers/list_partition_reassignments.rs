//! ListPartitionReassignments: nothing ever moves.

use crate::broker::{Broker, Caller};
use crate::wire::messages::{ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse};

pub(super) async fn handle(
    _broker: &Broker,
    _caller: &Caller,
    _request: ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    ListPartitionReassignmentsResponse::default()
}
