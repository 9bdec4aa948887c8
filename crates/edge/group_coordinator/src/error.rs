//! What a group answers instead of what was asked. One kind for each of Kafka's error codes that a group can give; the door
//! makes the numbers.

use daybook_types::FaultKind;
use thiserror::Error;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Hash)]
pub enum GroupError {
    #[error("the group id is empty")]
    InvalidGroupId,
    #[error("the session timeout is outside the limits that the server allows")]
    InvalidSessionTimeout,
    /// Not a failure: the refusal carries the id with which to ask again (KIP-394).
    #[error("join again with the member id given here")]
    MemberIdRequired,
    #[error("the group has no such member")]
    UnknownMemberId,
    #[error("the group is in another generation")]
    IllegalGeneration,
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    #[error("another member has taken over this instance id")]
    FencedInstanceId,
    #[error("the member shares no protocol with the group, or is of another protocol type")]
    InconsistentGroupProtocol,
    #[error("the group has as many members as it may")]
    GroupMaxSizeReached,
    /// What members said about themselves, or were assigned, is more than the server keeps; Kafka answers UNKNOWN_SERVER_ERROR
    /// where the group no longer fits a record.
    #[error("the group's members describe themselves in more bytes than the server keeps for a group")]
    GroupTooLarge,
    #[error("the group has members")]
    NonEmptyGroup,
    /// The coordinator is shutting down, or it holds as many groups, or as many bytes of all groups, as it may.
    #[error("the coordinator can't take this now")]
    CoordinatorNotAvailable,
    #[error("the group is not a consumer group, and can't become one while it has the members it has")]
    NotConsumerGroup,
    #[error("the member's epoch is not the one the group knows; give up all partitions and join again with epoch 0")]
    FencedMemberEpoch,
    #[error("the member's epoch is not its current one; take the next heartbeat's and try again")]
    StaleMemberEpoch,
    #[error("another member has this instance id and has not left")]
    UnreleasedInstanceId,
    #[error("the server assignor is unknown; there are: uniform, range")]
    UnsupportedAssignor,
    #[error("SubscribedTopicRegex is not a valid regular expression of RE2's syntax, or a too large one")]
    InvalidRegex,
    #[error("members of consumer groups commit with OffsetCommit version 9 or later")]
    UnsupportedVersion,
    #[error("{reason}")]
    InvalidRequest { reason: &'static str },
}

impl GroupError {
    pub fn kind(self) -> FaultKind {
        match self {
            Self::InvalidGroupId
            | Self::InvalidSessionTimeout
            | Self::InconsistentGroupProtocol
            | Self::GroupMaxSizeReached
            | Self::GroupTooLarge
            | Self::NonEmptyGroup
            | Self::NotConsumerGroup
            | Self::UnreleasedInstanceId
            | Self::UnsupportedAssignor
            | Self::InvalidRegex
            | Self::UnsupportedVersion
            | Self::InvalidRequest { .. } => FaultKind::Reject,
            Self::FencedInstanceId
            | Self::UnknownMemberId
            | Self::IllegalGeneration
            | Self::FencedMemberEpoch
            | Self::StaleMemberEpoch => FaultKind::Fenced,
            Self::MemberIdRequired | Self::RebalanceInProgress | Self::CoordinatorNotAvailable => FaultKind::RetryLater,
        }
    }
}
