//! FindCoordinator: whatever the key, it is this node.

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::find_coordinator_response::Coordinator;
use crate::wire::messages::{BrokerId, FindCoordinatorRequest, FindCoordinatorResponse};
use crate::wire::{StrBytes, text};

const OF_GROUP: i8 = 0;
const OF_TRANSACTION: i8 = 1;
const OF_SHARE_PARTITION: i8 = 2;
/// From this version on several keys are asked at once (KIP-699).
const BATCHED_FROM: i16 = 4;

pub(super) async fn handle(
    broker: &Broker,
    caller: &Caller,
    request: FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    let node = &broker.advertised;
    let is_known = matches!(request.key_type, OF_GROUP | OF_TRANSACTION | OF_SHARE_PARTITION);
    let error = (!is_known).then_some(ErrorCode::InvalidRequest);
    let message = error.map(|_| text(format!("there is no coordinator of type {}", request.key_type)));
    let (id, host, port) = match error {
        None => (node.node, node.host.clone(), node.port),
        Some(_) => (BrokerId(-1), StrBytes::default(), -1),
    };
    let code = error_code::code(error);
    if caller.version < BATCHED_FROM {
        return FindCoordinatorResponse::default()
            .with_error_code(code)
            .with_error_message(message)
            .with_node_id(id)
            .with_host(host)
            .with_port(port);
    }
    let coordinator = |key| {
        Coordinator::default()
            .with_key(key)
            .with_error_code(code)
            .with_error_message(message.clone())
            .with_node_id(id)
            .with_host(host.clone())
            .with_port(port)
    };
    FindCoordinatorResponse::default()
        .with_coordinators(request.coordinator_keys.into_iter().map(coordinator).collect())
}
