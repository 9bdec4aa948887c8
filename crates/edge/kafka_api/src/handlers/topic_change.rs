//! What the requests that make and change topics have in common.

use std::collections::HashMap;

use daybook_catalog::Catalog;
use daybook_command::{Applied, Command, CreateTopic, Outcome, TopicRefusal};
use daybook_types::{TopicId, TopicName};
use uuid::Uuid;

use crate::broker::Broker;
use crate::error_code::{self, ErrorCode};
use crate::handlers::config_change;
use crate::handlers::refusal::Refusal;

/// Topics that are made because one request asked about them.
const TOPICS_PER_REQUEST_MAX: usize = 1_000;

/// Applies `commands` in one entry, so that all are seen at once: what became of each.
pub(super) async fn apply(broker: &Broker, commands: Vec<Command>) -> Vec<Result<(), Refusal>> {
    let count = commands.len();
    if count == 0 {
        return Vec::new();
    }
    let applied = match broker.door.propose(commands).await {
        Ok(pending) => pending.await,
        Err(error) => Err(error),
    };
    match applied {
        Ok(Applied { outcomes, .. }) => outcomes.into_iter().map(outcome).collect(),
        Err(error) => {
            let refusal = Refusal::new(error_code::of_propose_to_controller(&error), error.to_string());
            vec![Err(refusal); count]
        }
    }
}

fn outcome(outcome: Outcome) -> Result<(), Refusal> {
    match outcome {
        Outcome::CreateTopic(result)
        | Outcome::DeleteTopic(result)
        | Outcome::AlterTopicConfigs(result)
        | Outcome::CreatePartitions(result) => result.map_err(|refusal| of_topic(&refusal)),
        other => config_change::outcome(other),
    }
}

fn of_topic(refusal: &TopicRefusal) -> Refusal {
    Refusal::new(error_code::of_topic(refusal), refusal.to_string())
}

/// Makes topics that somebody asked about, with everything by default. One that another request made meanwhile is as good.
pub(super) async fn create_with_defaults(broker: &Broker, names: &[TopicName]) -> Result<(), ErrorCode> {
    let mut collisions = Collisions::among(&broker.reader.catalog());
    let mut commands = Vec::new();
    for name in names.iter().take(TOPICS_PER_REQUEST_MAX) {
        if collisions.with(name.as_str()).is_none() {
            collisions.add(name.as_str());
            let (partitions, configs) = (broker.options.default_partitions, Vec::new());
            commands.push(Command::CreateTopic(CreateTopic { id: new_id(), name: name.clone(), partitions, configs }));
        }
    }
    for result in apply(broker, commands).await {
        match result {
            Ok(()) | Err(Refusal { error: ErrorCode::TopicAlreadyExists, .. }) => {}
            // The client asks again, as for a topic whose leader isn't known yet.
            Err(_) => return Err(ErrorCode::LeaderNotAvailable),
        }
    }
    Ok(())
}

pub(super) fn new_id() -> TopicId {
    TopicId(Uuid::new_v4())
}

/// Names that would give the same metric names, since they differ in `.` and `_` only (Apache Kafka, `Topic.hasCollision`).
#[derive(Debug, Default)]
pub(super) struct Collisions {
    by_form: HashMap<String, String>,
}

impl Collisions {
    pub fn among(catalog: &Catalog) -> Self {
        let mut collisions = Self::default();
        catalog.topics().for_each(|topic| collisions.add(topic.name.as_str()));
        collisions
    }

    pub fn add(&mut self, name: &str) {
        // Others can only collide with themselves.
        if name.contains(['.', '_']) {
            self.by_form.insert(form(name), name.to_owned());
        }
    }

    /// Another name that `name` collides with.
    pub fn with(&self, name: &str) -> Option<&str> {
        self.by_form.get(&form(name)).map(String::as_str).filter(|other| *other != name)
    }
}

fn form(name: &str) -> String {
    name.replace('.', "_")
}

#[cfg(test)]
mod tests;
