//! All topics of a shard.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use daybook_command::{
    AlterConfigs, AlterTopicConfigs, ConfigsRefusal, CreatePartitions, CreateTopic, DeleteTopic, TopicRefusal,
};
use daybook_types::{TopicId, TopicName};

use crate::dynamic_configs::DynamicConfigs;
use crate::{Topic, TopicSettings};

/// Topics by name and by id, and the configs of everything else. Cheap to clone a little at a time: topics are shared.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    by_name: BTreeMap<TopicName, Arc<Topic>>,
    by_id: HashMap<TopicId, Arc<Topic>>,
    /// How often a topic came, went or grew since the shard was opened. Neither kept nor part of any decision of apply.
    changes: u64,
    dynamic_configs: Arc<DynamicConfigs>,
    /// What topics have that don't say otherwise, by the names of a broker's configs.
    topic_defaults: Arc<BTreeMap<String, String>>,
}

impl Catalog {
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.by_name.get(name)
    }

    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.by_id.get(&id)
    }

    /// All topics, by name.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.by_name.values()
    }

    /// Equal as long as no topic comes, goes or grows: for those who look again and again.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The configs of brokers and subscriptions of client metrics, and the quotas of clients.
    pub fn dynamic_configs(&self) -> &DynamicConfigs {
        &self.dynamic_configs
    }

    /// Puts a topic as a checkpoint kept it.
    pub fn restore(&mut self, topic: Topic) {
        self.put(topic);
    }

    /// Puts the configs of what isn't a topic as a checkpoint kept them; before the topics, whose defaults are among them.
    pub fn restore_configs(&mut self, configs: DynamicConfigs) {
        self.topic_defaults = Arc::new(configs.of_all_brokers());
        self.dynamic_configs = Arc::new(configs);
    }

    /// Changes the configs of what isn't a topic. What topics have by default may change with it, at once for all of them.
    pub fn alter_other_configs(&mut self, command: &AlterConfigs) -> Result<(), ConfigsRefusal> {
        Arc::make_mut(&mut self.dynamic_configs).alter(command)?;
        let defaults = self.dynamic_configs.of_all_brokers();
        if defaults != *self.topic_defaults {
            self.topic_defaults = Arc::new(defaults);
            let topics: Vec<_> = self.by_name.values().map(|topic| Topic::clone(topic)).collect();
            topics.into_iter().for_each(|topic| drop(self.put(topic)));
        }
        Ok(())
    }

    pub fn create(&mut self, command: &CreateTopic) -> Result<Arc<Topic>, TopicRefusal> {
        if let Some(topic) = self.by_name.get(&command.name) {
            return Err(TopicRefusal::Exists { name: topic.name.clone(), id: topic.id });
        }
        if let Some(topic) = self.by_id.get(&command.id) {
            return Err(TopicRefusal::Exists { name: topic.name.clone(), id: topic.id });
        }
        let configs = command.configs.iter().cloned().collect();
        Ok(self.put(Topic::new(command.id, command.name.clone(), command.partitions, configs)))
    }

    pub fn delete(&mut self, command: DeleteTopic) -> Result<Arc<Topic>, TopicRefusal> {
        let topic = self.by_id.remove(&command.id).ok_or(TopicRefusal::Unknown { id: command.id })?;
        self.by_name.remove(&topic.name);
        self.changes += 1;
        Ok(topic)
    }

    /// A topic that is part of an open transaction can't become an event topic: what isn't committed must not be indexed.
    pub fn alter_configs(
        &mut self,
        command: &AlterTopicConfigs,
        is_in_transaction: impl FnOnce() -> bool,
    ) -> Result<Arc<Topic>, TopicRefusal> {
        let topic = self.existing(command.id)?;
        let mut configs = topic.configs.clone();
        for (name, value) in &command.changes {
            match value {
                Some(value) => configs.insert(name.clone(), value.clone()),
                None => configs.remove(name),
            };
        }
        let altered = Topic::new(topic.id, topic.name.clone(), topic.partitions, configs);
        if altered.settings.streams && !topic.settings.streams && is_in_transaction() {
            return Err(TopicRefusal::OpenTransaction { id: topic.id });
        }
        Ok(self.put(altered))
    }

    /// The topic as it was before and as it is now.
    pub fn create_partitions(&mut self, command: CreatePartitions) -> Result<(Arc<Topic>, Arc<Topic>), TopicRefusal> {
        let before = self.existing(command.id)?;
        if command.total <= before.partitions {
            return Err(TopicRefusal::NotMorePartitions { current: before.partitions, asked: command.total });
        }
        let after = self.put(Topic::new(before.id, before.name.clone(), command.total, before.configs.clone()));
        Ok((before, after))
    }

    fn existing(&self, id: TopicId) -> Result<Arc<Topic>, TopicRefusal> {
        self.by_id.get(&id).cloned().ok_or(TopicRefusal::Unknown { id })
    }

    fn put(&mut self, topic: Topic) -> Arc<Topic> {
        let settings = TopicSettings::of(&topic.configs, &self.topic_defaults);
        let topic = Arc::new(Topic { settings, ..topic });
        let before = self.by_name.insert(topic.name.clone(), Arc::clone(&topic));
        self.by_id.insert(topic.id, Arc::clone(&topic));
        self.changes += u64::from(before.is_none_or(|before| before.partitions != topic.partitions));
        topic
    }
}
