//! Kafka's error codes, made here from every error that a request can meet.
//!
//! What the codes make clients do is Kafka's contract: a retriable one makes them try again, perhaps after asking for
//! metadata; any other is the application's.

use daybook_command::{
    AppendRefusal, GroupRefusal, ProposeError, ShareRefusal, TopicRefusal, TransactionRefusal, TrimRefusal,
};
use daybook_group_coordinator::GroupError;
use daybook_read::ReadError;
use daybook_record::BatchError;
use daybook_share_coordinator::ShareError;
use daybook_share_coordinator::core::{AckError, HeartbeatError, SessionError};
use daybook_types::{FaultKind, LeaderEpoch};

pub(crate) use crate::wire::ResponseError as ErrorCode;

/// A write to a partition or to the catalog.
pub(crate) fn of_propose(error: &ProposeError) -> ErrorCode {
    match error {
        // All retriable: the client asks for metadata and comes back, here or at whoever can write then.
        ProposeError::Closed | ProposeError::NotLeader => ErrorCode::NotLeaderOrFollower,
        ProposeError::Poisoned { .. } => ErrorCode::KafkaStorageError,
        // It may have happened; only an idempotent producer can ask again without risk, and this code lets it.
        ProposeError::Unknown => ErrorCode::RequestTimedOut,
    }
}

/// A change to topics, which clients send to whom they think is the controller.
pub(crate) fn of_propose_to_controller(error: &ProposeError) -> ErrorCode {
    match error {
        ProposeError::Closed | ProposeError::NotLeader => ErrorCode::NotController,
        other => of_propose(other),
    }
}

/// A write for a group, which clients send to its coordinator.
pub(crate) fn of_propose_to_coordinator(error: &ProposeError) -> ErrorCode {
    match error {
        ProposeError::Closed | ProposeError::Poisoned { .. } => ErrorCode::CoordinatorNotAvailable,
        ProposeError::NotLeader => ErrorCode::NotCoordinator,
        ProposeError::Unknown => ErrorCode::RequestTimedOut,
    }
}

pub(crate) fn of_append(refusal: &AppendRefusal) -> ErrorCode {
    match refusal {
        AppendRefusal::UnknownPartition { .. } => ErrorCode::UnknownTopicOrPartition,
        AppendRefusal::DamagedBatch => ErrorCode::CorruptMessage,
        // Not PRODUCER_FENCED, which is fatal: an idempotent producer takes a new epoch and goes on (KIP-360).
        AppendRefusal::ProducerFenced { .. } => ErrorCode::InvalidProducerEpoch,
        AppendRefusal::OutOfOrderSequence { .. } => ErrorCode::OutOfOrderSequenceNumber,
        AppendRefusal::WrongVersion { .. } => ErrorCode::InvalidRecord,
        // Over in a moment; clients retry it.
        AppendRefusal::Indexing { .. } => ErrorCode::NotLeaderOrFollower,
        AppendRefusal::NotTransactional => ErrorCode::InvalidTxnState,
        // As with a producer that has no transactions: what it does about it depends on the API that it asks next.
        AppendRefusal::Transaction(TransactionRefusal::Fenced { .. }) => ErrorCode::InvalidProducerEpoch,
        AppendRefusal::Transaction(refusal) => of_transaction(refusal),
    }
}

/// A step of a transaction. Requests of versions that don't know a code turn it into an older one themselves.
pub(crate) fn of_transaction(refusal: &TransactionRefusal) -> ErrorCode {
    match refusal {
        TransactionRefusal::UnknownId { .. } | TransactionRefusal::OtherProducer { .. } => {
            ErrorCode::InvalidProducerIdMapping
        }
        TransactionRefusal::Fenced { .. } => ErrorCode::ProducerFenced,
        TransactionRefusal::InvalidState { .. } => ErrorCode::InvalidTxnState,
        TransactionRefusal::PartitionNotAdded { .. } | TransactionRefusal::GroupNotAdded { .. } => {
            ErrorCode::TransactionAbortable
        }
        TransactionRefusal::UnknownPartition { .. } => ErrorCode::UnknownTopicOrPartition,
        // Ends the transaction, not the producer.
        TransactionRefusal::EventTopic { .. } => ErrorCode::InvalidRecord,
        TransactionRefusal::NoTransactionalId => ErrorCode::TransactionalIdAuthorizationFailed,
        // Retriable: ids are forgotten in time.
        TransactionRefusal::TooManyIds { .. } => ErrorCode::CoordinatorNotAvailable,
        TransactionRefusal::TooManyGroups { .. } => ErrorCode::InvalidRequest,
    }
}

