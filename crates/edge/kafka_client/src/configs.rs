//! Configs of topics: read and changed.

use crate::wire::messages::describe_configs_request::DescribeConfigsResource;
use crate::wire::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use crate::wire::messages::{DescribeConfigsRequest, IncrementalAlterConfigsRequest};

use crate::cluster::Cluster;
use crate::error::ClientError;
use crate::topics::{text, topic_result};

/// Kafka's number for "the resource is a topic".
const RESOURCE_TOPIC: i8 = 2;

/// What decided a config's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOrigin {
    /// Set on the topic itself.
    Topic,
    /// Set for the broker or for all brokers, at run time or in a file.
    Broker,
    Default,
    Unknown,
}

#[derive(Clone, Debug)]
pub struct ConfigEntry {
    pub name: String,
    /// `None` where it is secret or unset.
    pub value: Option<String>,
    pub origin: ConfigOrigin,
    pub is_read_only: bool,
}

/// A change of one config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigChange {
    Set {
        name: String,
        value: String,
    },
    /// Back to the default.
    Delete {
        name: String,
    },
}

impl Cluster {
    /// All configs of a topic, by name.
    pub async fn topic_configs(&mut self, topic: &str) -> Result<Vec<ConfigEntry>, ClientError> {
        let resource = DescribeConfigsResource::default()
            .with_resource_type(RESOURCE_TOPIC)
            .with_resource_name(text(topic))
            .with_configuration_keys(None);
        let answer = self.call_any(&DescribeConfigsRequest::default().with_resources(vec![resource])).await?;
        let Some(result) = answer.results.into_iter().next() else {
            return Err(ClientError::Incomplete { api: "DescribeConfigs", what: format!("topic {topic}") });
        };
        topic_result(topic, result.error_code, result.error_message)?;
        let entry =
            |config: crate::wire::messages::describe_configs_response::DescribeConfigsResourceResult| ConfigEntry {
                name: config.name.to_string(),
                value: config.value.map(|value| value.to_string()),
                origin: origin(config.config_source),
                is_read_only: config.read_only,
            };
        let mut entries: Vec<_> = result.configs.into_iter().map(entry).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Makes all the changes or none.
    pub async fn alter_topic_configs(&mut self, topic: &str, changes: &[ConfigChange]) -> Result<(), ClientError> {
        let change = |change: &ConfigChange| match change {
            ConfigChange::Set { name, value } => {
                AlterableConfig::default().with_name(text(name)).with_config_operation(0).with_value(Some(text(value)))
            }
            ConfigChange::Delete { name } => {
                AlterableConfig::default().with_name(text(name)).with_config_operation(1).with_value(None)
            }
        };
        let resource = AlterConfigsResource::default()
            .with_resource_type(RESOURCE_TOPIC)
            .with_resource_name(text(topic))
            .with_configs(changes.iter().map(change).collect());
        let answer = self.call_any(&IncrementalAlterConfigsRequest::default().with_resources(vec![resource])).await?;
        let Some(result) = answer.responses.into_iter().next() else {
            return Err(ClientError::Incomplete { api: "IncrementalAlterConfigs", what: format!("topic {topic}") });
        };
        topic_result(topic, result.error_code, result.error_message)
    }
}

/// Kafka's `ConfigSource`.
fn origin(code: i8) -> ConfigOrigin {
    match code {
        1 => ConfigOrigin::Topic,
        2..=4 => ConfigOrigin::Broker,
        5 => ConfigOrigin::Default,
        _ => ConfigOrigin::Unknown,
    }
}
