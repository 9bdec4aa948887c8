//! CreatePartitions: topics grow.

use std::collections::BTreeMap;

use daybook_catalog::Catalog;
use daybook_command::{Command, CreatePartitions};
use daybook_types::TopicId;

use crate::broker::{Broker, Caller};
use crate::error_code::ErrorCode;
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::handlers::topic_change;
use crate::options::Options;
use crate::topic_ref::TopicRef;
use crate::wire::messages::create_partitions_request::CreatePartitionsTopic;
use crate::wire::messages::create_partitions_response::CreatePartitionsTopicResult;
use crate::wire::messages::{CreatePartitionsRequest, CreatePartitionsResponse, TopicName};

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: CreatePartitionsRequest,
) -> CreatePartitionsResponse {
    let mut outcomes = plans(broker, request.topics);
    if !request.validate_only {
        let planned = outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
        let commands =
            planned.map(|(id, total)| Command::CreatePartitions(CreatePartitions { id: *id, total: *total }));
        let mut results = topic_change::apply(broker, commands.collect()).await.into_iter();
        for (_, outcome) in outcomes.iter_mut().filter(|(_, outcome)| outcome.is_ok()) {
            if let Some(Err(refusal)) = results.next() {
                *outcome = Err(refusal);
            }
        }
    }
    let result = |(name, outcome)| {
        let (code, message) = code_and_text(&outcome);
        CreatePartitionsTopicResult::default().with_name(name).with_error_code(code).with_error_message(message)
    };
    CreatePartitionsResponse::default().with_results(outcomes.into_iter().map(result).collect())
}

type Outcome = (TopicName, Result<(TopicId, i32), Refusal>);

fn plans(broker: &Broker, asked: Vec<CreatePartitionsTopic>) -> Vec<Outcome> {
    let catalog = broker.reader.catalog();
    let mut count: BTreeMap<TopicName, usize> = BTreeMap::new();
    for topic in &asked {
        *count.entry(topic.name.clone()).or_default() += 1;
    }
    let mut outcomes = Vec::new();
    for topic in asked {
        match count.get(&topic.name) {
            Some(1) => outcomes.push((topic.name.clone(), plan(&broker.options, &catalog, &topic))),
            Some(_) => {
                count.remove(&topic.name);
                outcomes.push((topic.name, Err(Refusal::new(ErrorCode::InvalidRequest, "Duplicate topic name."))));
            }
            None => {}
        }
    }
    outcomes
}

fn plan(options: &Options, catalog: &Catalog, asked: &CreatePartitionsTopic) -> Result<(TopicId, i32), Refusal> {
    let topic = TopicRef::Name(asked.name.0.clone()).find(catalog)?;
    let current = topic.partitions;
    let refuse = |message| Err(Refusal::new(ErrorCode::InvalidPartitions, message));
    match asked.count {
        count if count == current => return refuse(format!("Topic already has {current} partition(s).")),
        count if count < current => {
            let message = format!(
                "The topic {} currently has {current} partition(s); {count} would not be an increase.",
                topic.name
            );
            return refuse(message);
        }
        count if count > options.topic_partitions_max => {
            return refuse(format!("a topic may have at most {} partitions here", options.topic_partitions_max));
        }
        _ => {}
    }
    for assignment in asked.assignments.iter().flatten() {
        if assignment.broker_ids.len() != 1 || assignment.broker_ids[0].0 != options.node_id {
            let message = format!("partitions can only be on broker {}", options.node_id);
            return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
        }
    }
    let added = asked.count - current;
    match asked.assignments.as_ref().map(Vec::len) {
        Some(assigned) if i32::try_from(assigned) != Ok(added) => {
            let message = format!("{added} partition(s) are to be added and {assigned} assigned");
            Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message))
        }
        _ => Ok((topic.id, asked.count)),
    }
}
