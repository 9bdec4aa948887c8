//! How requests name topics: by name in older versions, by id in newer ones.

use std::sync::Arc;

use daybook_catalog::{Catalog, Topic};
use daybook_types::TopicId;
use uuid::Uuid;

use crate::error_code::ErrorCode;
use crate::wire::StrBytes;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TopicRef {
    Name(StrBytes),
    Id(Uuid),
}

/// A partition as a request names it; it need not exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PartitionRef {
    pub topic: TopicRef,
    pub partition: i32,
}

impl TopicRef {
    pub fn find<'a>(&self, catalog: &'a Catalog) -> Result<&'a Arc<Topic>, ErrorCode> {
        match self {
            Self::Name(name) => catalog.topic(name).ok_or(ErrorCode::UnknownTopicOrPartition),
            Self::Id(id) => catalog.topic_by_id(TopicId(*id)).ok_or(ErrorCode::UnknownTopicId),
        }
    }
}
