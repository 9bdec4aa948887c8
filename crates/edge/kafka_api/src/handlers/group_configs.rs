//! The configs of groups, for the requests about configs of anything.

use std::collections::BTreeMap;

use daybook_catalog::ConfigKind;
use daybook_command::{AlterGroupConfigs, Command, Outcome};
use daybook_share_coordinator::config::{self, Definition, Kind};
use daybook_types::GroupId;

use crate::broker::Broker;
use crate::error_code::{self, ErrorCode};
use crate::handlers::config_change::{ConfigChange, Outcomes};
use crate::handlers::config_resource::GROUP;
use crate::handlers::refusal::Refusal;
use crate::wire::StrBytes;
use crate::wire::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};

const SET: i8 = 0;
const DELETE: i8 = 1;

/// A config of a group as it is told.
pub(super) struct Told {
    pub definition: &'static Definition,
    /// None: by default.
    pub own: Option<String>,
    pub default: String,
    pub kind: ConfigKind,
}

/// Every config of a group; the group need not exist.
pub(super) fn describe(broker: &Broker, name: &str) -> Result<Vec<Told>, Refusal> {
    if name.is_empty() {
        return Err(Refusal::new(ErrorCode::InvalidRequest, "a group needs a name"));
    }
    let mut own = broker.reader.group_configs(&GroupId::new(name));
    let told = |definition: &'static Definition| Told {
        definition,
        own: own.remove(definition.name),
        default: definition.default(broker.share.settings()),
        kind: match definition.kind {
            Kind::Flag => ConfigKind::Boolean,
            Kind::Int => ConfigKind::Int,
            Kind::Text => ConfigKind::String,
        },
    };
    Ok(config::TABLE.iter().map(told).collect())
}

/// Sets configs of the groups that `resources` name; with `validate_only` it only checks.
pub(super) async fn alter(broker: &Broker, resources: Vec<AlterConfigsResource>, validate_only: bool) -> Outcomes {
    let mut outcomes = Outcomes::new();
    for resource in resources {
        let name = resource.resource_name;
        let is_repeated = outcomes.iter().any(|(_, other, _)| *other == name);
        let outcome = if is_repeated {
            Err(Refusal::new(ErrorCode::InvalidRequest, "the resource is named twice in this request"))
        } else {
            alter_one(broker, &name, &resource.configs, validate_only).await
        };
        outcomes.push((GROUP, name, outcome));
    }
    outcomes
}

async fn alter_one(
    broker: &Broker,
    name: &StrBytes,
    configs: &[AlterableConfig],
    validate_only: bool,
) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(Refusal::new(ErrorCode::InvalidRequest, "a group needs a name"));
    }
    let changes = changes(broker, configs)?;
    if validate_only {
        return Ok(());
    }
    let changes = changes.into_iter().collect();
    let command = Command::AlterGroupConfigs(AlterGroupConfigs { group: GroupId::new(name), changes });
    match broker.apply(command).await {
        Ok(Outcome::AlterGroupConfigs(outcome)) => {
            outcome.map_err(|refusal| Refusal::new(ErrorCode::PolicyViolation, refusal.to_string()))
        }
        Ok(_) => Err(ErrorCode::UnknownServerError.into()),
        Err(error) => Err(Refusal::new(error_code::of_propose_to_controller(&error), error.to_string())),
    }
}

fn changes(broker: &Broker, configs: &[AlterableConfig]) -> Result<ConfigChange, Refusal> {
    let mut changes: ConfigChange = BTreeMap::new();
    for config in configs {
        let name = &*config.name;
        if changes.contains_key(name) {
            let message = format!("Error due to duplicate config keys: {name}");
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
        let invalid = |message: String| Refusal::new(ErrorCode::InvalidConfig, message);
        let value = match (config.config_operation, &config.value) {
            (DELETE, _) if config::find(name).is_some() => None,
            (DELETE, _) => return Err(invalid(format!("Unknown group config name: {name}"))),
            (SET, Some(value)) => {
                config::check(name, value, broker.share.settings()).map_err(|refusal| invalid(refusal.to_string()))?;
                Some(value.to_string())
            }
            (SET, None) => {
                let message = format!("Null value not supported for : {name}");
                return Err(Refusal::new(ErrorCode::InvalidRequest, message));
            }
            _ => return Err(invalid(format!("{name} is no list: it can only be set and deleted"))),
        };
        changes.insert(name.to_owned(), value);
    }
    Ok(changes)
}
