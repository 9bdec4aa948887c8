//! Why a connection ended.

use std::io;

use thiserror::Error;

use crate::error_code::ErrorCode;
use crate::frame::FrameError;
use crate::frame_reader::ReadFrameError;
use crate::handlers::RequestError;
use crate::wire::EncodeError;

#[derive(Debug, Error)]
pub(crate) enum End {
    #[error("the peer closed it")]
    PeerClosed,
    #[error("this node is stopping")]
    Stopping,
    #[error("its address opens connections faster than its quota allows")]
    TooManyConnections,
    #[error("nothing was asked for too long")]
    Idle,
    #[error("a request was begun and not finished in time")]
    SlowRequest,
    #[error("can't read from the peer: {0}")]
    Read(io::Error),
    #[error("can't write to the peer: {0}")]
    Write(io::Error),
    #[error(transparent)]
    Frame(FrameError),
    #[error(transparent)]
    Encode(EncodeError),
    /// The only way to tell a producer that asked for no answers.
    #[error("a produce request without acknowledgement failed: {0}")]
    Unacknowledged(ErrorCode),
}

impl End {
    pub fn is_fault_of_ours(&self) -> bool {
        match self {
            Self::Encode(_) => true,
            // A file that is shorter than what was promised of it.
            Self::Write(error) => error.kind() == io::ErrorKind::UnexpectedEof,
            _ => false,
        }
    }

    /// Whether an operator wants to know: the peer isn't just gone.
    pub fn is_worth_a_line(&self) -> bool {
        match self {
            Self::PeerClosed | Self::Stopping | Self::TooManyConnections | Self::Idle | Self::Read(_) => false,
            Self::Write(error) => error.kind() == io::ErrorKind::TimedOut,
            Self::SlowRequest | Self::Frame(_) | Self::Encode(_) | Self::Unacknowledged(_) => true,
        }
    }
}

impl From<FrameError> for End {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

impl From<ReadFrameError> for End {
    fn from(error: ReadFrameError) -> Self {
        match error {
            ReadFrameError::Frame(error) => Self::Frame(error),
            ReadFrameError::Io(error) => Self::Read(error),
        }
    }
}

impl From<RequestError> for End {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Frame(error) => Self::Frame(error),
            RequestError::Encode(error) => Self::Encode(error),
        }
    }
}
