//! IncrementalAlterConfigs: single configs of a resource are set, returned to their defaults, added to or taken from (KIP-339).

use crate::broker::{Broker, Caller};
use crate::handlers::config_change::{Asked, Mode, Wish, alter, told};
use crate::wire::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use crate::wire::messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
    let asked = request.resources.into_iter().map(|resource| Asked {
        resource_type: resource.resource_type,
        name: resource.resource_name,
        wishes: (resource.configs.into_iter())
            .map(|config| Wish { name: config.name, operation: config.config_operation, value: config.value })
            .collect(),
    });
    let outcomes = alter(broker, asked.collect(), Mode::Change, request.validate_only).await;
    IncrementalAlterConfigsResponse::default().with_responses(told!(AlterConfigsResourceResponse, outcomes))
}
