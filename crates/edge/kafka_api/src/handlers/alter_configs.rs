//! AlterConfigs: a resource's configs become those of the request, all others their defaults. Deprecated in favour of
//! IncrementalAlterConfigs (KIP-339).

use crate::broker::{Broker, Caller};
use crate::handlers::config_change::{Asked, Mode, Wish, alter, told};
use crate::wire::messages::alter_configs_response::AlterConfigsResourceResponse;
use crate::wire::messages::{AlterConfigsRequest, AlterConfigsResponse};

pub(super) async fn handle(broker: &Broker, _caller: &Caller, request: AlterConfigsRequest) -> AlterConfigsResponse {
    let asked = request.resources.into_iter().map(|resource| Asked {
        resource_type: resource.resource_type,
        name: resource.resource_name,
        wishes: resource.configs.into_iter().map(|config| Wish::set(config.name, config.value)).collect(),
    });
    let outcomes = alter(broker, asked.collect(), Mode::Replace, request.validate_only).await;
    AlterConfigsResponse::default().with_responses(told!(AlterConfigsResourceResponse, outcomes))
}