/// A batch as a client sent it.
pub(crate) fn of_batch(error: &BatchError) -> ErrorCode {
    match error {
        BatchError::Crc { .. } | BatchError::Truncated { .. } | BatchError::Length { .. } => ErrorCode::CorruptMessage,
        BatchError::Magic { .. } => ErrorCode::InvalidRecord,
        BatchError::UnknownCompression { .. } => ErrorCode::UnsupportedCompressionType,
        BatchError::Timestamp { .. } => ErrorCode::InvalidTimestamp,
        BatchError::TooLarge { .. } => ErrorCode::MessageTooLarge,
        BatchError::Undecodable { .. } => ErrorCode::CorruptMessage,
        BatchError::Trailing { .. }
        | BatchError::RecordCount { .. }
        | BatchError::Sequence { .. }
        | BatchError::Control
        | BatchError::Record { .. }
        | BatchError::Empty
        | BatchError::Oversized { .. } => ErrorCode::InvalidRecord,
    }
}

pub(crate) fn of_topic(refusal: &TopicRefusal) -> ErrorCode {
    match refusal {
        TopicRefusal::Exists { .. } => ErrorCode::TopicAlreadyExists,
        TopicRefusal::Unknown { .. } => ErrorCode::UnknownTopicOrPartition,
        TopicRefusal::NotMorePartitions { .. } => ErrorCode::InvalidPartitions,
        TopicRefusal::OpenTransaction { .. } => ErrorCode::InvalidConfig,
    }
}

pub(crate) fn of_trim(refusal: &TrimRefusal) -> ErrorCode {
    match refusal {
        TrimRefusal::UnknownPartition { .. } => ErrorCode::UnknownTopicOrPartition,
        TrimRefusal::Policy { .. } => ErrorCode::PolicyViolation,
        TrimRefusal::OutOfRange { .. } => ErrorCode::OffsetOutOfRange,
    }
}

pub(crate) fn of_group_refusal(refusal: &GroupRefusal) -> ErrorCode {
    match refusal {
        GroupRefusal::Unknown { .. } => ErrorCode::GroupIdNotFound,
    }
}

pub(crate) fn of_group(error: GroupError) -> ErrorCode {
    match error {
        GroupError::InvalidGroupId => ErrorCode::InvalidGroupId,
        GroupError::InvalidSessionTimeout => ErrorCode::InvalidSessionTimeout,
        GroupError::MemberIdRequired => ErrorCode::MemberIdRequired,
        GroupError::UnknownMemberId => ErrorCode::UnknownMemberId,
        GroupError::IllegalGeneration => ErrorCode::IllegalGeneration,
        GroupError::RebalanceInProgress => ErrorCode::RebalanceInProgress,
        GroupError::FencedInstanceId => ErrorCode::FencedInstanceId,
        GroupError::InconsistentGroupProtocol => ErrorCode::InconsistentGroupProtocol,
        GroupError::GroupMaxSizeReached => ErrorCode::GroupMaxSizeReached,
        GroupError::GroupTooLarge => ErrorCode::UnknownServerError,
        GroupError::NonEmptyGroup => ErrorCode::NonEmptyGroup,
        GroupError::CoordinatorNotAvailable => ErrorCode::CoordinatorNotAvailable,
        GroupError::NotConsumerGroup => ErrorCode::GroupIdNotFound,
        GroupError::FencedMemberEpoch => ErrorCode::FencedMemberEpoch,
        GroupError::StaleMemberEpoch => ErrorCode::StaleMemberEpoch,
        GroupError::UnreleasedInstanceId => ErrorCode::UnreleasedInstanceId,
        GroupError::UnsupportedAssignor => ErrorCode::UnsupportedAssignor,
        GroupError::InvalidRegex => ErrorCode::InvalidRegularExpression,
        GroupError::UnsupportedVersion => ErrorCode::UnsupportedVersion,
        GroupError::InvalidRequest { .. } => ErrorCode::InvalidRequest,
    }
}

