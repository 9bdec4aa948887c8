//! Topics made, widened and deleted.

use crate::wire::messages::create_partitions_request::CreatePartitionsTopic;
use crate::wire::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use crate::wire::messages::delete_topics_request::DeleteTopicState;
use crate::wire::messages::{CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, TopicName};
use crate::wire::protocol::StrBytes;
use daybook_types::TopicId;

use crate::cluster::Cluster;
use crate::error::{ClientError, KafkaCode};

/// A topic to be made.
#[derive(Clone, Debug)]
pub struct NewTopic {
    pub name: String,
    /// `None` leaves it to the server.
    pub partitions: Option<i32>,
    /// `None` leaves it to the server.
    pub replication: Option<i16>,
    pub configs: Vec<(String, String)>,
}

impl Cluster {
    pub async fn create_topic(&mut self, topic: &NewTopic) -> Result<TopicId, ClientError> {
        let config = |(name, value): &(String, String)| {
            CreatableTopicConfig::default().with_name(text(name)).with_value(Some(text(value)))
        };
        let wanted = CreatableTopic::default()
            .with_name(TopicName(text(&topic.name)))
            .with_num_partitions(topic.partitions.unwrap_or(-1))
            .with_replication_factor(topic.replication.unwrap_or(-1))
            .with_configs(topic.configs.iter().map(config).collect());
        let request =
            CreateTopicsRequest::default().with_topics(vec![wanted]).with_timeout_ms(self.options.request_timeout_ms);
        let answer = self.call_any(&request).await?;
        let Some(result) = answer.topics.into_iter().next() else {
            return Err(ClientError::Incomplete { api: "CreateTopics", what: format!("topic {}", topic.name) });
        };
        topic_result(&topic.name, result.error_code, result.error_message)?;
        self.forget_topic(&topic.name);
        Ok(TopicId(result.topic_id))
    }

    pub async fn delete_topic(&mut self, name: &str) -> Result<(), ClientError> {
        let request = DeleteTopicsRequest::default().with_timeout_ms(self.options.request_timeout_ms);
        // Up to version 5 names are listed plainly.
        let request = if self.version_of_any::<DeleteTopicsRequest>().await? >= 6 {
            request.with_topics(vec![DeleteTopicState::default().with_name(Some(TopicName(text(name))))])
        } else {
            request.with_topic_names(vec![TopicName(text(name))])
        };
        let answer = self.call_any(&request).await?;
        let Some(result) = answer.responses.into_iter().next() else {
            return Err(ClientError::Incomplete { api: "DeleteTopics", what: format!("topic {name}") });
        };
        topic_result(name, result.error_code, result.error_message)?;
        self.forget_topic(name);
        Ok(())
    }

    /// Widens a topic to `count` partitions in all.
    pub async fn create_partitions(&mut self, name: &str, count: i32) -> Result<(), ClientError> {
        let wanted =
            CreatePartitionsTopic::default().with_name(TopicName(text(name))).with_count(count).with_assignments(None);
        let request = CreatePartitionsRequest::default()
            .with_topics(vec![wanted])
            .with_timeout_ms(self.options.request_timeout_ms);
        let answer = self.call_any(&request).await?;
        let Some(result) = answer.results.into_iter().next() else {
            return Err(ClientError::Incomplete { api: "CreatePartitions", what: format!("topic {name}") });
        };
        topic_result(name, result.error_code, result.error_message)?;
        self.forget_topic(name);
        Ok(())
    }
}

pub(crate) fn topic_result(name: &str, code: i16, message: Option<StrBytes>) -> Result<(), ClientError> {
    KafkaCode::check(code).map_err(|code| ClientError::Topic {
        topic: name.to_owned(),
        code,
        message: message.map(|text| text.to_string()),
    })
}

pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
