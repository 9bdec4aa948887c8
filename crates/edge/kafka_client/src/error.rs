//! What can go wrong with a connection, and with an operation on a cluster.

use std::fmt;
use std::sync::Arc;

use crate::wire::ResponseError;
use daybook_types::{FaultKind, PartitionIndex};
use thiserror::Error;

/// A Kafka error code, shown by its name in Kafka's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KafkaCode(pub i16);

impl KafkaCode {
    pub const NONE: Self = Self(0);
    pub const OFFSET_OUT_OF_RANGE: Self = Self(1);
    pub const UNKNOWN_TOPIC_OR_PARTITION: Self = Self(3);
    pub const NOT_LEADER_OR_FOLLOWER: Self = Self(6);
    pub const UNSUPPORTED_VERSION: Self = Self(35);
    pub const TOPIC_ALREADY_EXISTS: Self = Self(36);
    pub const DUPLICATE_SEQUENCE_NUMBER: Self = Self(46);
    pub const GROUP_ID_NOT_FOUND: Self = Self(69);

    /// `Ok` for code 0.
    pub(crate) fn check(code: i16) -> Result<(), Self> {
        if code == 0 { Ok(()) } else { Err(Self(code)) }
    }

    /// Whether Kafka says the same request may succeed later.
    pub fn is_retriable(self) -> bool {
        ResponseError::try_from_code(self.0).is_some_and(|error| error.is_retriable())
    }

    fn kind(self) -> FaultKind {
        match self.0 {
            // NOT_LEADER_OR_FOLLOWER, NOT_COORDINATOR, NOT_CONTROLLER.
            6 | 16 | 41 => FaultKind::Redirect,
            // INVALID_PRODUCER_EPOCH, PRODUCER_FENCED, FENCED_LEADER_EPOCH.
            47 | 90 | 74 => FaultKind::Fenced,
            _ if self.is_retriable() => FaultKind::RetryLater,
            _ => FaultKind::Reject,
        }
    }
}

impl fmt::Display for KafkaCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match ResponseError::try_from_code(self.0) {
            None => return f.write_str("NONE"),
            Some(ResponseError::Unknown(code)) => return write!(f, "error code {code}"),
            Some(error) => error.to_string(),
        };
        for (at, c) in name.chars().enumerate() {
            if at > 0 && c.is_ascii_uppercase() {
                f.write_str("_")?;
            }
            write!(f, "{}", c.to_ascii_uppercase())?;
        }
        Ok(())
    }
}

/// A connection failed. After any of these but `Unsupported` it is of no further use.
#[derive(Debug, Error)]
pub enum WireError {
    #[error("cannot connect to {address}: {source}")]
    Connect { address: Arc<str>, source: std::io::Error },
    #[error("no connection to {address} within {timeout_ms} ms")]
    ConnectTimeout { address: Arc<str>, timeout_ms: u64 },
    #[error("writing to {address}: {source}")]
    Write { address: Arc<str>, source: std::io::Error },
    #[error("reading from {address}: {source}")]
    Read { address: Arc<str>, source: std::io::Error },
    #[error("{address} closed the connection")]
    Closed { address: Arc<str> },
    #[error("no answer from {address} within {timeout_ms} ms")]
    AnswerTimeout { address: Arc<str>, timeout_ms: u64 },
    #[error("{address} sent a frame of {length} bytes, of which at most {max} are taken: is it a Kafka listener?")]
    FrameLength { address: Arc<str>, length: i64, max: usize },
    #[error("{address} answered request {got} where {expected} was next")]
    Correlation { address: Arc<str>, got: i32, expected: i32 },
    #[error("{address} and this client share no version of {api} (it has {theirs:?}, we {ours:?})")]
    Unsupported { address: Arc<str>, api: &'static str, theirs: Option<(i16, i16)>, ours: (i16, i16) },
    #[error("{address} refused the negotiation of versions: {code}")]
    Negotiation { address: Arc<str>, code: KafkaCode },
    #[error("the answer of {address} to {api} version {version} cannot be decoded: {reason}")]
    Malformed { address: Arc<str>, api: &'static str, version: i16, reason: String },
    #[error("a request {api} version {version} cannot be encoded: {reason}")]
    Encode { api: &'static str, version: i16, reason: String },
}

impl WireError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Connect { .. }
            | Self::ConnectTimeout { .. }
            | Self::Write { .. }
            | Self::Read { .. }
            | Self::Closed { .. }
            | Self::AnswerTimeout { .. } => FaultKind::RetryLater,
            Self::FrameLength { .. } | Self::Correlation { .. } | Self::Malformed { .. } => FaultKind::Corrupt,
            Self::Unsupported { .. } | Self::Negotiation { .. } | Self::Encode { .. } => FaultKind::Reject,
        }
    }
}

/// An operation on a cluster failed.
#[derive(Debug, Error)]
pub enum ClientError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("{address:?} is no address: HOST:PORT is expected")]
    Address { address: String },
    #[error("none of the brokers {addresses} could be reached: {last}")]
    NoBroker { addresses: String, last: WireError },
    #[error("topic {topic}: {code}{}", because(.message))]
    Topic { topic: String, code: KafkaCode, message: Option<String> },
    #[error("partition {partition} of topic {topic}: {code}{}", because(.message))]
    Partition { topic: String, partition: PartitionIndex, code: KafkaCode, message: Option<String> },
    #[error("topic {topic} has no partition {partition}, it has {count}")]
    NoPartition { topic: String, partition: PartitionIndex, count: usize },
    #[error("partition {partition} of topic {topic} has no leader")]
    NoLeader { topic: String, partition: PartitionIndex },
    #[error("group {group}: {code}{}", because(.message))]
    Group { group: String, code: KafkaCode, message: Option<String> },
    #[error("{api}: {code}")]
    Request { api: &'static str, code: KafkaCode },
    #[error("the answer to {api} leaves out {what}")]
    Incomplete { api: &'static str, what: String },
}

fn because(message: &Option<String>) -> String {
    message.as_ref().filter(|text| !text.is_empty()).map(|text| format!(" ({text})")).unwrap_or_default()
}

impl ClientError {
    /// The broker's code, if a broker's answer is the reason.
    pub fn code(&self) -> Option<KafkaCode> {
        match self {
            Self::Topic { code, .. }
            | Self::Partition { code, .. }
            | Self::Group { code, .. }
            | Self::Request { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the same request may succeed later, or at another broker.
    pub fn may_pass(&self) -> bool {
        matches!(self.kind(), FaultKind::RetryLater | FaultKind::Redirect)
    }

    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Wire(error) => error.kind(),
            Self::NoBroker { .. } | Self::NoLeader { .. } => FaultKind::RetryLater,
            Self::Address { .. } | Self::NoPartition { .. } => FaultKind::Reject,
            Self::Incomplete { .. } => FaultKind::Corrupt,
            Self::Topic { code, .. }
            | Self::Partition { code, .. }
            | Self::Group { code, .. }
            | Self::Request { code, .. } => code.kind(),
        }
    }
}
