//! ShareGroupHeartbeat: a member joins a share group, stays in it or leaves it (KIP-932).

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_share_coordinator::core::{Assignment, Heartbeat, Heartbeaten};
use daybook_share_coordinator::{MemberId, ShareError};
use daybook_types::{GroupId, TopicId};

use super::member_ref::word;
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::refusal::Refusal;
use crate::wire::messages::share_group_heartbeat_response::{self, TopicPartitions};
use crate::wire::messages::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use crate::wire::{text, uuid};

const EPOCH_JOIN: i32 = 0;
const EPOCH_LEAVE: i32 = -1;

pub(super) async fn handle(
    broker: &Broker,
    caller: &Caller,
    request: ShareGroupHeartbeatRequest,
) -> ShareGroupHeartbeatResponse {
    let group = GroupId::new(&request.group_id.0);
    let member = request.member_id.clone();
    match beat(broker, caller, &group, request) {
        Ok(beaten) => {
            let interval = broker.share.group_settings(&group).heartbeat_interval_ms;
            ShareGroupHeartbeatResponse::default()
                .with_member_id(Some(member))
                .with_member_epoch(beaten.epoch)
                .with_heartbeat_interval_ms(i32::try_from(interval).unwrap_or(i32::MAX))
                .with_assignment(beaten.assignment.as_ref().map(assignment))
        }
        Err(Refusal { error, message }) => ShareGroupHeartbeatResponse::default()
            .with_error_code(error_code::code(Some(error)))
            .with_error_message(message.map(text)),
    }
}

fn beat(
    broker: &Broker,
    caller: &Caller,
    group: &GroupId,
    request: ShareGroupHeartbeatRequest,
) -> Result<Heartbeaten, Refusal> {
    let invalid = |message: &str| Err(Refusal::new(ErrorCode::InvalidRequest, message));
    if group.as_str().trim().is_empty() {
        return invalid("a share group needs a name");
    }
    if request.member_id.trim().is_empty() {
        return invalid("a member needs an id; clients choose one themselves");
    }
    if request.member_epoch < EPOCH_LEAVE {
        return invalid("a member's epoch is not below -1");
    }
    if request.rack_id.as_ref().is_some_and(|rack| rack.trim().is_empty()) {
        return invalid("a rack that is named can't be empty");
    }
    if request.member_epoch == EPOCH_JOIN && is_of_other_kind(broker, group) {
        return Err(Refusal::new(ErrorCode::GroupIdNotFound, format!("group {} is not a share group", group.as_str())));
    }
    let subscribed = request.subscribed_topic_names.map(|names| names.iter().map(|name| word(&name.0)).collect());
    let beat = Heartbeat {
        member: MemberId::new(&request.member_id),
        epoch: request.member_epoch,
        rack: request.rack_id.as_ref().map(word),
        client_id: word(&caller.client_id),
        client_host: Arc::from(caller.peer.ip().to_string()),
        subscribed,
    };
    broker
        .share
        .heartbeat(group, beat)
        .map_err(|error: ShareError| Refusal::new(error_code::of_share(&error), error.to_string()))
}

/// Whether a group of this name has members or offsets of another protocol.
fn is_of_other_kind(broker: &Broker, group: &GroupId) -> bool {
    broker.coordinator.may_delete(group).is_err() || broker.reader.group_offsets(group).is_some()
}

fn assignment(assignment: &Assignment) -> share_group_heartbeat_response::Assignment {
    let mut topics: BTreeMap<TopicId, Vec<i32>> = BTreeMap::new();
    for partition in assignment {
        topics.entry(partition.topic).or_default().push(partition.index.0);
    }
    let topic = |(id, partitions)| TopicPartitions::default().with_topic_id(uuid(id)).with_partitions(partitions);
    share_group_heartbeat_response::Assignment::default().with_topic_partitions(topics.into_iter().map(topic).collect())
}
