//! Errors of the first protocol: a status, a text and metadata, each as clients read them.
//!
//! Some clients find out what happened by the metadata's `exception`, some by the text: the shape of both is fixed.

use daybook_event_store::{AppendError, ProposeError, ReadError, StreamName};
use daybook_types::FaultKind;
use tonic::metadata::{Ascii, MetadataKey, MetadataMap, MetadataValue};
use tonic::{Code, Status};

const EXCEPTION: &str = "exception";

pub(crate) fn invalid(message: impl Into<String>) -> Status {
    Status::invalid_argument(message)
}

pub(crate) fn stream_deleted(stream: &StreamName) -> Status {
    exception(
        Code::FailedPrecondition,
        format!("Event stream '{stream}' is deleted."),
        "stream-deleted",
        &[("stream-name", stream.as_str())],
    )
}

/// `operation`: what failed, e.g. `Delete`.
pub(crate) fn wrong_expected_version(operation: &str, stream: &StreamName, expected: i64, actual: i64) -> Status {
    exception(
        Code::FailedPrecondition,
        format!(
            "{operation} failed due to WrongExpectedVersion. Stream: {stream}, Expected version: {expected}, \
             Actual version: {actual}"
        ),
        "wrong-expected-version",
        &[
            ("stream-name", stream.as_str()),
            ("expected-version", &expected.to_string()),
            ("actual-version", &actual.to_string()),
        ],
    )
}

pub(crate) fn scavenge_not_found(id: &str) -> Status {
    exception(Code::NotFound, "Scavenge id was invalid.".to_owned(), "scavenge-not-found", &[("scavenge-id", id)])
}

pub(crate) fn append_too_large(bytes_max: usize) -> Status {
    exception(
        Code::InvalidArgument,
        format!("Maximum Append Size of {bytes_max} Exceeded."),
        "maximum-append-size-exceeded",
        &[("maximum-append-size", &bytes_max.to_string())],
    )
}

pub(crate) fn event_too_large(id: &str, bytes: usize, bytes_max: usize) -> Status {
    exception(
        Code::InvalidArgument,
        format!("Event with Id: {id}, Size: {bytes}, exceeds Maximum Append Event Size of {bytes_max}."),
        "maximum-append-event-size-exceeded",
        &[
            ("maximum-append-event-size", &bytes_max.to_string()),
            ("event-id", id),
            ("proposed-append-event-size", &bytes.to_string()),
        ],
    )
}

pub(crate) fn metadata_missing(key: &str) -> Status {
    exception(
        Code::InvalidArgument,
        format!("Required Metadata Property '{key}' is missing"),
        "missing-required-metadata-property",
        &[("required-metadata-properties", "type,content-type")],
    )
}

pub(crate) fn no_index(name: &str) -> Status {
    let message = format!("Index '{name}' not found.");
    exception(Code::NotFound, message, "index-not-found", &[("index-name", name)])
}

pub(crate) fn shutting_down() -> Status {
    Status::unavailable("the server is shutting down; try another node, or later")
}

pub(crate) fn of_read(error: &ReadError) -> Status {
    match error {
        ReadError::Tombstoned { stream } => stream_deleted(stream),
        // Reads answer these in a message of their own; what comes here came of something else.
        ReadError::NoStream { stream } | ReadError::SoftDeleted { stream } => exception(
            Code::NotFound,
            format!("Event stream '{stream}' is not found."),
            "stream-not-found",
            &[("stream-name", stream.as_str())],
        ),
        _ => match error.kind() {
            FaultKind::Corrupt => Status::data_loss(error.to_string()),
            FaultKind::RetryLater | FaultKind::Redirect | FaultKind::Closed => Status::unavailable(error.to_string()),
            FaultKind::Reject | FaultKind::Fenced => Status::internal(error.to_string()),
        },
    }
}

/// Of an append or a delete. A conflict comes here where the protocol has no message for it.
pub(crate) fn of_append(operation: &str, error: &AppendError) -> Status {
    match error {
        AppendError::Conflict(conflicts) => match conflicts.first() {
            Some(conflict) => wrong_expected_version(
                operation,
                &conflict.stream,
                super::expected::number(conflict.expected),
                super::expected::actual_version(conflict.actual),
            ),
            None => Status::failed_precondition(error.to_string()),
        },
        AppendError::Tombstoned { stream } => stream_deleted(stream),
        AppendError::TooLarge { bytes_max, .. } => append_too_large(*bytes_max),
        AppendError::PartlyRepeated { .. } | AppendError::ConditionFailed { .. } | AppendError::NoEventTopic { .. } => {
            Status::failed_precondition(error.to_string())
        }
        AppendError::RepeatedId { .. }
        | AppendError::RepeatedStream { .. }
        | AppendError::Empty
        | AppendError::Name(_)
        | AppendError::ReservedHeader { .. }
        | AppendError::Metadata { .. } => invalid(error.to_string()),
        AppendError::Indexing { .. } => Status::unavailable(error.to_string()),
        AppendError::Propose(error) => of_propose(error),
    }
}

pub(crate) fn of_propose(error: &ProposeError) -> Status {
    match error {
        // The protocol's word for an append of which nobody knows whether it happened.
        ProposeError::Unknown => Status::aborted(format!("Operation timed out: {error}")),
        ProposeError::Closed | ProposeError::Poisoned { .. } | ProposeError::NotLeader => {
            Status::unavailable(error.to_string())
        }
    }
}

/// A status that clients know by its `exception`.
pub(crate) fn exception(code: Code, message: String, exception: &str, more: &[(&'static str, &str)]) -> Status {
    let mut metadata = MetadataMap::with_capacity(1 + more.len());
    metadata.insert(EXCEPTION, value(exception));
    for &(key, text) in more {
        metadata.insert(MetadataKey::from_static(key), value(text));
    }
    Status::with_metadata(code, message, metadata)
}

/// Metadata is ASCII; other characters become question marks. The message has them.
fn value(text: &str) -> MetadataValue<Ascii> {
    let ascii: String = text.chars().map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' }).collect();
    MetadataValue::try_from(ascii).expect("visible ASCII is a legal value")
}
