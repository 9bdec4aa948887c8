//! Which problem each error of the store is.

use axum::http::StatusCode;
use daybook_event_store::{AppendError, Conflict, Expected, ProposeError, ReadError, StartScavengeError, StreamState};
use daybook_types::FaultKind;
use serde_json::{Value, json};

use super::problem::Problem;

impl From<AppendError> for Problem {
    fn from(error: AppendError) -> Self {
        let detail = error.to_string();
        match error {
            AppendError::Conflict(conflicts) => conflict(&conflicts, detail),
            AppendError::Tombstoned { stream } => tombstoned(detail).with("stream", stream.as_str()),
            AppendError::ConditionFailed { position } => {
                let title = "an event matches the condition";
                Self::new(StatusCode::PRECONDITION_FAILED, "condition-failed", title, detail)
                    .with("position", position.0)
            }
            AppendError::PartlyRepeated { stream } => {
                let title = "some of these events are there already";
                Self::new(StatusCode::CONFLICT, "partly-repeated", title, detail).with("stream", stream.as_str())
            }
            AppendError::RepeatedId { id } => Self::unprocessable(detail).with("id", id),
            AppendError::ReservedHeader { name } => Self::unprocessable(detail).with("header", name),
            AppendError::RepeatedStream { stream } => Self::unprocessable(detail).with("stream", stream.as_str()),
            AppendError::TooLarge { bytes, bytes_max } => {
                Self::too_large(detail).with("bytes", bytes).with("bytes_max", bytes_max)
            }
            AppendError::NoEventTopic { topic } => {
                let title = "the topic has no stream index";
                Self::new(StatusCode::CONFLICT, "no-event-topic", title, detail).with("topic", topic)
            }
            AppendError::Indexing { topic } => {
                let title = "the stream index is being built";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "indexing", title, detail).with("topic", topic)
            }
            AppendError::Empty | AppendError::Name(_) | AppendError::Metadata { .. } => Self::unprocessable(detail),
            AppendError::Propose(error) => error.into(),
        }
    }
}

impl From<ProposeError> for Problem {
    fn from(error: ProposeError) -> Self {
        let (name, title) = match error {
            ProposeError::Unknown => ("outcome-unknown", "whether it happened is not known"),
            ProposeError::NotLeader => ("not-leader", "another node takes the writes"),
            ProposeError::Closed | ProposeError::Poisoned { .. } => ("unavailable", "no writes are taken"),
        };
        Self::new(StatusCode::SERVICE_UNAVAILABLE, name, title, error.to_string())
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        let detail = error.to_string();
        match &error {
            ReadError::NoStream { stream } => no_stream(detail).with("stream", stream.as_str()),
            ReadError::SoftDeleted { stream } => {
                let title = "the stream was deleted";
                Self::new(StatusCode::NOT_FOUND, "stream-deleted", title, detail).with("stream", stream.as_str())
            }
            ReadError::Tombstoned { stream } => tombstoned(detail).with("stream", stream.as_str()),
            ReadError::Log(_) | ReadError::Index { .. } => match error.kind() {
                FaultKind::Corrupt => {
                    Self::new(StatusCode::INTERNAL_SERVER_ERROR, "damaged", "stored bytes are damaged", detail)
                }
                _ => Self::new(StatusCode::SERVICE_UNAVAILABLE, "unreadable", "it can't be read now", detail),
            },
        }
    }
}

impl From<StartScavengeError> for Problem {
    fn from(error: StartScavengeError) -> Self {
        let detail = error.to_string();
        match error {
            StartScavengeError::Running { id } => {
                Self::new(StatusCode::CONFLICT, "scavenge-running", "a scavenge is running", detail).with("id", id)
            }
            StartScavengeError::Thread { .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "it can't be begun now", detail)
            }
        }
    }
}

pub fn no_stream(detail: String) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no-stream", "the stream does not exist", detail)
}

pub fn tombstoned(detail: String) -> Problem {
    Problem::new(StatusCode::GONE, "stream-tombstoned", "the stream was deleted for ever", detail)
}

/// The first stream that isn't as expected stands in the document itself, all of them in `conflicts`.
fn conflict(conflicts: &[Conflict], detail: String) -> Problem {
    let fields = |conflict: &Conflict| {
        json!({
            "stream": conflict.stream.as_str(),
            "expected": expected_json(conflict.expected),
            "actual": actual_json(conflict.actual),
        })
    };
    let all: Vec<Value> = conflicts.iter().map(fields).collect();
    let mut problem = Problem::new(StatusCode::CONFLICT, "conflict", "a stream is not at the expected version", detail);
    if let Some(Value::Object(first)) = all.first().cloned() {
        for (name, value) in first {
            problem = problem.with(&name, value);
        }
    }
    problem.with("conflicts", all)
}

/// As a request has it.
fn expected_json(expected: Expected) -> Value {
    match expected {
        Expected::Any => "any".into(),
        Expected::NoStream => "none".into(),
        Expected::Exists => "exists".into(),
        Expected::SoftDeleted => "deleted".into(),
        Expected::Exact(version) => version.0.into(),
    }
}

/// So that a version can be sent back as what is expected.
fn actual_json(state: StreamState) -> Value {
    match state {
        StreamState::None => "none".into(),
        StreamState::At(version) => version.0.into(),
        StreamState::SoftDeleted(_) => "deleted".into(),
        StreamState::Tombstoned => "tombstoned".into(),
    }
}
