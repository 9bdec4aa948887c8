//! What a group sees of the topics.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_catalog::Catalog;
use daybook_types::TopicId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KnownTopic {
    pub id: TopicId,
    pub partitions: i32,
}

/// The topics at one moment.
pub trait Topics {
    /// Differs whenever a topic has come, gone or grown in between; equal means that nothing has.
    fn version(&self) -> u64;
    fn find(&self, name: &str) -> Option<KnownTopic>;
    fn name(&self, id: TopicId) -> Option<Arc<str>>;
    /// In order.
    fn visit_names(&self, visit: &mut dyn FnMut(&str));
}

impl Topics for Catalog {
    fn version(&self) -> u64 {
        self.changes()
    }

    fn find(&self, name: &str) -> Option<KnownTopic> {
        self.topic(name).map(|topic| KnownTopic { id: topic.id, partitions: topic.partitions })
    }

    fn name(&self, id: TopicId) -> Option<Arc<str>> {
        self.topic_by_id(id).map(|topic| topic.name.as_str().into())
    }

    fn visit_names(&self, visit: &mut dyn FnMut(&str)) {
        self.topics().for_each(|topic| visit(topic.name.as_str()));
    }
}

/// Topics that are listed one by one.
#[derive(Clone, Debug, Default)]
pub struct FixedTopics {
    by_name: BTreeMap<Arc<str>, KnownTopic>,
    version: u64,
}

impl FixedTopics {
    pub fn put(&mut self, name: &str, topic: KnownTopic) {
        self.by_name.insert(name.into(), topic);
        self.version += 1;
    }

    pub fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
        self.version += 1;
    }
}

impl Topics for FixedTopics {
    fn version(&self) -> u64 {
        self.version
    }

    fn find(&self, name: &str) -> Option<KnownTopic> {
        self.by_name.get(name).copied()
    }

    fn name(&self, id: TopicId) -> Option<Arc<str>> {
        self.by_name.iter().find(|(_, topic)| topic.id == id).map(|(name, _)| name.clone())
    }

    fn visit_names(&self, visit: &mut dyn FnMut(&str)) {
        self.by_name.keys().for_each(|name| visit(name));
    }
}
