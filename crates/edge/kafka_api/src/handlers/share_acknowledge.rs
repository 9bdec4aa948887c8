//! ShareAcknowledge: what a member says of the records that it acquired. Answered when it is kept.

use std::collections::HashMap;

use bytes::Bytes;
use daybook_share_coordinator::{AcknowledgeAsk, ShareError};
use daybook_types::PartitionId;
use uuid::Uuid;

use super::share_request::{ask, code_of, partition, who};
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::RequestError;
use crate::wire::messages::share_acknowledge_response::{PartitionData, ShareAcknowledgeTopicResponse};
use crate::wire::messages::{ShareAcknowledgeRequest, ShareAcknowledgeResponse};
use crate::wire::{self, text};

const EPOCH_FINAL: i32 = -1;
/// The newest version that the library knows.
const LIBRARY_VERSION: i16 = 1;

/// `renews`: it says so of itself, from version 2 on.
pub(super) async fn answer(
    broker: &Broker,
    caller: &Caller,
    correlation_id: i32,
    request: ShareAcknowledgeRequest,
    renews: bool,
) -> Result<Bytes, RequestError> {
    let group = request.group_id.clone().unwrap_or_default();
    let response = handle(broker, request, renews).await;
    let answer = wire::encode(correlation_id, LIBRARY_VERSION, &response)?;
    if caller.version <= LIBRARY_VERSION {
        return Ok(answer);
    }
    let settings = broker.share.group_settings(&daybook_types::GroupId::new(&group.0));
    Ok(wire::share_v2::acknowledged_as_v2(&answer, i32::try_from(settings.rules.lock_ms).unwrap_or(i32::MAX)))
}

async fn handle(broker: &Broker, request: ShareAcknowledgeRequest, renews: bool) -> ShareAcknowledgeResponse {
    let (group, member) = match who(request.group_id.as_ref(), request.member_id.as_ref()) {
        Ok(who) => who,
        Err(error) => return ShareAcknowledgeResponse::default().with_error_code(error_code::code(Some(error))),
    };
    if let Err(error) = broker.share.begin_acknowledge(&group, &member, request.share_session_epoch) {
        return refused(&error);
    }
    let renews = renews && broker.share.group_settings(&group).renew;
    let mut outcomes: HashMap<PartitionId, Option<ErrorCode>> = HashMap::new();
    let mut asks: Vec<AcknowledgeAsk> = Vec::new();
    for topic in &request.topics {
        for asked in &topic.partitions {
            let at = partition(topic.topic_id, asked.partition_index);
            let batches = asked.acknowledgement_batches.iter();
            let batches = batches.map(|batch| (batch.first_offset, batch.last_offset, &batch.acknowledge_types[..]));
            // Twice in one request is a fault of the client; the second counts as malformed.
            let asked =
                if outcomes.contains_key(&at) { Err(error_code::repeated_share()) } else { ask(at, batches, renews) };
            match asked {
                Ok(ask) => {
                    outcomes.insert(at, None);
                    asks.push(ask);
                }
                Err(error) => {
                    asks.retain(|other| other.partition != at);
                    outcomes.insert(at, Some(code_of(broker, at, &error)));
                }
            }
        }
    }
    for (at, outcome) in broker.share.acknowledge(&group, &member, asks).await {
        outcomes.insert(at, outcome.err().map(|error| code_of(broker, at, &error)));
    }
    if request.share_session_epoch == EPOCH_FINAL {
        broker.share.end_session(&group, &member);
    }
    let topic = |topic: &crate::wire::messages::share_acknowledge_request::AcknowledgeTopic| {
        let one = |asked: &crate::wire::messages::share_acknowledge_request::AcknowledgePartition| {
            told(topic.topic_id, asked.partition_index, &outcomes)
        };
        ShareAcknowledgeTopicResponse::default()
            .with_topic_id(topic.topic_id)
            .with_partitions(topic.partitions.iter().map(one).collect())
    };
    ShareAcknowledgeResponse::default().with_responses(request.topics.iter().map(topic).collect())
}

fn told(topic: Uuid, index: i32, outcomes: &HashMap<PartitionId, Option<ErrorCode>>) -> PartitionData {
    let error = outcomes.get(&partition(topic, index)).copied().flatten();
    PartitionData::default().with_partition_index(index).with_error_code(error_code::code(error))
}

fn refused(error: &ShareError) -> ShareAcknowledgeResponse {
    ShareAcknowledgeResponse::default()
        .with_error_code(error_code::code(Some(error_code::of_share(error))))
        .with_error_message(Some(text(error.to_string())))
}
