//! DeleteShareGroupOffsets: a share group without members forgets where it has come to in topics.

use daybook_share_coordinator::ShareError;

use super::member_ref::group_id;
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::delete_share_group_offsets_response::DeleteShareGroupOffsetsResponseTopic;
use crate::wire::messages::{DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse};
use crate::wire::{text, uuid};

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: DeleteShareGroupOffsetsRequest,
) -> DeleteShareGroupOffsetsResponse {
    let group = group_id(&request.group_id);
    if !broker.share.is_known(&group) {
        return refused(&ShareError::UnknownGroup { group });
    }
    let catalog = broker.reader.catalog();
    let topics: Vec<_> = request.topics.iter().map(|asked| catalog.topic(&asked.topic_name.0)).collect();
    let partitions = topics.iter().flatten().flat_map(|topic| topic.partition_ids()).collect();
    if let Err(error) = broker.share.delete(&group, Some(partitions)).await {
        return refused(&error);
    }
    let told = request.topics.iter().zip(&topics).map(|(asked, topic)| {
        let error = topic.is_none().then_some(ErrorCode::UnknownTopicOrPartition);
        DeleteShareGroupOffsetsResponseTopic::default()
            .with_topic_name(asked.topic_name.clone())
            .with_topic_id(topic.map(|topic| uuid(topic.id)).unwrap_or_default())
            .with_error_code(error_code::code(error))
    });
    DeleteShareGroupOffsetsResponse::default().with_responses(told.collect())
}

fn refused(error: &ShareError) -> DeleteShareGroupOffsetsResponse {
    DeleteShareGroupOffsetsResponse::default()
        .with_error_code(error_code::code(Some(error_code::of_share(error))))
        .with_error_message(Some(text(error.to_string())))
}
