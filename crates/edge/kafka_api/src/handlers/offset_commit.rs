//! OffsetCommit: a group keeps how far it has come.

use daybook_command::{Command, CommitOffsets, OffsetToCommit};
use daybook_group_coordinator::{CommitPermit, Generation, InstanceId, MemberClaim, MemberId};
use daybook_types::{GroupId, Offset, PartitionId};

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::topic_ref::TopicRef;
use crate::wire::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use crate::wire::messages::offset_commit_response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use crate::wire::messages::{OffsetCommitRequest, OffsetCommitResponse, TopicName};

/// Partitions of a request, by topic, each with what becomes of it.
type Outcomes = Vec<(TopicName, Vec<(i32, Option<ErrorCode>)>)>;

/// From here on members of consumer groups may commit (KIP-848).
const EPOCHS_FROM: i16 = 9;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: OffsetCommitRequest) -> OffsetCommitResponse {
    let group = GroupId::new(&request.group_id.0);
    let claim = MemberClaim {
        member: MemberId::new(&request.member_id),
        instance: request.group_instance_id.as_deref().map(InstanceId::new),
        generation: Generation(request.generation_id_or_member_epoch),
    };
    let permit = broker.coordinator.check_commit(&group, &claim, caller.version >= EPOCHS_FROM);
    let (mut outcomes, offsets) = sort(broker, &permit.map_err(error_code::of_group), request.topics);
    let error = if offsets.is_empty() { None } else { commit(broker, group, offsets).await.err() };
    for (_, partitions) in &mut outcomes {
        for (_, outcome) in partitions {
            *outcome = outcome.or(error);
        }
    }
    OffsetCommitResponse::default().with_topics(outcomes.into_iter().map(response).collect())
}

/// Tells what can't be committed from what can.
fn sort(
    broker: &Broker,
    permit: &Result<CommitPermit, ErrorCode>,
    topics: Vec<OffsetCommitRequestTopic>,
) -> (Outcomes, Vec<OffsetToCommit>) {
    let catalog = broker.reader.catalog();
    let mut offsets = Vec::new();
    let mut outcomes = Vec::with_capacity(topics.len());
    for asked in topics {
        let topic = TopicRef::Name(asked.name.0.clone()).find(&catalog);
        let mut partitions = Vec::with_capacity(asked.partitions.len());
        for partition in asked.partitions {
            let index = partition.partition_index;
            let id = topic.and_then(|topic| topic.partition(index).ok_or(ErrorCode::UnknownTopicOrPartition));
            let checked = id.and_then(|id| check(broker, permit, id, partition));
            partitions.push((index, checked.as_ref().err().copied()));
            offsets.extend(checked.ok());
        }
        outcomes.push((asked.name, partitions));
    }
    (outcomes, offsets)
}

fn check(
    broker: &Broker,
    permit: &Result<CommitPermit, ErrorCode>,
    id: PartitionId,
    partition: OffsetCommitRequestPartition,
) -> Result<OffsetToCommit, ErrorCode> {
    let metadata = partition.committed_metadata.unwrap_or_default();
    if metadata.len() > broker.options.offset_metadata_bytes_max {
        return Err(ErrorCode::OffsetMetadataTooLarge);
    }
    permit.as_ref().map_err(|error| *error)?.check(id).map_err(error_code::of_group)?;
    Ok(OffsetToCommit {
        partition: id,
        offset: Offset(partition.committed_offset),
        leader_epoch: partition.committed_leader_epoch,
        metadata: metadata.to_string(),
    })
}

async fn commit(broker: &Broker, group: GroupId, offsets: Vec<OffsetToCommit>) -> Result<(), ErrorCode> {
    let protocol_type = match broker.coordinator.listed(&group) {
        Ok(Some(listed)) => listed.protocol_type.to_string(),
        _ => String::new(),
    };
    let command = Command::CommitOffsets(CommitOffsets { group, protocol_type, offsets });
    broker.apply(command).await.map(drop).map_err(|error| error_code::of_propose_to_coordinator(&error))
}

fn response((name, partitions): (TopicName, Vec<(i32, Option<ErrorCode>)>)) -> OffsetCommitResponseTopic {
    let partition = |(index, error)| {
        OffsetCommitResponsePartition::default().with_partition_index(index).with_error_code(error_code::code(error))
    };
    OffsetCommitResponseTopic::default()
        .with_name(name)
        .with_partitions(partitions.into_iter().map(partition).collect())
}
