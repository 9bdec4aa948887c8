//! DescribeCluster: this node is all of it.

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::authorized_operations;
use crate::wire::messages::describe_cluster_response::DescribeClusterBroker;
use crate::wire::messages::{DescribeClusterRequest, DescribeClusterResponse};
use crate::wire::text;

const ENDPOINTS_OF_BROKERS: i8 = 1;
const ENDPOINTS_OF_CONTROLLERS: i8 = 2;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: DescribeClusterRequest,
) -> DescribeClusterResponse {
    match request.endpoint_type {
        ENDPOINTS_OF_BROKERS => {}
        ENDPOINTS_OF_CONTROLLERS => {
            return refuse(ErrorCode::MismatchedEndpointType, "this is a broker's listener, not a controller's");
        }
        _ => return refuse(ErrorCode::UnsupportedEndpointType, "no such type of endpoint"),
    }
    let node = &broker.advertised;
    let this =
        DescribeClusterBroker::default().with_broker_id(node.node).with_host(node.host.clone()).with_port(node.port);
    let operations = request.include_cluster_authorized_operations.then_some(authorized_operations::CLUSTER);
    DescribeClusterResponse::default()
        .with_endpoint_type(ENDPOINTS_OF_BROKERS)
        .with_cluster_id(text(broker.options.cluster_id.clone()))
        .with_controller_id(node.node)
        .with_brokers(vec![this])
        .with_cluster_authorized_operations(operations.unwrap_or(authorized_operations::NOT_ASKED))
}

fn refuse(error: ErrorCode, message: &str) -> DescribeClusterResponse {
    DescribeClusterResponse::default()
        .with_error_code(error_code::code(Some(error)))
        .with_error_message(Some(text(message)))
        .with_cluster_authorized_operations(authorized_operations::NOT_ASKED)
}
