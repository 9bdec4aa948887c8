//! Changes the configs of topics, brokers, groups and subscriptions of client metrics, for the two requests that do. The checks and
//! their order are those of Kafka's `ConfigAdminManager` and `ControllerConfigurationValidator`.

use std::collections::{BTreeMap, HashMap, HashSet};

use daybook_catalog::{Catalog, ConfigKind, topic_config};
use daybook_command::{
    AlterConfigs, AlterGroupConfigs, AlterTopicConfigs, Command, ConfigResource, Outcome, ResourceKind,
};
use daybook_types::GroupId;

use crate::broker::Broker;
use crate::config_tables::{broker as broker_configs, client_metrics, find};
use crate::error_code::ErrorCode;
use crate::handlers::config_resource::{self, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC};
use crate::handlers::group_configs;
use crate::handlers::refusal::Refusal;
use crate::handlers::topic_change;
use crate::wire::StrBytes;

/// Kafka's `AlterConfigOp.OpType`.
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

/// Longest value that is kept: a list of ten thousand replicas fits.
const VALUE_BYTES_MAX: usize = 128 * 1024;
/// Longest name of a config or a resource that is kept.
const NAME_BYTES_MAX: usize = 4096;

/// What a request wants of one resource.
pub(super) struct Asked {
    pub resource_type: i8,
    pub name: StrBytes,
    pub wishes: Vec<Wish>,
}

/// What a request wants of one config.
pub(super) struct Wish {
    pub name: StrBytes,
    pub operation: i8,
    pub value: Option<StrBytes>,
}

/// What becomes of configs that the request doesn't name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// They return to their defaults.
    Replace,
    /// They stay.
    Change,
}

/// Of each resource its type, its name and what became of it.
pub(super) type Outcomes = Vec<(i8, StrBytes, Result<(), Refusal>)>;

type Configs = BTreeMap<String, String>;
/// By name: the new value, or none to return to the default.
type Changes = Vec<(String, Option<String>)>;

impl Wish {
    pub fn set(name: StrBytes, value: Option<StrBytes>) -> Self {
        Self { name, operation: SET, value }
    }
}

/// Outcomes as either request's answer has them.
macro_rules! told {
    ($response:ident, $outcomes:expr) => {
        $outcomes
            .into_iter()
            .map(|(resource_type, name, outcome)| {
                let (code, message) = crate::handlers::refusal::code_and_text(&outcome);
                $response::default()
                    .with_resource_type(resource_type)
                    .with_resource_name(name)
                    .with_error_code(code)
                    .with_error_message(message)
            })
            .collect()
    };
}
pub(super) use told;

/// Alters what `asked` names, all in one entry; with `validate_only` it only checks.
pub(super) async fn alter(broker: &Broker, asked: Vec<Asked>, mode: Mode, validate_only: bool) -> Outcomes {
    let mut times: HashMap<(i8, StrBytes), usize> = HashMap::new();
    for asked in &asked {
        *times.entry((asked.resource_type, asked.name.clone())).or_default() += 1;
    }
    let catalog = broker.reader.catalog();
    let plan = |asked: Asked| {
        let plan = match times.get(&(asked.resource_type, asked.name.clone())) {
            Some(1) => plan(broker, &catalog, &asked, mode),
            _ => Err(Refusal::new(ErrorCode::InvalidRequest, "Each resource must appear at most once.")),
        };
        (asked.resource_type, asked.name, plan)
    };
    let plans: Vec<(i8, StrBytes, Result<Command, Refusal>)> = asked.into_iter().map(plan).collect();
    let commands = plans.iter().filter_map(|(_, _, plan)| plan.as_ref().ok().cloned());
    let commands = if validate_only { Vec::new() } else { commands.collect() };
    let mut results = topic_change::apply(broker, commands).await.into_iter();
    let outcome = |(resource_type, name, plan): (i8, StrBytes, Result<Command, Refusal>)| {
        let outcome = plan.and_then(|_| results.next().unwrap_or(Ok(())));
        (resource_type, name, outcome)
    };
    plans.into_iter().map(outcome).collect()
}

/// What apply said of a command that isn't about a topic.
pub(super) fn outcome(outcome: Outcome) -> Result<(), Refusal> {
    match outcome {
        Outcome::AlterConfigs(Err(refusal)) => Err(Refusal::new(ErrorCode::PolicyViolation, refusal.to_string())),
        Outcome::AlterGroupConfigs(Err(refusal)) => Err(Refusal::new(ErrorCode::PolicyViolation, refusal.to_string())),
        Outcome::AlterConfigs(Ok(())) | Outcome::AlterGroupConfigs(Ok(())) => Ok(()),
        _ => Err(ErrorCode::UnknownServerError.into()),
    }
}