pub(crate) fn of_share(error: &ShareError) -> ErrorCode {
    match error {
        ShareError::InvalidGroupId => ErrorCode::InvalidGroupId,
        ShareError::Heartbeat(error) => match error {
            HeartbeatError::UnknownMember => ErrorCode::UnknownMemberId,
            HeartbeatError::FencedEpoch => ErrorCode::FencedMemberEpoch,
            HeartbeatError::GroupFull => ErrorCode::GroupMaxSizeReached,
            HeartbeatError::NoTopics => ErrorCode::InvalidRequest,
        },
        ShareError::Session(error) => match error {
            SessionError::NotFound => ErrorCode::ShareSessionNotFound,
            SessionError::WrongEpoch => ErrorCode::InvalidShareSessionEpoch,
            SessionError::LimitReached => ErrorCode::ShareSessionLimitReached,
            SessionError::Invalid => ErrorCode::InvalidRequest,
        },
        ShareError::Acknowledge(error) => match error {
            AckError::Malformed | AckError::PastTheEnd => ErrorCode::InvalidRequest,
            AckError::NotHeld => ErrorCode::InvalidRecordState,
        },
        ShareError::UnknownGroup { .. } => ErrorCode::GroupIdNotFound,
        ShareError::NotEmpty => ErrorCode::NonEmptyGroup,
        ShareError::UnknownPartition => ErrorCode::UnknownTopicOrPartition,
        ShareError::Full => ErrorCode::CoordinatorNotAvailable,
        ShareError::Read(error) => of_read(error),
        ShareError::Propose(error) => of_propose_to_coordinator(error),
        ShareError::Refused(ShareRefusal::UnknownPartition { .. }) => ErrorCode::UnknownTopicOrPartition,
        ShareError::Refused(ShareRefusal::UnknownGroup { .. }) => ErrorCode::GroupIdNotFound,
        ShareError::Refused(_) | ShareError::Fenced => ErrorCode::FencedStateEpoch,
        ShareError::Lost => ErrorCode::UnknownServerError,
    }
}

/// A partition that one request names twice.
pub(crate) fn repeated_share() -> ShareError {
    ShareError::Acknowledge(AckError::Malformed)
}

pub(crate) fn of_read(error: &ReadError) -> ErrorCode {
    match error {
        ReadError::UnknownPartition { .. } => ErrorCode::UnknownTopicOrPartition,
        ReadError::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
        // What Kafka tells a consumer whose records are there and can't be trusted: it stops instead of asking again.
        damaged if damaged.kind() == FaultKind::Corrupt => ErrorCode::CorruptMessage,
        ReadError::Segment(_) | ReadError::Disk(_) | ReadError::Batch(_) => ErrorCode::KafkaStorageError,
    }
}

/// The number that goes into an answer; 0 where nothing went wrong. Every error told to a client is counted here.
pub(crate) fn code(outcome: Option<ErrorCode>) -> i16 {
    outcome.map_or(0, |error| {
        metrics::counter!("daybook_kafka_errors_total", "code" => error.to_string()).increment(1);
        error.code()
    })
}

/// Kafka's check of the leader epoch that a consumer believes in (KIP-320); -1 is unchecked.
pub(crate) fn check_leader_epoch(asked: i32, current: LeaderEpoch) -> Result<(), ErrorCode> {
    match asked {
        -1 => Ok(()),
        _ if asked < current.0 => Err(ErrorCode::FencedLeaderEpoch),
        _ if asked > current.0 => Err(ErrorCode::UnknownLeaderEpoch),
        _ => Ok(()),
    }
}

/// Whether a client that gets this error is told who leads the partition (KIP-951).
pub(crate) fn asks_for_leader(error: ErrorCode) -> bool {
    matches!(error, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch)
}

#[cfg(test)]
mod tests;
