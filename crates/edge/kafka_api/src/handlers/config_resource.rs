//! What the requests about configs have in common: the kinds of things that have configs, and where a value comes from.

use std::sync::Arc;

use daybook_catalog::{Catalog, Topic};
use daybook_types::TopicName;

use crate::broker::Broker;
use crate::error_code::ErrorCode;
use crate::handlers::refusal::Refusal;
use crate::wire::StrBytes;

/// Kafka's `ConfigResource.Type`.
pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;
pub(super) const BROKER_LOGGER: i8 = 8;
pub(super) const CLIENT_METRICS: i8 = 16;
pub(super) const GROUP: i8 = 32;

/// Kafka's `ConfigSource`.
pub(super) const SOURCE_TOPIC: i8 = 1;
pub(super) const SOURCE_BROKER: i8 = 2;
pub(super) const SOURCE_ALL_BROKERS: i8 = 3;
pub(super) const SOURCE_NODE_FILE: i8 = 4;
pub(super) const SOURCE_DEFAULT: i8 = 5;
pub(super) const SOURCE_CLIENT_METRICS: i8 = 7;
pub(super) const SOURCE_GROUP: i8 = 8;

pub(super) fn topic<'a>(catalog: &'a Catalog, name: &StrBytes) -> Result<&'a Arc<Topic>, Refusal> {
    if let Err(illegal) = TopicName::new(name) {
        return Err(Refusal::new(ErrorCode::InvalidTopicException, illegal.to_string()));
    }
    let missing = || Refusal::new(ErrorCode::UnknownTopicOrPartition, format!("The topic '{name}' does not exist."));
    catalog.topic(name).ok_or_else(missing)
}

/// Refuses any name but this node's id.
pub(super) fn this_broker(broker: &Broker, name: &str) -> Result<(), Refusal> {
    let this = broker.options.node_id;
    let message = match name.parse::<i32>() {
        Ok(id) if id == this => return Ok(()),
        Ok(_) => format!("Unexpected broker id, expected {this}, but received {name}"),
        Err(_) => format!("Node id must be an integer, but it is: {name}"),
    };
    Err(Refusal::new(ErrorCode::InvalidRequest, message))
}

pub(super) fn unknown_type(resource_type: i8) -> Refusal {
    Refusal::new(ErrorCode::InvalidRequest, format!("Unknown resource type {resource_type}"))
}
