//! DescribeTopicPartitions (KIP-966): partitions of topics, so many at a time; the answer says where to go on.

use std::collections::BTreeSet;

use daybook_catalog::{Catalog, Topic};
use daybook_types::TopicName as LegalName;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::authorized_operations;
use crate::wire::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use crate::wire::messages::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, TopicName};
use crate::wire::{self, StrBytes, text};

/// `max.request.partition.size.limit`
const PARTITIONS_MAX: usize = 2_000;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let catalog = broker.reader.catalog();
    let (from_topic, from_partition) = match &request.cursor {
        Some(cursor) => (cursor.topic_name.0.clone(), cursor.partition_index),
        None => (StrBytes::default(), 0),
    };
    let Ok(from_partition) = usize::try_from(from_partition) else { return refuse(&request) };
    let asked: BTreeSet<StrBytes> = match request.topics.is_empty() {
        true => catalog.topics().map(|topic| text(topic.name.as_str())).collect(),
        false => request.topics.into_iter().map(|topic| topic.name.0).collect(),
    };
    let mut room = usize::try_from(request.response_partition_limit).unwrap_or(0).clamp(1, PARTITIONS_MAX);
    let mut topics = Vec::new();
    let mut next_cursor = None;
    for name in asked.into_iter().filter(|name| *name >= from_topic) {
        if room == 0 {
            next_cursor = Some(cursor(name, 0));
            break;
        }
        let Some(topic) = find(&catalog, &name) else {
            topics.push(unknown(name));
            continue;
        };
        let count = usize::try_from(topic.partitions).unwrap_or(0);
        let first = if name == from_topic { from_partition.min(count) } else { 0 };
        let after = count.min(first + room);
        room -= after - first;
        topics.push(described(broker, topic, first..after));
        if after < count {
            next_cursor = Some(cursor(name, after));
            break;
        }
    }
    DescribeTopicPartitionsResponse::default().with_topics(topics).with_next_cursor(next_cursor)
}

fn find<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Topic> {
    catalog.topic(name).map(|topic| &**topic)
}

fn cursor(topic: StrBytes, partition: usize) -> Cursor {
    Cursor::default().with_topic_name(TopicName(topic)).with_partition_index(i32::try_from(partition).unwrap_or(0))
}

fn described(
    broker: &Broker,
    topic: &Topic,
    partitions: std::ops::Range<usize>,
) -> DescribeTopicPartitionsResponseTopic {
    let (node, leader_epoch) = (broker.advertised.node, broker.reader.leader_epoch().0);
    let partition = |index: usize| {
        DescribeTopicPartitionsResponsePartition::default()
            .with_partition_index(i32::try_from(index).unwrap_or(0))
            .with_leader_id(node)
            .with_leader_epoch(leader_epoch)
            .with_replica_nodes(vec![node])
            .with_isr_nodes(vec![node])
            .with_eligible_leader_replicas(Some(Vec::new()))
            .with_last_known_elr(Some(Vec::new()))
    };
    DescribeTopicPartitionsResponseTopic::default()
        .with_name(Some(TopicName(text(topic.name.as_str()))))
        .with_topic_id(wire::uuid(topic.id))
        .with_partitions(partitions.map(partition).collect())
        .with_topic_authorized_operations(authorized_operations::TOPIC)
}

fn unknown(name: StrBytes) -> DescribeTopicPartitionsResponseTopic {
    let error = match LegalName::new(&name) {
        Ok(_) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    DescribeTopicPartitionsResponseTopic::default()
        .with_error_code(error_code::code(Some(error)))
        .with_name(Some(TopicName(name)))
        .with_topic_authorized_operations(authorized_operations::NOT_ASKED)
}

/// A cursor before the first partition.
fn refuse(request: &DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse {
    let refused = |topic: &crate::wire::messages::describe_topic_partitions_request::TopicRequest| {
        DescribeTopicPartitionsResponseTopic::default()
            .with_error_code(error_code::code(Some(ErrorCode::InvalidRequest)))
            .with_name(Some(topic.name.clone()))
            .with_topic_authorized_operations(authorized_operations::NOT_ASKED)
    };
    DescribeTopicPartitionsResponse::default().with_topics(request.topics.iter().map(refused).collect())
}
