//! Changes the configs of topics, for the two requests that do.

use std::collections::{BTreeMap, HashSet};

use daybook_catalog::Catalog;
use daybook_command::{AlterTopicConfigs, Command};

use crate::broker::Broker;
use crate::error_code::ErrorCode;
use crate::handlers::config_resource::{self, BROKER, TOPIC};
use crate::handlers::refusal::Refusal;
use crate::handlers::topic_change;
use crate::wire::StrBytes;

/// By name: the new value, or none to return to the default.
pub(super) type ConfigChange = BTreeMap<String, Option<String>>;

/// What a request wants of one thing that has configs.
pub(super) struct Asked<T> {
    pub resource_type: i8,
    pub name: StrBytes,
    pub what: T,
}

/// Of each resource its type, its name and what became of it.
pub(super) type Outcomes = Vec<(i8, StrBytes, Result<(), Refusal>)>;

/// Alters what `asked` names, by what `change` makes of a topic's current configs; with `validate_only` it only checks.
pub(super) async fn alter<T>(
    broker: &Broker,
    asked: Vec<Asked<T>>,
    validate_only: bool,
    change: impl Fn(T, &BTreeMap<String, String>) -> Result<ConfigChange, Refusal>,
) -> Outcomes {
    let plans = plan(&broker.reader.catalog(), asked, change);
    let commands = plans.iter().filter_map(|(_, _, plan)| plan.as_ref().ok().cloned()).map(Command::AlterTopicConfigs);
    let commands = if validate_only { Vec::new() } else { commands.collect() };
    let mut results = topic_change::apply(broker, commands).await.into_iter();
    let outcome = |(resource_type, name, plan): (i8, StrBytes, Result<AlterTopicConfigs, Refusal>)| {
        let outcome = plan.and_then(|_| results.next().unwrap_or(Ok(())));
        (resource_type, name, outcome)
    };
    plans.into_iter().map(outcome).collect()
}

fn plan<T>(
    catalog: &Catalog,
    asked: Vec<Asked<T>>,
    change: impl Fn(T, &BTreeMap<String, String>) -> Result<ConfigChange, Refusal>,
) -> Vec<(i8, StrBytes, Result<AlterTopicConfigs, Refusal>)> {
    let mut seen = HashSet::new();
    let mut plans = Vec::with_capacity(asked.len());
    for Asked { resource_type, name, what } in asked {
        let is_repeated = !seen.insert((resource_type, name.clone()));
        let plan = match resource_type {
            _ if is_repeated => {
                Err(Refusal::new(ErrorCode::InvalidRequest, "the resource is named twice in this request"))
            }
            TOPIC => config_resource::topic(catalog, &name).and_then(|topic| {
                let changes = change(what, &topic.configs)?.into_iter().collect();
                Ok(AlterTopicConfigs { id: topic.id, changes })
            }),
            BROKER => {
                let message = "a node's settings are changed in its configuration file, not while it runs";
                Err(Refusal::new(ErrorCode::InvalidRequest, message))
            }
            other => Err(config_resource::unknown_type(other)),
        };
        plans.push((resource_type, name, plan));
    }
    plans
}
