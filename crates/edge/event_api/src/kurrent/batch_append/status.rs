//! Errors of a batch call: a status inside the answer, with one message that says what happened.

use daybook_event_store::{AppendError, Conflict, Expected, ProposeError, StreamName};
use prost::Message;
use prost_types::Any;
use uuid::Uuid;

use crate::kurrent::{expected, ids};
use crate::proto::event_store::client::wrong_expected_version::{
    CurrentStreamRevisionOption as Current, ExpectedStreamPositionOption as Wanted,
};
use crate::proto::event_store::client::{
    BadRequest, MaximumAppendEventSizeExceeded, MaximumAppendSizeExceeded, StreamDeleted, Timeout, Unknown,
    WrongExpectedVersion,
};
use crate::proto::google::rpc::{Code, Status};

pub(super) fn of_append(error: &AppendError) -> Status {
    match error {
        AppendError::Conflict(conflicts) => match conflicts.first() {
            Some(conflict) => wrong_expected_version(conflict),
            None => unknown(&error.to_string()),
        },
        AppendError::Tombstoned { stream } => stream_deleted(stream),
        AppendError::TooLarge { bytes_max, .. } => append_too_large(*bytes_max),
        AppendError::RepeatedId { .. }
        | AppendError::RepeatedStream { .. }
        | AppendError::Empty
        | AppendError::Name(_)
        | AppendError::Metadata { .. }
        | AppendError::ReservedHeader { .. }
        | AppendError::NoEventTopic { .. } => bad_request(&error.to_string()),
        // Nobody knows whether it happened: this protocol's word for that.
        AppendError::Propose(ProposeError::Unknown) => timeout(),
        AppendError::PartlyRepeated { .. }
        | AppendError::ConditionFailed { .. }
        | AppendError::Indexing { .. }
        | AppendError::Propose(_) => unknown(&error.to_string()),
    }
}

pub(super) fn timeout() -> Status {
    status(Code::DeadlineExceeded, "Timeout", &Timeout {})
}

pub(super) fn bad_request(message: &str) -> Status {
    status(Code::InvalidArgument, "BadRequest", &BadRequest { message: message.to_owned() })
}

pub(super) fn append_too_large(bytes_max: usize) -> Status {
    let detail = MaximumAppendSizeExceeded { max_append_size: short(bytes_max) };
    status(Code::InvalidArgument, "MaximumAppendSizeExceeded", &detail)
}

pub(super) fn event_too_large(id: Uuid, bytes: usize, bytes_max: usize) -> Status {
    let detail = MaximumAppendEventSizeExceeded {
        event_id: id.to_string(),
        proposed_event_size: short(bytes),
        max_append_event_size: short(bytes_max),
    };
    status(Code::InvalidArgument, "MaximumAppendEventSizeExceeded", &detail)
}

fn stream_deleted(stream: &StreamName) -> Status {
    let detail = StreamDeleted { stream_identifier: Some(ids::stream_identifier(stream.as_str())) };
    status(Code::NotFound, "StreamDeleted", &detail)
}

fn wrong_expected_version(conflict: &Conflict) -> Status {
    let detail = WrongExpectedVersion {
        current_stream_revision_option: Some(match u64::try_from(expected::actual_version(conflict.actual)) {
            Ok(revision) => Current::CurrentStreamRevision(revision),
            Err(_) => Current::CurrentNoStream(()),
        }),
        expected_stream_position_option: Some(match conflict.expected {
            Expected::Any => Wanted::ExpectedAny(()),
            Expected::NoStream => Wanted::ExpectedNoStream(()),
            Expected::Exists | Expected::SoftDeleted => Wanted::ExpectedStreamExists(()),
            Expected::Exact(version) => Wanted::ExpectedStreamPosition(version.0),
        }),
    };
    status(Code::AlreadyExists, "WrongExpectedVersion", &detail)
}

fn unknown(message: &str) -> Status {
    Status { message: message.to_owned(), ..status(Code::Unknown, "Unknown", &Unknown {}) }
}

/// `name`: the message's, and the text that clients are used to.
fn status(code: Code, name: &str, detail: &impl Message) -> Status {
    let type_url = format!("type.googleapis.com/event_store.client.{name}");
    Status {
        code: code.into(),
        message: name.to_owned(),
        details: Some(Any { type_url, value: detail.encode_to_vec() }),
    }
}

fn short(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
