//! OffsetDelete: a group forgets how far it has come in some partitions, unless somebody in it reads them.

use daybook_command::{Command, DeleteOffsets, Outcome};
use daybook_types::{GroupId, PartitionId};

use super::member_ref::group_id;
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::topic_ref::TopicRef;
use crate::wire::messages::offset_delete_response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use crate::wire::messages::{OffsetDeleteRequest, OffsetDeleteResponse, TopicName};

/// Partitions of the request, by topic, each with what becomes of it.
type Outcomes = Vec<(TopicName, Vec<(i32, Result<PartitionId, ErrorCode>)>)>;

pub(super) async fn handle(broker: &Broker, _caller: &Caller, request: OffsetDeleteRequest) -> OffsetDeleteResponse {
    let group = group_id(&request.group_id);
    let outcomes = match sort(broker, &group, request) {
        Ok(outcomes) => outcomes,
        Err(error) => return OffsetDeleteResponse::default().with_error_code(error_code::code(Some(error))),
    };
    let partitions =
        outcomes.iter().flat_map(|(_, partitions)| partitions.iter().filter_map(|(_, id)| id.ok())).collect();
    match delete(broker, group, partitions).await {
        Err(error) => OffsetDeleteResponse::default().with_error_code(error_code::code(Some(error))),
        Ok(()) => OffsetDeleteResponse::default().with_topics(outcomes.into_iter().map(topic).collect()),
    }
}

/// Tells what can't be deleted from what can.
fn sort(broker: &Broker, group: &GroupId, request: OffsetDeleteRequest) -> Result<Outcomes, ErrorCode> {
    let names: Vec<&str> = request.topics.iter().map(|topic| topic.name.as_str()).collect();
    let subscribed = broker.coordinator.subscribed(group, &names).map_err(error_code::of_group)?;
    let is_known = broker.coordinator.listed(group).map_err(error_code::of_group)?.is_some();
    if !is_known && broker.reader.group_offsets(group).is_none() {
        return Err(ErrorCode::GroupIdNotFound);
    }
    let catalog = broker.reader.catalog();
    let topics = request.topics.into_iter().zip(subscribed).map(|(asked, is_subscribed)| {
        let found = TopicRef::Name(asked.name.0.clone()).find(&catalog);
        let outcome = |index: i32| {
            let id = found.and_then(|topic| topic.partition(index).ok_or(ErrorCode::UnknownTopicOrPartition));
            let outcome = if is_subscribed { id.and(Err(ErrorCode::GroupSubscribedToTopic)) } else { id };
            (index, outcome)
        };
        let partitions = asked.partitions.iter().map(|partition| outcome(partition.partition_index)).collect();
        (asked.name, partitions)
    });
    Ok(topics.collect())
}

async fn delete(broker: &Broker, group: GroupId, partitions: Vec<PartitionId>) -> Result<(), ErrorCode> {
    if partitions.is_empty() {
        return Ok(());
    }
    let command = Command::DeleteOffsets(DeleteOffsets { group, partitions });
    match broker.apply(command).await {
        // A group that has members and no offsets has nothing to forget.
        Ok(Outcome::DeleteOffsets(_)) => Ok(()),
        Ok(_) => Err(ErrorCode::UnknownServerError),
        Err(error) => Err(error_code::of_propose_to_coordinator(&error)),
    }
}

/// A partition as it was named, and what it is or why it is none.
type Found = (i32, Result<PartitionId, ErrorCode>);

fn topic((name, partitions): (TopicName, Vec<Found>)) -> OffsetDeleteResponseTopic {
    let partition = |(index, outcome): Found| {
        OffsetDeleteResponsePartition::default()
            .with_partition_index(index)
            .with_error_code(error_code::code(outcome.err()))
    };
    OffsetDeleteResponseTopic::default()
        .with_name(name)
        .with_partitions(partitions.into_iter().map(partition).collect())
}
