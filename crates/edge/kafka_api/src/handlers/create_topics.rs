//! CreateTopics. The checks and their order are those of Kafka's `ReplicationControlManager`, for a cluster of one broker.

use std::collections::{BTreeMap, BTreeSet};

use daybook_catalog::{Catalog, topic_config};
use daybook_command::{Command, CreateTopic};
use daybook_types::{TopicId, TopicName as LegalName};

use crate::broker::{Broker, Caller};
use crate::error_code::ErrorCode;
use crate::handlers::config_resource::{SOURCE_DEFAULT, SOURCE_TOPIC};
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::handlers::topic_change::{self, Collisions, new_id};
use crate::options::Options;
use crate::wire::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
use crate::wire::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use crate::wire::messages::{CreateTopicsRequest, CreateTopicsResponse, TopicName};
use crate::wire::{self, text};

/// From this version on the answer holds what the topic came to be (KIP-525).
const DETAILS_FROM: i16 = 5;
/// Where partitions or replicas are to be as many as the server finds right.
const BY_DEFAULT: i32 = -1;
/// Topics with their partitions that one request may make.
const PARTITIONS_PER_REQUEST_MAX: i64 = 10_000;

/// A topic that may be made.
#[derive(Clone, Debug)]
struct Plan {
    id: TopicId,
    name: LegalName,
    partitions: i32,
    configs: Vec<(String, String)>,
}

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: CreateTopicsRequest) -> CreateTopicsResponse {
    let mut outcomes = plans(broker, request.topics);
    if !request.validate_only {
        let planned = outcomes.iter_mut().filter(|(_, outcome)| outcome.is_ok());
        let planned: Vec<&mut (TopicName, Result<Plan, Refusal>)> = planned.collect();
        let commands = planned.iter().filter_map(|(_, outcome)| outcome.as_ref().ok()).map(command).collect();
        let results = topic_change::apply(broker, commands).await;
        for ((_, outcome), result) in planned.into_iter().zip(results) {
            if let Err(refusal) = result {
                *outcome = Err(refusal);
            }
        }
    }
    let response = |(name, outcome)| response(caller.version, request.validate_only, name, outcome);
    CreateTopicsResponse::default().with_topics(outcomes.into_iter().map(response).collect())
}

/// One outcome a name, in the order in which they were asked.
fn plans(broker: &Broker, asked: Vec<CreatableTopic>) -> Vec<(TopicName, Result<Plan, Refusal>)> {
    let catalog = broker.reader.catalog();
    let mut collisions = Collisions::among(&catalog);
    let mut count: BTreeMap<TopicName, usize> = BTreeMap::new();
    for topic in &asked {
        *count.entry(topic.name.clone()).or_default() += 1;
    }
    let mut outcomes = Vec::new();
    let mut partitions_left = PARTITIONS_PER_REQUEST_MAX;
    for topic in asked {
        match count.get(&topic.name) {
            Some(1) => {
                let planned = plan(&broker.options, &catalog, &collisions, &topic).and_then(|plan| {
                    partitions_left -= i64::from(plan.partitions);
                    if partitions_left < 0 {
                        let message = "Excessively large number of partitions per request.";
                        return Err(Refusal::new(ErrorCode::PolicyViolation, message));
                    }
                    collisions.add(plan.name.as_str());
                    Ok(plan)
                });
                outcomes.push((topic.name, planned));
            }
            Some(_) => {
                count.remove(&topic.name);
                outcomes.push((topic.name, Err(Refusal::new(ErrorCode::InvalidRequest, "Duplicate topic name."))));
            }
            None => {}
        }
    }
    outcomes
}

fn plan(
    options: &Options,
    catalog: &Catalog,
    collisions: &Collisions,
    asked: &CreatableTopic,
) -> Result<Plan, Refusal> {
    let invalid_name = |message: String| Refusal::new(ErrorCode::InvalidTopicException, message);
    let name = LegalName::new(&asked.name.0).map_err(|error| invalid_name(error.to_string()))?;
    if catalog.topic(name.as_str()).is_some() {
        return Err(Refusal::new(ErrorCode::TopicAlreadyExists, format!("Topic '{name}' already exists.")));
    }
    if let Some(other) = collisions.with(name.as_str()) {
        return Err(invalid_name(format!("Topic '{name}' collides with existing topic: {other}")));
    }
    let configs = configs(&asked.configs)?;
    let partitions = partitions(options, asked)?;
    if partitions > options.topic_partitions_max {
        let message = format!("a topic may have at most {} partitions here", options.topic_partitions_max);
        return Err(Refusal::new(ErrorCode::InvalidPartitions, message));
    }
    Ok(Plan { id: new_id(), name, partitions, configs })
}

