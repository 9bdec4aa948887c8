//! Errors of persistent subscriptions. Clients know them by code, by the metadata's `exception` and, one of them, by the text.

use daybook_competing::{Ended, JoinError, ManageError, SubscriptionName};
use tonic::{Code, Status};

use super::super::error_code;

pub(super) fn unknown(name: &SubscriptionName) -> Status {
    refusal(
        Code::NotFound,
        format!("There is no group {} on stream {}.", name.group(), name.source()),
        "persistent-subscription-does-not-exist",
        name,
        None,
    )
}

pub(super) fn failed(name: &SubscriptionName, reason: &str) -> Status {
    refusal(
        Code::Internal,
        format!("Group {} on stream {}: {reason}", name.group(), name.source()),
        "persistent-subscription-failed",
        name,
        Some(reason),
    )
}

pub(super) fn of_manage(error: &ManageError, name: &SubscriptionName) -> Status {
    match error {
        ManageError::Exists(name) => refusal(
            Code::AlreadyExists,
            format!("There is a group {} on stream {} already.", name.group(), name.source()),
            "persistent-subscription-exists",
            name,
            None,
        ),
        ManageError::Unknown(name) => unknown(name),
        ManageError::Invalid(invalid) => failed(name, &invalid.to_string()),
        ManageError::TooMany { .. } => failed(name, &error.to_string()),
        ManageError::Propose(error) => error_code::of_propose(error),
        ManageError::Read(error) => error_code::of_read(error),
        ManageError::Append(error) => error_code::of_append("Append", error),
        ManageError::Closed => Status::unavailable(error.to_string()),
    }
}

pub(super) fn of_join(error: &JoinError) -> Status {
    match error {
        JoinError::Unknown(name) => unknown(name),
        JoinError::Full(name) => refusal(
            Code::FailedPrecondition,
            // Clients look for these first words.
            format!("Maximum subscriptions reached for group {} on stream {}.", name.group(), name.source()),
            "maximum-subscribers-reached",
            name,
            None,
        ),
        JoinError::Slots { .. } => error_code::invalid(error.to_string()),
        JoinError::Closed => Status::unavailable(error.to_string()),
    }
}

pub(super) fn of_end(ended: Ended, name: &SubscriptionName) -> Status {
    match ended {
        Ended::Dropped => refusal(
            Code::Cancelled,
            format!("The consumer was dropped from group {} on stream {}.", name.group(), name.source()),
            "persistent-subscription-dropped",
            name,
            None,
        ),
        Ended::Closed => error_code::shutting_down(),
    }
}

fn refusal(code: Code, text: String, exception: &str, name: &SubscriptionName, reason: Option<&str>) -> Status {
    let mut more = vec![("stream-name", name.source()), ("group-name", name.group())];
    more.extend(reason.map(|reason| ("reason", reason)));
    error_code::exception(code, text, exception, &more)
}
