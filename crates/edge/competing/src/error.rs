//! Why a subscription can't be made, changed, joined.

use daybook_event_store::{AppendError, ProposeError, ReadError};
use daybook_types::FaultKind;
use thiserror::Error;

use crate::definition::{Invalid, SLOTS_MAX, SubscriptionName};

#[derive(Debug, Error)]
pub enum ManageError {
    #[error("the subscription {0} exists")]
    Exists(SubscriptionName),
    #[error("there is no subscription {0}")]
    Unknown(SubscriptionName),
    #[error("there are {max} subscriptions, as many as there may be; delete one")]
    TooMany { max: usize },
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Propose(#[from] ProposeError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error("the subscription is closing; try again")]
    Closed,
}

impl ManageError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Exists(_) | Self::Unknown(_) | Self::TooMany { .. } | Self::Invalid(_) => FaultKind::Reject,
            Self::Read(error) => error.kind(),
            Self::Propose(_) | Self::Append(_) => FaultKind::RetryLater,
            Self::Closed => FaultKind::Closed,
        }
    }
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum JoinError {
    #[error("there is no subscription {0}")]
    Unknown(SubscriptionName),
    #[error("the subscription {0} has as many consumers as it may")]
    Full(SubscriptionName),
    #[error("a consumer holds between 1 and {SLOTS_MAX} events, not {slots}")]
    Slots { slots: usize },
    #[error("the subscription is closing; try again")]
    Closed,
}

/// Why a consumer gets nothing any more.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Ended {
    /// The subscription was changed, deleted or restarted, or the consumer asked to be stopped.
    #[error("the consumer was dropped from its subscription")]
    Dropped,
    #[error("the server is closing")]
    Closed,
}