fn partitions(options: &Options, asked: &CreatableTopic) -> Result<i32, Refusal> {
    if !asked.assignments.is_empty() {
        return check_assignments(options, asked);
    }
    check_replication_factor(asked.replication_factor)?;
    match asked.num_partitions {
        BY_DEFAULT => Ok(options.default_partitions),
        partitions if partitions > 0 => Ok(partitions),
        _ => {
            let message = "the number of partitions has to be positive, or -1 for the server's default";
            Err(Refusal::new(ErrorCode::InvalidPartitions, message))
        }
    }
}

fn check_replication_factor(asked: i16) -> Result<(), Refusal> {
    let message = match asked {
        -1 | 1 => return Ok(()),
        ..=0 => "the replication factor has to be positive, or -1 for the server's default".to_owned(),
        _ => format!("can't replicate a partition {asked} times: there is only 1 broker"),
    };
    Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message))
}

/// Replicas named by hand: every partition from 0 on, on this broker and no other. Returns how many partitions.
fn check_assignments(options: &Options, asked: &CreatableTopic) -> Result<i32, Refusal> {
    for (is_set, what) in [
        (asked.replication_factor != -1, "replication factor"),
        (asked.num_partitions != BY_DEFAULT, "number of partitions"),
    ] {
        if is_set {
            let message = format!("replicas are assigned by hand, so the {what} has to be -1");
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
    }
    let invalid = |message: String| Refusal::new(ErrorCode::InvalidReplicaAssignment, message);
    let mut seen = BTreeSet::new();
    for CreatableReplicaAssignment { partition_index, broker_ids, .. } in &asked.assignments {
        if !seen.insert(*partition_index) {
            return Err(invalid(format!("partition {partition_index} is assigned twice")));
        }
        if broker_ids.len() != 1 || broker_ids[0].0 != options.node_id {
            return Err(invalid(format!("partition {partition_index} can only be on broker {}", options.node_id)));
        }
    }
    let count = i32::try_from(seen.len()).map_err(|_| invalid("too many partitions".to_owned()))?;
    if seen.first() != Some(&0) || seen.last() != Some(&(count - 1)) {
        return Err(invalid("partitions have to be numbered from 0 on without a gap".to_owned()));
    }
    Ok(count)
}

fn configs(asked: &[CreatableTopicConfig]) -> Result<Vec<(String, String)>, Refusal> {
    let mut configs = BTreeMap::new();
    for config in asked {
        let Some(value) = &config.value else {
            let message = format!("Null value not supported for topic configs: {}", config.name);
            return Err(Refusal::new(ErrorCode::InvalidConfig, message));
        };
        topic_config::check(&config.name, value)
            .map_err(|refusal| Refusal::new(ErrorCode::InvalidConfig, refusal.to_string()))?;
        configs.insert(config.name.to_string(), value.to_string());
    }
    topic_config::check_together(&configs)
        .map_err(|refusal| Refusal::new(ErrorCode::InvalidConfig, refusal.to_string()))?;
    Ok(configs.into_iter().collect())
}

fn command(plan: &Plan) -> Command {
    let Plan { id, name, partitions, configs } = plan.clone();
    Command::CreateTopic(CreateTopic { id, name, partitions, configs })
}

fn response(
    version: i16,
    validate_only: bool,
    name: TopicName,
    outcome: Result<Plan, Refusal>,
) -> CreatableTopicResult {
    let (code, message) = code_and_text(&outcome);
    let result = CreatableTopicResult::default().with_name(name).with_error_code(code).with_error_message(message);
    match outcome {
        Ok(plan) if version >= DETAILS_FROM => {
            let id = if validate_only { TopicId::default() } else { plan.id };
            result
                .with_topic_id(wire::uuid(id))
                .with_num_partitions(plan.partitions)
                .with_replication_factor(1)
                .with_configs(Some(effective(&plan)))
        }
        Ok(_) => result,
        Err(_) => result.with_num_partitions(-1).with_replication_factor(-1),
    }
}

fn effective(plan: &Plan) -> Vec<CreatableTopicConfigs> {
    let config = |definition: &topic_config::Definition| {
        let own = plan.configs.iter().find(|(name, _)| name == definition.name);
        let (value, source) = own.map_or((definition.default, SOURCE_DEFAULT), |(_, value)| (value, SOURCE_TOPIC));
        CreatableTopicConfigs::default()
            .with_name(text(definition.name))
            .with_value(Some(text(value)))
            .with_config_source(source)
    };
    topic_config::definitions().iter().map(config).collect()
}
