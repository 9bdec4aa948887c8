//! DeleteTopics, by name or by id.

use std::collections::HashSet;

use daybook_catalog::Catalog;
use daybook_command::{Command, DeleteTopic};
use daybook_types::TopicId;
use uuid::Uuid;

use crate::broker::{Broker, Caller};
use crate::error_code::ErrorCode;
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::handlers::topic_change;
use crate::topic_ref::TopicRef;
use crate::wire::messages::delete_topics_response::DeletableTopicResult;
use crate::wire::messages::{DeleteTopicsRequest, DeleteTopicsResponse, TopicName};
use crate::wire::{self, text};

/// From this version on a topic is named by name or by id; before, there is a list of names.
const BY_ID_FROM: i16 = 6;

/// A topic as the request names it, and what becomes of it.
struct Asked {
    name: Option<TopicName>,
    id: Uuid,
    outcome: Result<TopicId, Refusal>,
}

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: DeleteTopicsRequest) -> DeleteTopicsResponse {
    let named: Vec<(Option<TopicName>, Uuid)> = if caller.version >= BY_ID_FROM {
        request.topics.into_iter().map(|topic| (topic.name, topic.topic_id)).collect()
    } else {
        request.topic_names.into_iter().map(|name| (Some(name), Uuid::nil())).collect()
    };
    let mut asked = find(&broker.reader.catalog(), named);
    let found = asked.iter().filter_map(|asked| asked.outcome.as_ref().ok().copied());
    let commands = found.map(|id| Command::DeleteTopic(DeleteTopic { id })).collect();
    let mut results = topic_change::apply(broker, commands).await.into_iter();
    for asked in asked.iter_mut().filter(|asked| asked.outcome.is_ok()) {
        if let Some(Err(refusal)) = results.next() {
            asked.outcome = Err(refusal);
        }
    }
    DeleteTopicsResponse::default().with_responses(asked.into_iter().map(response).collect())
}

fn find(catalog: &Catalog, named: Vec<(Option<TopicName>, Uuid)>) -> Vec<Asked> {
    let mut seen = HashSet::new();
    let mut asked = Vec::with_capacity(named.len());
    for (name, id) in named {
        let invalid = |message: &str| Err(Refusal::new(ErrorCode::InvalidRequest, message));
        let (outcome, name) = match (&name, id.is_nil()) {
            (Some(_), false) => (invalid("a topic is named by name or by id, not by both"), name),
            (None, true) => (invalid("neither name nor id of the topic is given"), name),
            (Some(asked_name), true) => {
                let topic = TopicRef::Name(asked_name.0.clone()).find(catalog);
                (topic.map(|topic| topic.id).map_err(Refusal::from), name)
            }
            (None, false) => match TopicRef::Id(id).find(catalog) {
                Ok(topic) => (Ok(topic.id), Some(TopicName(text(topic.name.as_str())))),
                Err(error) => (Err(error.into()), None),
            },
        };
        let outcome = outcome.and_then(|id| match seen.insert(id) {
            true => Ok(id),
            false => invalid("the topic is named twice in this request"),
        });
        asked.push(Asked { name, id, outcome });
    }
    asked
}

fn response(asked: Asked) -> DeletableTopicResult {
    let (code, message) = code_and_text(&asked.outcome);
    let id = asked.outcome.map_or(asked.id, wire::uuid);
    DeletableTopicResult::default()
        .with_name(asked.name)
        .with_topic_id(id)
        .with_error_code(code)
        .with_error_message(message)
}
