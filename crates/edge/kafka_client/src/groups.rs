//! Consumer groups: listed, described, deleted. Membership is not this client's.

use crate::wire::messages::{
    ConsumerGroupDescribeRequest, DeleteGroupsRequest, DescribeGroupsRequest, GroupId, ListGroupsRequest,
};
use bytes::{Buf, Bytes};
use daybook_types::{NodeId, PartitionIndex};

use crate::cluster::Cluster;
use crate::error::{ClientError, KafkaCode, WireError};
use crate::offsets::TopicPartition;
use crate::retry::Retry;
use crate::topics::text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupListing {
    pub group: String,
    /// Of the classic protocol, e.g. `consumer`; empty when nobody has joined.
    pub protocol_type: String,
    /// Empty from brokers that don't say.
    pub state: String,
    /// `classic`, `consumer`, …; empty from brokers that don't say.
    pub group_type: String,
    pub coordinator: NodeId,
}

#[derive(Clone, Debug)]
pub struct GroupMember {
    pub member_id: String,
    /// Of a static member.
    pub instance_id: Option<String>,
    pub client_id: String,
    pub host: String,
    pub assignment: Vec<TopicPartition>,
}

#[derive(Clone, Debug)]
pub struct GroupDescription {
    pub group: String,
    pub state: String,
    /// The assignor in use; empty while there is none.
    pub assignor: String,
    pub coordinator: NodeId,
    pub members: Vec<GroupMember>,
}

impl Cluster {
    /// The groups of all brokers, by name.
    pub async fn list_groups(&mut self) -> Result<Vec<GroupListing>, ClientError> {
        self.refresh(Some(&[]), false).await?;
        let nodes: Vec<_> = self.view().brokers.iter().map(|broker| broker.node).collect();
        let mut groups = Vec::new();
        for node in nodes {
            let mut retry = Retry::new(self.options.retry_timeout_ms);
            let answer = loop {
                let answer = self.call_node(node, &ListGroupsRequest::default()).await?;
                match KafkaCode::check(answer.error_code) {
                    Ok(()) => break answer,
                    Err(code) if code.is_retriable() && retry.again().await => {}
                    Err(code) => return Err(ClientError::Request { api: "ListGroups", code }),
                }
            };
            groups.extend(answer.groups.into_iter().map(|row| GroupListing {
                group: row.group_id.to_string(),
                protocol_type: row.protocol_type.to_string(),
                state: row.group_state.to_string(),
                group_type: row.group_type.to_string(),
                coordinator: node,
            }));
        }
        groups.sort_by(|a, b| a.group.cmp(&b.group));
        groups.dedup_by(|a, b| a.group == b.group);
        Ok(groups)
    }

    /// State and members. A group that isn't there is `GROUP_ID_NOT_FOUND` or the state `Dead`, by the broker's age.
    pub async fn describe_group(&mut self, group: &str) -> Result<GroupDescription, ClientError> {
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        loop {
            let error = match self.describe_classic(group).await {
                // A group of the newer protocol is unknown to the older request.
                Err(error) if error.code() == Some(KafkaCode::GROUP_ID_NOT_FOUND) => {
                    match self.describe_consumer(group).await {
                        Ok(Some(description)) => return Ok(description),
                        Ok(None) => error,
                        Err(newer) => newer,
                    }
                }
                Err(error) => error,
                Ok(description) => return Ok(description),
            };
            if !error.code().is_some_and(KafkaCode::is_retriable) || !retry.again().await {
                return Err(error);
            }
            self.forget_coordinator(group);
        }
    }

