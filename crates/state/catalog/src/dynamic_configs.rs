//! The configs of what is neither a topic nor a group: brokers, subscriptions of client metrics, and the quotas of clients. What a name or a
//! value means, only those who set and read it know, but for what brokers are told about all topics.
//!
//! Invariant: a resource is here exactly as long as it has a config.

use std::collections::BTreeMap;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::{AlterConfigs, ConfigResource, ConfigsRefusal, ResourceKind};

use crate::StoredTopicError;
use crate::topic::{get_text, put_text};

const FORMAT_VERSION: u8 = 1;
/// Quotas are as many as somebody configures; this keeps a runaway script from filling memory.
const RESOURCES_MAX: usize = 100_000;
const CONFIGS_PER_RESOURCE_MAX: usize = 1_000;

/// Configs by resource and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DynamicConfigs {
    resources: BTreeMap<ConfigResource, BTreeMap<String, String>>,
}

impl DynamicConfigs {
    /// What was set for this resource; none if nothing was.
    pub fn of(&self, kind: ResourceKind, name: &str) -> Option<&BTreeMap<String, String>> {
        self.resources.get(&ConfigResource { kind, name: name.to_owned() })
    }

    /// All resources of a kind, by name.
    pub fn of_kind(&self, kind: ResourceKind) -> impl Iterator<Item = (&str, &BTreeMap<String, String>)> {
        self.resources
            .range(ConfigResource { kind, name: String::new() }..)
            .take_while(move |(resource, _)| resource.kind == kind)
            .map(|(resource, configs)| (resource.name.as_str(), configs))
    }

    /// Every resource with its configs.
    pub fn all(&self) -> impl Iterator<Item = (&ConfigResource, &BTreeMap<String, String>)> {
        self.resources.iter()
    }

    pub(crate) fn alter(&mut self, command: &AlterConfigs) -> Result<(), ConfigsRefusal> {
        let is_known = self.resources.contains_key(&command.resource);
        if !is_known && self.resources.len() >= RESOURCES_MAX {
            return Err(ConfigsRefusal::TooManyResources { max: RESOURCES_MAX });
        }
        let mut configs = self.resources.get(&command.resource).cloned().unwrap_or_default();
        for (name, value) in &command.changes {
            match value {
                Some(value) => configs.insert(name.clone(), value.clone()),
                None => configs.remove(name),
            };
        }
        if configs.len() > CONFIGS_PER_RESOURCE_MAX {
            return Err(ConfigsRefusal::TooManyConfigs { max: CONFIGS_PER_RESOURCE_MAX });
        }
        if configs.is_empty() {
            self.resources.remove(&command.resource);
        } else {
            self.resources.insert(command.resource.clone(), configs);
        }
        Ok(())
    }

    /// What brokers were told: that of single ones over that of all. State is the same on every member, so it can't know which of
    /// them it is on; where several brokers were told different things, the last by name has its way.
    pub(crate) fn of_all_brokers(&self) -> BTreeMap<String, String> {
        // The empty name, which stands for all brokers, sorts before every other.
        self.of_kind(ResourceKind::Broker)
            .flat_map(|(_, configs)| configs.iter())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// As a checkpoint keeps it; none if the resource has no config.
    pub fn encode(&self, resource: &ConfigResource) -> Option<Bytes> {
        let configs = self.resources.get(resource)?;
        let mut out = BytesMut::new();
        out.put_u8(FORMAT_VERSION);
        out.put_u32(configs.len() as u32);
        for (name, value) in configs {
            put_text(&mut out, name);
            put_text(&mut out, value);
        }
        Some(out.freeze())
    }

    /// Takes what [`Self::encode`] made.
    pub fn restore(&mut self, resource: ConfigResource, mut bytes: Bytes) -> Result<(), StoredTopicError> {
        let from = &mut bytes;
        let version = from.try_get_u8().map_err(|_| StoredTopicError::Malformed)?;
        if version > FORMAT_VERSION {
            return Err(StoredTopicError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        let count = from.try_get_u32().map_err(|_| StoredTopicError::Malformed)?;
        let mut configs = BTreeMap::new();
        for _ in 0..count {
            configs.insert(get_text(from)?, get_text(from)?);
        }
        if !from.is_empty() || configs.is_empty() {
            return Err(StoredTopicError::Malformed);
        }
        self.resources.insert(resource, configs);
        Ok(())
    }
}
