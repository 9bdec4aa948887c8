//! ListConfigResources (KIP-1142): what has configs. In version 0 it is ListClientMetricsResources.

use std::collections::BTreeSet;

use daybook_command::ResourceKind;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::config_resource::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC};
use crate::wire::messages::list_config_resources_response::ConfigResource;
use crate::wire::messages::{ListConfigResourcesRequest, ListConfigResourcesResponse};
use crate::wire::text;

const ALL: [i8; 5] = [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP];

pub(super) async fn handle(
    broker: &Broker,
    caller: &Caller,
    request: ListConfigResourcesRequest,
) -> ListConfigResourcesResponse {
    let types: BTreeSet<i8> = match (caller.version, request.resource_types.is_empty()) {
        (0, _) => [CLIENT_METRICS].into(),
        (_, true) => ALL.into(),
        (_, false) => request.resource_types.into_iter().collect(),
    };
    if !types.iter().all(|resource_type| ALL.contains(resource_type)) {
        let code = error_code::code(Some(ErrorCode::UnsupportedVersion));
        return ListConfigResourcesResponse::default().with_error_code(code);
    }
    let resources = types.into_iter().flat_map(|resource_type| {
        let resource =
            move |name| ConfigResource::default().with_resource_type(resource_type).with_resource_name(text(name));
        names(broker, resource_type).into_iter().map(resource)
    });
    ListConfigResourcesResponse::default().with_config_resources(resources.collect())
}

fn names(broker: &Broker, resource_type: i8) -> Vec<String> {
    let catalog = broker.reader.catalog();
    match resource_type {
        TOPIC => catalog.topics().map(|topic| topic.name.to_string()).collect(),
        BROKER => vec![broker.options.node_id.to_string()],
        CLIENT_METRICS => {
            let subscriptions = catalog.dynamic_configs().of_kind(ResourceKind::ClientMetrics);
            subscriptions.map(|(name, _)| name.to_owned()).collect()
        }
        GROUP => broker.reader.groups_with_configs().into_iter().map(|group| group.as_str().to_owned()).collect(),
        // Log levels are nothing that clients see here.
        _ => Vec::new(),
    }
}
