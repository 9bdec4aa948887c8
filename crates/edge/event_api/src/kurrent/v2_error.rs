//! Which error of the second protocol says what.

use daybook_event_store::{AppendError, ProposeError};
use tonic::{Code, Status};

use super::rich_error::{self, Detail};
use crate::proto::kurrent::rpc::ServerError;
use crate::proto::kurrentdb::protocol::v2::streams::errors::{
    AppendConsistencyViolationErrorDetails, AppendRecordSizeExceededErrorDetails,
    AppendTransactionSizeExceededErrorDetails, ConsistencyViolation, StreamAlreadyInAppendSessionErrorDetails,
    StreamRevisionConflictErrorDetails, StreamTombstonedErrorDetails, StreamsError, consistency_violation,
};

const STREAMS_DOMAIN: &str = "streams";
const SERVER_DOMAIN: &str = "server";
/// What the names of the errors begin with, and their reasons leave out.
const STREAMS_PREFIX: &str = "STREAMS_ERROR_";
const SERVER_PREFIX: &str = "SERVER_ERROR_";
const DETAILS_PACKAGE: &str = "kurrentdb.protocol.v2.streams.errors";

pub(super) fn bad_request(field: &str, description: &str) -> Status {
    let message = format!("The request is invalid: {description}");
    server(Code::InvalidArgument, ServerError::BadRequest, message, Some(rich_error::bad_field(field, description)))
}

pub(super) fn no_requests() -> Status {
    let message = "the append session ended without a request; send one for each stream".to_owned();
    streams(Code::FailedPrecondition, StreamsError::AppendSessionNoRequests, message, None)
}

pub(super) fn stream_repeated(stream: &str) -> Status {
    let detail = StreamAlreadyInAppendSessionErrorDetails { stream: stream.to_owned() };
    let message = format!("stream '{stream}' stands twice in the session; send all its records in one request");
    let detail = detail_of("StreamAlreadyInAppendSessionErrorDetails", &detail);
    streams(Code::Aborted, StreamsError::StreamAlreadyInAppendSession, message, Some(detail))
}

pub(super) fn record_too_large(stream: &str, record_id: &str, bytes: usize, bytes_max: usize) -> Status {
    let detail = AppendRecordSizeExceededErrorDetails {
        stream: stream.to_owned(),
        record_id: record_id.to_owned(),
        size: short(bytes),
        max_size: short(bytes_max),
    };
    let message = format!("record {record_id} has {bytes} bytes, at most {bytes_max} are possible");
    let detail = detail_of("AppendRecordSizeExceededErrorDetails", &detail);
    streams(Code::InvalidArgument, StreamsError::AppendRecordSizeExceeded, message, Some(detail))
}

pub(super) fn append_too_large(bytes: usize, bytes_max: usize) -> Status {
    let detail = AppendTransactionSizeExceededErrorDetails { size: short(bytes), max_size: short(bytes_max) };
    let message = format!("the append has {bytes} bytes, at most {bytes_max} are possible; send it in parts");
    let detail = detail_of("AppendTransactionSizeExceededErrorDetails", &detail);
    streams(Code::Aborted, StreamsError::AppendTransactionSizeExceeded, message, Some(detail))
}

pub(super) fn tombstoned(stream: &str) -> Status {
    let detail = StreamTombstonedErrorDetails { stream: stream.to_owned() };
    let message = format!("Stream '{stream}' has been tombstoned: it was deleted for ever; write to another one.");
    let detail = detail_of("StreamTombstonedErrorDetails", &detail);
    streams(Code::FailedPrecondition, StreamsError::StreamTombstoned, message, Some(detail))
}

