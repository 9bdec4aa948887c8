//! Metadata: which topics there are, and who leads their partitions: this node, all of them.

use std::collections::BTreeSet;

use daybook_catalog::Topic;
use daybook_types::{TopicId, TopicName as LegalName};

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::{authorized_operations, topic_change};
use crate::wire::messages::metadata_request::MetadataRequestTopic;
use crate::wire::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use crate::wire::messages::{MetadataRequest, MetadataResponse, TopicName};
use crate::wire::{self, StrBytes, text};

/// Before this version a client couldn't forbid that topics are made.
const CREATION_FLAG_FROM: i16 = 4;
/// In version 0 no topic named means all topics; later that is a list that is absent.
const EMPTY_IS_ALL_IN: i16 = 0;
/// From this version on a topic may be asked for by id alone.
const BY_ID_FROM: i16 = 12;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: MetadataRequest) -> MetadataResponse {
    let version = caller.version;
    let with_operations = request.include_topic_authorized_operations;
    let topics = match request.topics {
        None => all(broker, with_operations),
        Some(asked) if asked.is_empty() && version == EMPTY_IS_ALL_IN => all(broker, with_operations),
        Some(asked) => {
            let may_create = broker.options.auto_create_topics
                && (version < CREATION_FLAG_FROM || request.allow_auto_topic_creation);
            some(broker, version, asked, may_create, with_operations).await
        }
    };
    let node = &broker.advertised;
    let this =
        MetadataResponseBroker::default().with_node_id(node.node).with_host(node.host.clone()).with_port(node.port);
    let operations = request.include_cluster_authorized_operations.then_some(authorized_operations::CLUSTER);
    MetadataResponse::default()
        .with_brokers(vec![this])
        .with_cluster_id(Some(text(broker.options.cluster_id.clone())))
        .with_controller_id(node.node)
        .with_topics(topics)
        .with_cluster_authorized_operations(operations.unwrap_or(authorized_operations::NOT_ASKED))
}

fn all(broker: &Broker, with_operations: bool) -> Vec<MetadataResponseTopic> {
    broker.reader.catalog().topics().map(|topic| describe(broker, topic, with_operations)).collect()
}

async fn some(
    broker: &Broker,
    version: i16,
    asked: Vec<MetadataRequestTopic>,
    may_create: bool,
    with_operations: bool,
) -> Vec<MetadataResponseTopic> {
    if asked.iter().any(|topic| version >= BY_ID_FROM && !topic.topic_id.is_nil()) {
        // Kafka looks at names only where no id is named.
        return by_id(broker, asked, with_operations);
    }
    let names: BTreeSet<StrBytes> = asked.into_iter().filter_map(|topic| topic.name).map(|name| name.0).collect();
    let missing: Vec<LegalName> = {
        let catalog = broker.reader.catalog();
        let missing = names.iter().filter(|name| catalog.topic(name).is_none());
        missing.filter_map(|name| LegalName::new(name).ok()).collect()
    };
    let created = match may_create && !missing.is_empty() {
        true => topic_change::create_with_defaults(broker, &missing).await,
        false => Ok(()),
    };
    let catalog = broker.reader.catalog();
    let topic = |name: StrBytes| match catalog.topic(&name) {
        Some(topic) => describe(broker, topic, with_operations),
        None => {
            let error = match (LegalName::new(&name), &created) {
                (Err(_), _) => ErrorCode::InvalidTopicException,
                (Ok(_), Err(error)) => *error,
                (Ok(_), Ok(())) => ErrorCode::UnknownTopicOrPartition,
            };
            unknown(error, Some(TopicName(name)))
        }
    };
    names.into_iter().map(topic).collect()
}

fn by_id(broker: &Broker, asked: Vec<MetadataRequestTopic>, with_operations: bool) -> Vec<MetadataResponseTopic> {
    let catalog = broker.reader.catalog();
    let ids: BTreeSet<_> = asked.iter().map(|topic| topic.topic_id).filter(|id| !id.is_nil()).collect();
    let topic = |id| match catalog.topic_by_id(TopicId(id)) {
        Some(topic) => describe(broker, topic, with_operations),
        None => unknown(ErrorCode::UnknownTopicId, None).with_topic_id(id),
    };
    ids.into_iter().map(topic).collect()
}

fn unknown(error: ErrorCode, name: Option<TopicName>) -> MetadataResponseTopic {
    MetadataResponseTopic::default()
        .with_error_code(error_code::code(Some(error)))
        .with_name(name)
        .with_topic_authorized_operations(authorized_operations::NOT_ASKED)
}

fn describe(broker: &Broker, topic: &Topic, with_operations: bool) -> MetadataResponseTopic {
    let (node, leader_epoch) = (broker.advertised.node, broker.reader.leader_epoch().0);
    let partition = |index| {
        MetadataResponsePartition::default()
            .with_partition_index(index)
            .with_leader_id(node)
            .with_leader_epoch(leader_epoch)
            .with_replica_nodes(vec![node])
            .with_isr_nodes(vec![node])
    };
    let operations = with_operations.then_some(authorized_operations::TOPIC);
    MetadataResponseTopic::default()
        .with_name(Some(TopicName(text(topic.name.as_str()))))
        .with_topic_id(wire::uuid(topic.id))
        .with_partitions((0..topic.partitions).map(partition).collect())
        .with_topic_authorized_operations(operations.unwrap_or(authorized_operations::NOT_ASKED))
}
