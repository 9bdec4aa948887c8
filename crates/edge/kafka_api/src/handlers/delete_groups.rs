//! DeleteGroups: groups without members go, with their offsets.

use daybook_command::{Command, DeleteGroup, Outcome};
use daybook_types::GroupId;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::delete_groups_response::DeletableGroupResult;
use crate::wire::messages::{DeleteGroupsRequest, DeleteGroupsResponse};

pub(super) async fn handle(broker: &Broker, _caller: &Caller, request: DeleteGroupsRequest) -> DeleteGroupsResponse {
    let mut results = Vec::with_capacity(request.groups_names.len());
    for name in request.groups_names {
        let error = delete(broker, GroupId::new(&name.0)).await.err();
        results.push(DeletableGroupResult::default().with_group_id(name).with_error_code(error_code::code(error)));
    }
    DeleteGroupsResponse::default().with_results(results)
}

async fn delete(broker: &Broker, group: GroupId) -> Result<(), ErrorCode> {
    if broker.share.is_known(&group) {
        return broker.share.delete(&group, None).await.map_err(|error| error_code::of_share(&error));
    }
    broker.coordinator.may_delete(&group).map_err(error_code::of_group)?;
    let was_remembered = broker.coordinator.listed(&group).map_err(error_code::of_group)?.is_some();
    let command = Command::DeleteGroup(DeleteGroup { group: group.clone() });
    let outcome = broker.apply(command).await.map_err(|error| error_code::of_propose_to_coordinator(&error))?;
    // Somebody may have joined meanwhile; then the group stands, and starts without offsets.
    broker.coordinator.remove(&group).map_err(error_code::of_group)?;
    match outcome {
        Outcome::DeleteGroup(Ok(())) => Ok(()),
        Outcome::DeleteGroup(Err(_)) if was_remembered => Ok(()),
        Outcome::DeleteGroup(Err(refusal)) => Err(error_code::of_group_refusal(&refusal)),
        _ => Err(ErrorCode::UnknownServerError),
    }
}