pub(super) fn revision_conflict(stream: &str, expected: i64, actual: i64) -> Status {
    let detail = StreamRevisionConflictErrorDetails {
        stream: stream.to_owned(),
        expected_revision: expected,
        actual_revision: actual,
    };
    let message = format!(
        "Append failed due to a revision conflict on stream '{stream}'. Expected revision: {expected}. Actual revision: {actual}."
    );
    let detail = detail_of("StreamRevisionConflictErrorDetails", &detail);
    streams(Code::FailedPrecondition, StreamsError::StreamRevisionConflict, message, Some(detail))
}

/// A check that failed: which one, of which stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) check: usize,
    pub(super) stream: String,
    pub(super) expected: i64,
    pub(super) actual: i64,
}

pub(super) fn violations(violations: &[Violation]) -> Status {
    let mut message = "Append failed due to consistency violations:".to_owned();
    let mut detail = AppendConsistencyViolationErrorDetails::default();
    for violation in violations {
        let Violation { check, stream, expected, actual } = violation;
        message.push_str(&format!("\n - stream '{stream}': expected state {expected}, actual state {actual}"));
        let state = consistency_violation::StreamStateViolation {
            stream: stream.clone(),
            expected_state: *expected,
            actual_state: *actual,
        };
        detail.violations.push(ConsistencyViolation {
            check_index: short(*check),
            r#type: Some(consistency_violation::Type::StreamState(state)),
        });
    }
    let detail = detail_of("AppendConsistencyViolationErrorDetails", &detail);
    streams(Code::FailedPrecondition, StreamsError::AppendConsistencyViolation, message, Some(detail))
}

/// Of an append, but for what streams are: a session and a transaction say that in words of their own.
pub(super) fn of_append(error: &AppendError) -> Status {
    match error {
        AppendError::TooLarge { bytes, bytes_max } => append_too_large(*bytes, *bytes_max),
        AppendError::RepeatedId { .. } | AppendError::PartlyRepeated { .. } => {
            bad_request("record_id", &error.to_string())
        }
        AppendError::RepeatedStream { .. } | AppendError::Empty | AppendError::Name(_) => {
            bad_request("stream", &error.to_string())
        }
        AppendError::Metadata { .. } | AppendError::ReservedHeader { .. } => bad_request("data", &error.to_string()),
        AppendError::NoEventTopic { .. } | AppendError::Indexing { .. } => not_ready(error.to_string()),
        AppendError::Propose(error) => of_propose(error),
        AppendError::Conflict(_) | AppendError::Tombstoned { .. } | AppendError::ConditionFailed { .. } => {
            malfunction(error.to_string())
        }
    }
}

pub(super) fn of_propose(error: &ProposeError) -> Status {
    let (code, kind) = match error {
        ProposeError::Closed => (Code::Unavailable, ServerError::ServerShuttingDown),
        ProposeError::Poisoned { .. } | ProposeError::NotLeader => (Code::Unavailable, ServerError::ServerNotReady),
        // Nobody knows whether it happened.
        ProposeError::Unknown => (Code::DeadlineExceeded, ServerError::OperationTimeout),
    };
    server(code, kind, error.to_string(), None)
}

pub(super) fn not_ready(message: String) -> Status {
    server(Code::Unavailable, ServerError::ServerNotReady, message, None)
}

pub(super) fn malfunction(message: String) -> Status {
    server(Code::Internal, ServerError::ServerMalfunction, message, None)
}

fn streams(code: Code, error: StreamsError, message: String, detail: Option<Detail>) -> Status {
    let name = error.as_str_name();
    rich_error::status(code, STREAMS_DOMAIN, name.strip_prefix(STREAMS_PREFIX).unwrap_or(name), message, detail)
}

fn server(code: Code, error: ServerError, message: String, detail: Option<Detail>) -> Status {
    let name = error.as_str_name();
    rich_error::status(code, SERVER_DOMAIN, name.strip_prefix(SERVER_PREFIX).unwrap_or(name), message, detail)
}

fn detail_of(name: &str, message: &impl prost::Message) -> Detail {
    Detail::new(&format!("{DETAILS_PACKAGE}.{name}"), message)
}

fn short(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
