//! What can go wrong with a share group.

use daybook_command::{ProposeError, ShareRefusal};
use daybook_read::ReadError;
use daybook_types::GroupId;
use thiserror::Error;

use crate::core::{AckError, HeartbeatError, SessionError};

#[derive(Debug, Error)]
pub enum ShareError {
    #[error("a group needs a name")]
    InvalidGroupId,
    #[error(transparent)]
    Heartbeat(#[from] HeartbeatError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Acknowledge(#[from] AckError),
    #[error("share group {group} does not exist")]
    UnknownGroup { group: GroupId },
    #[error("the group has members")]
    NotEmpty,
    #[error("the partition does not exist")]
    UnknownPartition,
    #[error("as many groups or share-partitions as there may be; try again later")]
    Full,
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Propose(#[from] ProposeError),
    #[error(transparent)]
    Refused(#[from] ShareRefusal),
    #[error("another state of the share-partition came into force meanwhile; try again")]
    Fenced,
    #[error("a task ended without a result; it is a fault of the server")]
    Lost,
}
