//! AlterConfigs: a topic's configs become those of the request, all others their defaults. Deprecated in favour of
//! IncrementalAlterConfigs (KIP-339).

use std::collections::BTreeMap;

use daybook_catalog::topic_config;

use crate::broker::{Broker, Caller};
use crate::error_code::ErrorCode;
use crate::handlers::config_change::{Asked, ConfigChange, alter};
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::wire::messages::alter_configs_request::AlterableConfig;
use crate::wire::messages::alter_configs_response::AlterConfigsResourceResponse;
use crate::wire::messages::{AlterConfigsRequest, AlterConfigsResponse};

pub(super) async fn handle(broker: &Broker, _caller: &Caller, request: AlterConfigsRequest) -> AlterConfigsResponse {
    let asked = request.resources.into_iter().map(|resource| Asked {
        resource_type: resource.resource_type,
        name: resource.resource_name,
        what: resource.configs,
    });
    let outcomes =
        alter(broker, asked.collect(), request.validate_only, |configs, current| replace(&configs, current)).await;
    let response = |(resource_type, name, outcome)| {
        let (code, message) = code_and_text(&outcome);
        AlterConfigsResourceResponse::default()
            .with_resource_type(resource_type)
            .with_resource_name(name)
            .with_error_code(code)
            .with_error_message(message)
    };
    AlterConfigsResponse::default().with_responses(outcomes.into_iter().map(response).collect())
}

fn replace(asked: &[AlterableConfig], current: &BTreeMap<String, String>) -> Result<ConfigChange, Refusal> {
    let mut changes: ConfigChange = current.keys().map(|name| (name.clone(), None)).collect();
    for config in asked {
        let Some(value) = &config.value else {
            let message = format!("Null value not supported for : {}", config.name);
            return Err(Refusal::new(ErrorCode::InvalidConfig, message));
        };
        topic_config::check(&config.name, value)
            .map_err(|refusal| Refusal::new(ErrorCode::InvalidConfig, refusal.to_string()))?;
        changes.insert(config.name.to_string(), Some(value.to_string()));
    }
    Ok(changes)
}
