//! TxnOffsetCommit: how far a group has come, once the transaction is committed (KIP-98, KIP-447).

use daybook_command::{Command, CommitOffsets, CommitOffsetsInTransaction, OffsetToCommit, Outcome};
use daybook_group_coordinator::{Generation, InstanceId, MemberClaim, MemberId};
use daybook_types::{GroupId, Offset};

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::transactional;
use crate::topic_ref::TopicRef;
use crate::wire::messages::txn_offset_commit_request::TxnOffsetCommitRequestTopic;
use crate::wire::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use crate::wire::messages::{TopicName, TxnOffsetCommitRequest, TxnOffsetCommitResponse};

/// From this version on the commit adds its group to the transaction (KIP-890).
const JOINS_FROM: i16 = 5;
/// From this version on TRANSACTION_ABORTABLE is known.
const ABORTABLE_FROM: i16 = 4;

/// Partitions of a request, by topic, each with what becomes of it.
type Outcomes = Vec<(TopicName, Vec<(i32, Option<ErrorCode>)>)>;

pub(super) async fn handle(
    broker: &Broker,
    caller: &Caller,
    request: TxnOffsetCommitRequest,
) -> TxnOffsetCommitResponse {
    let group = GroupId::new(&request.group_id.0);
    let claim = MemberClaim {
        member: MemberId::new(&request.member_id),
        instance: request.group_instance_id.as_deref().map(InstanceId::new),
        generation: Generation(request.generation_id),
    };
    let (mut outcomes, offsets) = sort(broker, request.topics);
    let error = if offsets.is_empty() {
        None
    } else {
        let protocol_type = match broker.coordinator.listed(&group) {
            Ok(Some(listed)) => listed.protocol_type.to_string(),
            _ => String::new(),
        };
        let command = CommitOffsetsInTransaction {
            producer: transactional::producer(&request.transactional_id, request.producer_id, request.producer_epoch),
            joins: caller.version >= JOINS_FROM,
            commit: CommitOffsets { group, protocol_type, offsets },
        };
        commit(broker, caller.version, &claim, command).await.err()
    };
    for (_, partitions) in &mut outcomes {
        for (_, outcome) in partitions {
            *outcome = outcome.or(error);
        }
    }
    TxnOffsetCommitResponse::default().with_topics(outcomes.into_iter().map(response).collect())
}

async fn commit(
    broker: &Broker,
    version: i16,
    claim: &MemberClaim,
    command: CommitOffsetsInTransaction,
) -> Result<(), ErrorCode> {
    let group = &command.commit.group;
    broker.coordinator.check_transactional_commit(group, claim).map_err(error_code::of_group)?;
    let told = |outcome| match outcome {
        Outcome::CommitOffsetsInTransaction(result) => Some(result),
        _ => None,
    };
    let result = transactional::apply(broker, Command::CommitOffsetsInTransaction(command), told).await;
    result.map_err(|error| match error {
        // What the group's log tells of a fenced producer, in Kafka.
        ErrorCode::ProducerFenced => ErrorCode::InvalidProducerEpoch,
        ErrorCode::TransactionAbortable if version < ABORTABLE_FROM => ErrorCode::InvalidTxnState,
        error => error,
    })
}

/// Tells what can't be committed from what can.
fn sort(broker: &Broker, topics: Vec<TxnOffsetCommitRequestTopic>) -> (Outcomes, Vec<OffsetToCommit>) {
    let catalog = broker.reader.catalog();
    let mut offsets = Vec::new();
    let mut outcomes = Vec::with_capacity(topics.len());
    for asked in topics {
        let topic = TopicRef::Name(asked.name.0.clone()).find(&catalog);
        let mut partitions = Vec::with_capacity(asked.partitions.len());
        for partition in asked.partitions {
            let index = partition.partition_index;
            let metadata = partition.committed_metadata.unwrap_or_default();
            let id = topic.and_then(|topic| topic.partition(index).ok_or(ErrorCode::UnknownTopicOrPartition));
            let error = match id {
                Err(error) => Some(error),
                Ok(_) if metadata.len() > broker.options.offset_metadata_bytes_max => {
                    Some(ErrorCode::OffsetMetadataTooLarge)
                }
                Ok(partition_id) => {
                    offsets.push(OffsetToCommit {
                        partition: partition_id,
                        offset: Offset(partition.committed_offset),
                        leader_epoch: partition.committed_leader_epoch,
                        metadata: metadata.to_string(),
                    });
                    None
                }
            };
            partitions.push((index, error));
        }
        outcomes.push((asked.name, partitions));
    }
    (outcomes, offsets)
}

fn response((name, partitions): (TopicName, Vec<(i32, Option<ErrorCode>)>)) -> TxnOffsetCommitResponseTopic {
    let partition = |(index, error)| {
        TxnOffsetCommitResponsePartition::default().with_partition_index(index).with_error_code(error_code::code(error))
    };
    TxnOffsetCommitResponseTopic::default()
        .with_name(name)
        .with_partitions(partitions.into_iter().map(partition).collect())
}
