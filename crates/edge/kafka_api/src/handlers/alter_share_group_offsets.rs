//! AlterShareGroupOffsets: where a share group without members is to go on.

use std::collections::HashMap;

use daybook_share_coordinator::ShareError;
use daybook_types::{Offset, PartitionId};

use super::member_ref::group_id;
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::alter_share_group_offsets_response::{
    AlterShareGroupOffsetsResponsePartition, AlterShareGroupOffsetsResponseTopic,
};
use crate::wire::messages::{AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse};
use crate::wire::{text, uuid};

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: AlterShareGroupOffsetsRequest,
) -> AlterShareGroupOffsetsResponse {
    let catalog = broker.reader.catalog();
    let mut starts: HashMap<PartitionId, Offset> = HashMap::new();
    for asked in &request.topics {
        let Some(topic) = catalog.topic(&asked.topic_name.0) else { continue };
        for partition in asked.partitions.iter().filter(|partition| partition.start_offset >= 0) {
            starts.extend(topic.partition(partition.partition_index).map(|id| (id, Offset(partition.start_offset))));
        }
    }
    let mut starts: Vec<_> = starts.into_iter().collect();
    starts.sort_unstable();
    let altered = match broker.share.alter_offsets(&group_id(&request.group_id), starts).await {
        Ok(altered) => altered,
        Err(error) => return refused(&error),
    };
    let altered: HashMap<PartitionId, Option<ErrorCode>> = altered
        .into_iter()
        .map(|(id, outcome)| (id, outcome.err().map(|error| error_code::of_share(&error))))
        .collect();
    let topic =
        |asked: crate::wire::messages::alter_share_group_offsets_request::AlterShareGroupOffsetsRequestTopic| {
            let topic = catalog.topic(&asked.topic_name.0);
            let partition = |index: i32, start: i64| {
                let error = match topic.and_then(|topic| topic.partition(index)) {
                    Some(_) if start < 0 => Some(ErrorCode::InvalidRequest),
                    Some(id) => altered.get(&id).copied().flatten(),
                    None => Some(ErrorCode::UnknownTopicOrPartition),
                };
                AlterShareGroupOffsetsResponsePartition::default()
                    .with_partition_index(index)
                    .with_error_code(error_code::code(error))
            };
            let partitions = asked.partitions.iter().map(|asked| partition(asked.partition_index, asked.start_offset));
            AlterShareGroupOffsetsResponseTopic::default()
                .with_topic_id(topic.map(|topic| uuid(topic.id)).unwrap_or_default())
                .with_partitions(partitions.collect())
                .with_topic_name(asked.topic_name)
        };
    AlterShareGroupOffsetsResponse::default().with_responses(request.topics.into_iter().map(topic).collect())
}

fn refused(error: &ShareError) -> AlterShareGroupOffsetsResponse {
    AlterShareGroupOffsetsResponse::default()
        .with_error_code(error_code::code(Some(error_code::of_share(error))))
        .with_error_message(Some(text(error.to_string())))
}