fn plan(broker: &Broker, catalog: &Catalog, asked: &Asked, mode: Mode) -> Result<Command, Refusal> {
    check_form(asked, mode)?;
    let name = &*asked.name;
    let kept = |kind| catalog.dynamic_configs().of(kind, name).cloned().unwrap_or_default();
    let other = |kind, changes| {
        let resource = ConfigResource { kind, name: name.to_owned() };
        Command::AlterConfigs(AlterConfigs { resource, changes })
    };
    match asked.resource_type {
        TOPIC => {
            let topic = config_resource::topic(catalog, &asked.name)?;
            let of_list = |name: &str| find(topic_config::definitions(), name).map(list_default);
            let (changes, after) = change(asked, mode, &topic.configs, of_list)?;
            check_topic(&changes, &after)?;
            Ok(Command::AlterTopicConfigs(AlterTopicConfigs { id: topic.id, changes }))
        }
        BROKER => {
            if !name.is_empty() {
                config_resource::this_broker(broker, name)?;
            }
            let of_list = |name: &str| broker_configs::definition(name).map(|definition| list_default(&definition));
            let (changes, after) = change(asked, mode, &kept(ResourceKind::Broker), of_list)?;
            broker_configs::check(&after)?;
            Ok(other(ResourceKind::Broker, changes))
        }
        BROKER_LOGGER => {
            let message = "log levels are set by log.level in the configuration, not while the server runs";
            Err(Refusal::new(ErrorCode::InvalidRequest, message))
        }
        CLIENT_METRICS => {
            if name.is_empty() {
                return Err(Refusal::new(ErrorCode::InvalidRequest, "Subscription name can't be empty"));
            }
            let of_list = |name: &str| find(client_metrics::DEFINITIONS, name).map(list_default);
            let (changes, after) = change(asked, mode, &kept(ResourceKind::ClientMetrics), of_list)?;
            client_metrics::check(&after)?;
            Ok(other(ResourceKind::ClientMetrics, changes))
        }
        GROUP => {
            if name.is_empty() {
                return Err(Refusal::new(ErrorCode::InvalidRequest, "Default group resources are not allowed."));
            }
            let group = GroupId::new(name);
            // None of a group's configs is a list.
            let (changes, after) = change(asked, mode, &broker.reader.group_configs(&group), |_| None)?;
            group_configs::check(broker, &after)?;
            Ok(Command::AlterGroupConfigs(AlterGroupConfigs { group, changes }))
        }
        other => Err(config_resource::unknown_type(other)),
    }
}

fn check_form(asked: &Asked, mode: Mode) -> Result<(), Refusal> {
    let invalid = |message: String| Err(Refusal::new(ErrorCode::InvalidRequest, message));
    let mut seen = HashSet::new();
    if !asked.wishes.iter().all(|wish| seen.insert(&*wish.name)) {
        return invalid("Error due to duplicate config keys".into());
    }
    let needs_value = |wish: &&Wish| wish.value.is_none() && (mode == Mode::Replace || wish.operation != DELETE);
    let without: Vec<&str> = asked.wishes.iter().filter(needs_value).map(|wish| &*wish.name).collect();
    if !without.is_empty() {
        return invalid(format!("Null value not supported for : {}", without.join(", ")));
    }
    let is_long = |wish: &Wish| {
        wish.name.len() > NAME_BYTES_MAX || wish.value.as_ref().is_some_and(|value| value.len() > VALUE_BYTES_MAX)
    };
    if asked.name.len() > NAME_BYTES_MAX || asked.wishes.iter().any(is_long) {
        return invalid(format!("names may have {NAME_BYTES_MAX} bytes and values {VALUE_BYTES_MAX}"));
    }
    match asked.wishes.iter().find(|wish| !(SET..=SUBTRACT).contains(&wish.operation)) {
        Some(wish) => invalid(format!("Unknown operations type {}", wish.operation)),
        None => Ok(()),
    }
}

/// The default of a config that is a list; none of any other.
fn list_default(definition: &topic_config::Definition) -> Option<&'static str> {
    (definition.kind == ConfigKind::List).then_some(definition.default)
}

/// What is to be changed, and what the configs are then.
fn change(
    asked: &Asked,
    mode: Mode,
    current: &Configs,
    of_list: impl Fn(&str) -> Option<Option<&'static str>>,
) -> Result<(Changes, Configs), Refusal> {
    let mut changes: BTreeMap<String, Option<String>> = match mode {
        Mode::Replace => current.keys().map(|name| (name.clone(), None)).collect(),
        Mode::Change => BTreeMap::new(),
    };
    for wish in &asked.wishes {
        let name = wish.name.to_string();
        let value = wish.value.as_deref().unwrap_or_default();
        let value = match wish.operation {
            DELETE => None,
            operation @ (APPEND | SUBTRACT) => {
                let Some(Some(default)) = of_list(&name) else {
                    let verb = if operation == APPEND { "APPEND" } else { "SUBTRACT" };
                    let message = format!("Can't {verb} to key {name} because its type is not LIST.");
                    return Err(Refusal::new(ErrorCode::InvalidConfig, message));
                };
                let before = current.get(&name).map_or(default, String::as_str);
                Some(list_changed(before, value, operation == APPEND))
            }
            _ => Some(value.to_owned()),
        };
        changes.insert(name, value);
    }
    let mut after = current.clone();
    for (name, value) in &changes {
        match value {
            Some(value) => after.insert(name.clone(), value.clone()),
            None => after.remove(name),
        };
    }
    Ok((changes.into_iter().collect(), after))
}

fn list_changed(before: &str, named: &str, is_added: bool) -> String {
    fn items(list: &str) -> impl Iterator<Item = &str> {
        list.split(',').map(str::trim).filter(|item| !item.is_empty())
    }
    let named: Vec<&str> = items(named).collect();
    let mut list: Vec<&str> = items(before).filter(|item| is_added || !named.contains(item)).collect();
    if is_added {
        for item in named {
            if !list.contains(&item) {
                list.push(item);
            }
        }
    }
    list.join(",")
}

fn check_topic(changes: &Changes, after: &Configs) -> Result<(), Refusal> {
    let invalid = |refusal: topic_config::ConfigRefusal| Refusal::new(ErrorCode::InvalidConfig, refusal.to_string());
    for (name, value) in changes {
        if let Some(value) = value {
            topic_config::check(name, value).map_err(invalid)?;
        }
    }
    topic_config::check_together(after).map_err(invalid)
}

#[cfg(test)]
mod tests;
