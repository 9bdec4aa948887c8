//! ConsumerGroupHeartbeat (KIP-848): members of consumer groups join, stay, change their minds and leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daybook_group_coordinator::{ConsumerHeartbeat, Generation, GroupError, HeartbeatAnswer};
use daybook_types::{GroupId, PartitionId, PartitionIndex, TopicId};

use super::member_ref::{group_id, instance_id, member_id, member_text, word};
use crate::broker::{Broker, Caller};
use crate::error_code;
use crate::wire::messages::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use crate::wire::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use crate::wire::{text, uuid};

/// From here on members make their ids themselves (KIP-1082).
const ID_BY_MEMBER_FROM: i16 = 1;

pub(super) async fn handle(
    broker: &Broker,
    caller: &Caller,
    request: ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse {
    match broker.coordinator.consumer_heartbeat(&asked(broker, caller, &request)) {
        Ok(answer) => accepted(&answer),
        Err(error) => refused(error),
    }
}

fn asked(broker: &Broker, caller: &Caller, request: &ConsumerGroupHeartbeatRequest) -> ConsumerHeartbeat {
    let group = group_id(&request.group_id);
    ConsumerHeartbeat {
        member: member_id(&request.member_id),
        epoch: Generation(request.member_epoch),
        instance: instance_id(request.instance_id.as_ref()),
        rack: request.rack_id.as_ref().map(word),
        client_id: word(&caller.client_id),
        client_host: format!("/{}", caller.peer.ip()).into(),
        rebalance_timeout_ms: Some(request.rebalance_timeout_ms).filter(|timeout_ms| *timeout_ms != -1),
        names: request
            .subscribed_topic_names
            .as_ref()
            .map(|names| names.iter().map(|name| Arc::from(name.as_str())).collect()),
        regex: request.subscribed_topic_regex.as_ref().map(word),
        assignor: request.server_assignor.as_ref().map(word),
        owned: request.topic_partitions.as_ref().map(|owned| {
            let partitions = |topic: &crate::wire::messages::consumer_group_heartbeat_request::TopicPartitions| {
                let id = TopicId(topic.topic_id);
                let partition = move |index: &i32| PartitionId { topic: id, index: PartitionIndex(*index) };
                topic.partitions.iter().map(partition).collect::<Vec<_>>()
            };
            owned.iter().flat_map(partitions).collect::<BTreeSet<_>>()
        }),
        makes_its_id: caller.version >= ID_BY_MEMBER_FROM,
        session_timeout_ms: group_config(broker, &group, "consumer.session.timeout.ms"),
        heartbeat_interval_ms: group_config(broker, &group, "consumer.heartbeat.interval.ms"),
        group,
    }
}

/// What is set for this group alone.
fn group_config(broker: &Broker, group: &GroupId, name: &str) -> Option<u64> {
    broker.reader.group_configs(group).get(name).and_then(|value| value.trim().parse().ok())
}

fn accepted(answer: &HeartbeatAnswer) -> ConsumerGroupHeartbeatResponse {
    let assignment = answer.assignment.as_ref().map(|partitions| {
        let mut by_topic: BTreeMap<TopicId, Vec<i32>> = BTreeMap::new();
        for partition in partitions {
            by_topic.entry(partition.topic).or_default().push(partition.index.0);
        }
        let topic = |(id, partitions)| TopicPartitions::default().with_topic_id(uuid(id)).with_partitions(partitions);
        Assignment::default().with_topic_partitions(by_topic.into_iter().map(topic).collect())
    });
    ConsumerGroupHeartbeatResponse::default()
        .with_member_id(Some(member_text(&answer.member)))
        .with_member_epoch(answer.epoch.0)
        .with_heartbeat_interval_ms(i32::try_from(answer.interval_ms).unwrap_or(i32::MAX))
        .with_assignment(assignment)
}

fn refused(error: GroupError) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse::default()
        .with_error_code(error_code::code(Some(error_code::of_group(error))))
        .with_error_message(Some(text(error.to_string())))
}
