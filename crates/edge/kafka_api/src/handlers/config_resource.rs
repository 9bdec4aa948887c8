//! What the requests about configs have in common: the kinds of things that have configs, and where a value comes from.

use std::sync::Arc;

use daybook_catalog::{Catalog, Topic};
use daybook_types::TopicName;

use crate::error_code::ErrorCode;
use crate::handlers::refusal::Refusal;
use crate::topic_ref::TopicRef;
use crate::wire::StrBytes;

/// Kafka's `ConfigResource.Type`.
pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;
pub(super) const GROUP: i8 = 32;

/// Kafka's `ConfigSource`.
pub(super) const SOURCE_TOPIC: i8 = 1;
pub(super) const SOURCE_NODE_FILE: i8 = 4;
pub(super) const SOURCE_DEFAULT: i8 = 5;
pub(super) const SOURCE_GROUP: i8 = 8;

pub(super) fn topic<'a>(catalog: &'a Catalog, name: &StrBytes) -> Result<&'a Arc<Topic>, Refusal> {
    if let Err(illegal) = TopicName::new(name) {
        return Err(Refusal::new(ErrorCode::InvalidTopicException, illegal.to_string()));
    }
    TopicRef::Name(name.clone()).find(catalog).map_err(Refusal::from)
}

pub(super) fn unknown_type(resource_type: i8) -> Refusal {
    let message = format!("configs of resource type {resource_type} are not known here");
    Refusal::new(ErrorCode::InvalidRequest, message)
}
