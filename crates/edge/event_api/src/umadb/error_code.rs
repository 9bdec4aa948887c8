//! Errors as UmaDB's clients decode them: a status code, and an `ErrorResponse` in the status' details, which counts.

use bytes::Bytes;
use daybook_event_store::{AppendError, ProposeError, ReadError};
use daybook_types::FaultKind;
use prost::Message;
use tonic::{Code, Status};

use super::event::shown;
use crate::proto::umadb::v1::ErrorResponse;
use crate::proto::umadb::v1::error_response::ErrorType;

/// A condition or the order of a source's positions was not met: clients raise their integrity error.
pub(super) fn integrity(message: String) -> Status {
    status(Code::FailedPrecondition, ErrorType::Integrity, message)
}

pub(super) fn invalid_argument(message: String) -> Status {
    status(Code::InvalidArgument, ErrorType::InvalidArgument, message)
}

pub(super) fn of_append(error: AppendError) -> Status {
    match error {
        // The position as the client counts; the text of the error has the store's.
        AppendError::ConditionFailed { position } => integrity(format!(
            "an event at position {} matches the append's condition; read on from there and decide again",
            shown(position)
        )),
        AppendError::Conflict(_) | AppendError::Tombstoned { .. } | AppendError::PartlyRepeated { .. } => {
            integrity(error.to_string())
        }
        AppendError::RepeatedId { .. }
        | AppendError::RepeatedStream { .. }
        | AppendError::TooLarge { .. }
        | AppendError::NoEventTopic { .. }
        | AppendError::ReservedHeader { .. }
        | AppendError::Empty
        | AppendError::Name(_)
        | AppendError::Metadata { .. } => invalid_argument(error.to_string()),
        AppendError::Indexing { .. } => unavailable(error.to_string()),
        AppendError::Propose(ref cause) => match cause {
            // What was asked may have happened: that must not look like a failed transport, which clients repeat.
            ProposeError::Unknown | ProposeError::Poisoned { .. } => {
                status(Code::Internal, ErrorType::Io, error.to_string())
            }
            ProposeError::Closed | ProposeError::NotLeader => unavailable(error.to_string()),
        },
    }
}

pub(super) fn of_read(error: &ReadError) -> Status {
    match error.kind() {
        FaultKind::Corrupt => status(Code::DataLoss, ErrorType::Corruption, error.to_string()),
        FaultKind::Closed | FaultKind::Redirect | FaultKind::RetryLater => unavailable(error.to_string()),
        FaultKind::Reject | FaultKind::Fenced => status(Code::Internal, ErrorType::Internal, error.to_string()),
    }
}

/// Without details: only then do clients take it for their transport error, which says that a later try may succeed.
fn unavailable(message: String) -> Status {
    Status::unavailable(message)
}

fn status(code: Code, error_type: ErrorType, message: String) -> Status {
    let details = ErrorResponse { message: message.clone(), error_type: error_type.into() };
    Status::with_details(code, message, Bytes::from(details.encode_to_vec()))
}
