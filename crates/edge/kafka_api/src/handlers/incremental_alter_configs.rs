//! IncrementalAlterConfigs: single configs of a topic are set, returned to their defaults, added to or taken from (KIP-339).

use std::collections::BTreeMap;

use daybook_catalog::{ConfigKind, topic_config};

use crate::broker::{Broker, Caller};
use crate::error_code::ErrorCode;
use crate::handlers::config_change::{Asked, ConfigChange, alter};
use crate::handlers::config_resource::GROUP;
use crate::handlers::group_configs;
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::wire::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use crate::wire::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use crate::wire::messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
    let is_group = |resource: &AlterConfigsResource| resource.resource_type == GROUP;
    let (groups, resources): (Vec<_>, Vec<_>) = request.resources.into_iter().partition(is_group);
    let of_groups = group_configs::alter(broker, groups, request.validate_only).await;
    let asked = resources.into_iter().map(|resource| Asked {
        resource_type: resource.resource_type,
        name: resource.resource_name,
        what: resource.configs,
    });
    let outcomes =
        alter(broker, asked.collect(), request.validate_only, |configs, current| change(&configs, current)).await;
    let response = |(resource_type, name, outcome)| {
        let (code, message) = code_and_text(&outcome);
        AlterConfigsResourceResponse::default()
            .with_resource_type(resource_type)
            .with_resource_name(name)
            .with_error_code(code)
            .with_error_message(message)
    };
    IncrementalAlterConfigsResponse::default()
        .with_responses(outcomes.into_iter().chain(of_groups).map(response).collect())
}

fn change(asked: &[AlterableConfig], current: &BTreeMap<String, String>) -> Result<ConfigChange, Refusal> {
    let mut changes = ConfigChange::new();
    for config in asked {
        let name = &*config.name;
        if changes.contains_key(name) {
            let message = format!("Error due to duplicate config keys: {name}");
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
        let value = match (config.config_operation, &config.value) {
            (DELETE, _) => None,
            (_, None) => {
                let message = format!("Null value not supported for : {name}");
                return Err(Refusal::new(ErrorCode::InvalidRequest, message));
            }
            (SET, Some(value)) => Some(value.to_string()),
            (operation @ (APPEND | SUBTRACT), Some(value)) => Some(list_changed(name, operation, value, current)?),
            (other, Some(_)) => {
                return Err(Refusal::new(ErrorCode::InvalidRequest, format!("no operation has the code {other}")));
            }
        };
        match &value {
            Some(value) => topic_config::check(name, value).map_err(|refusal| refusal.to_string()),
            None if topic_config::definition(name).is_none() => Err(format!("unknown topic config {name}")),
            None => Ok(()),
        }
        .map_err(|message| Refusal::new(ErrorCode::InvalidConfig, message))?;
        changes.insert(name.to_owned(), value);
    }
    Ok(changes)
}

fn list_changed(name: &str, operation: i8, value: &str, current: &BTreeMap<String, String>) -> Result<String, Refusal> {
    let definition = topic_config::definition(name).filter(|definition| definition.kind == ConfigKind::List);
    let Some(definition) = definition else {
        let message = format!("Can't {} to key {name} because its type is not LIST.", verb(operation));
        return Err(Refusal::new(ErrorCode::InvalidConfig, message));
    };
    let before = current.get(name).map_or(definition.default, String::as_str);
    let items =
        |list: &str| list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect();
    let mut list: Vec<String> = items(before);
    let named: Vec<String> = items(value);
    if operation == APPEND {
        list.extend(named.into_iter().filter(|item| !before.split(',').any(|other| other.trim() == *item)));
    } else {
        list.retain(|item| !named.contains(item));
    }
    Ok(list.join(","))
}

fn verb(operation: i8) -> &'static str {
    if operation == APPEND { "append" } else { "subtract" }
}

#[cfg(test)]
mod tests;