    async fn describe_classic(&mut self, group: &str) -> Result<GroupDescription, ClientError> {
        let coordinator = self.coordinator(group).await?;
        let request = DescribeGroupsRequest::default().with_groups(vec![GroupId(text(group))]);
        let answer = self.call_node(coordinator, &request).await?;
        let Some(row) = answer.groups.into_iter().next() else {
            return Err(ClientError::Incomplete { api: "DescribeGroups", what: format!("group {group}") });
        };
        group_result(group, row.error_code, row.error_message.map(|text| text.to_string()))?;
        let members = row.members.into_iter().map(|member| GroupMember {
            member_id: member.member_id.to_string(),
            instance_id: member.group_instance_id.map(|id| id.to_string()),
            client_id: member.client_id.to_string(),
            host: member.client_host.to_string(),
            assignment: assignment(member.member_assignment).unwrap_or_default(),
        });
        Ok(GroupDescription {
            group: group.to_owned(),
            state: row.group_state.to_string(),
            assignor: row.protocol_data.to_string(),
            coordinator,
            members: members.collect(),
        })
    }

    /// `None` when the broker doesn't know the newer protocol, or not the group either.
    async fn describe_consumer(&mut self, group: &str) -> Result<Option<GroupDescription>, ClientError> {
        let coordinator = self.coordinator(group).await?;
        let request = ConsumerGroupDescribeRequest::default().with_group_ids(vec![GroupId(text(group))]);
        let answer = match self.call_node(coordinator, &request).await {
            Err(ClientError::Wire(WireError::Unsupported { .. })) => return Ok(None),
            answer => answer?,
        };
        let Some(row) = answer.groups.into_iter().next() else { return Ok(None) };
        if KafkaCode(row.error_code) == KafkaCode::GROUP_ID_NOT_FOUND {
            return Ok(None);
        }
        group_result(group, row.error_code, row.error_message.map(|text| text.to_string()))?;
        let members = row.members.into_iter().map(|member| GroupMember {
            member_id: member.member_id.to_string(),
            instance_id: member.instance_id.map(|id| id.to_string()),
            client_id: member.client_id.to_string(),
            host: member.client_host.to_string(),
            assignment: (member.assignment.topic_partitions.iter())
                .flat_map(|topic| {
                    topic.partitions.iter().map(|index| TopicPartition::new(&topic.topic_name, PartitionIndex(*index)))
                })
                .collect(),
        });
        Ok(Some(GroupDescription {
            group: group.to_owned(),
            state: row.group_state.to_string(),
            assignor: row.assignor_name.to_string(),
            coordinator,
            members: members.collect(),
        }))
    }

    pub async fn delete_group(&mut self, group: &str) -> Result<(), ClientError> {
        let request = DeleteGroupsRequest::default().with_groups_names(vec![GroupId(text(group))]);
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        loop {
            let coordinator = self.coordinator(group).await?;
            let answer = self.call_node(coordinator, &request).await?;
            let code = answer.results.first().map_or(0, |row| row.error_code);
            if KafkaCode(code).is_retriable() && retry.again().await {
                self.forget_coordinator(group);
                continue;
            }
            return group_result(group, code, None);
        }
    }
}

fn group_result(group: &str, code: i16, message: Option<String>) -> Result<(), ClientError> {
    KafkaCode::check(code).map_err(|code| ClientError::Group { group: group.to_owned(), code, message })
}

/// The `ConsumerProtocolAssignment` that consumers of the classic protocol give each other: a version, then topics
/// with their partitions; what follows differs by version. `None` where it isn't one, as of another kind of group.
pub(crate) fn assignment(mut bytes: Bytes) -> Option<Vec<TopicPartition>> {
    let _version = bytes.try_get_i16().ok()?;
    let topics = bytes.try_get_i32().ok()?;
    let mut partitions = Vec::new();
    for _ in 0..topics {
        let length = usize::try_from(bytes.try_get_i16().ok()?).ok()?;
        if bytes.len() < length {
            return None;
        }
        let name = bytes.split_to(length);
        let name = std::str::from_utf8(&name).ok()?;
        for _ in 0..bytes.try_get_i32().ok()? {
            partitions.push(TopicPartition::new(name, PartitionIndex(bytes.try_get_i32().ok()?)));
        }
    }
    Some(partitions)
}
