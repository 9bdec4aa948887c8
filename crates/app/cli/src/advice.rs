//! How an error is told: its causes, and the next step.

use daybook_kafka_client::{ClientError, KafkaCode, WireError};

use crate::commands::stream::client::HttpError;

/// The error and its causes in one line; a cause that the error above it tells already isn't told again.
pub fn causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// What a person can do about it, where that is known.
pub fn next_step(error: &anyhow::Error) -> Option<&'static str> {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<HttpError>() {
            return for_http(error);
        }
        if let Some(error) = cause.downcast_ref::<WireError>() {
            return for_wire(error);
        }
        if let Some(error) = cause.downcast_ref::<ClientError>() {
            return match error {
                ClientError::Wire(error) | ClientError::NoBroker { last: error, .. } => for_wire(error),
                error => error.code().and_then(for_code),
            };
        }
    }
    None
}

fn for_http(error: &HttpError) -> Option<&'static str> {
    match error {
        HttpError::Unreachable { .. } => {
            Some("is a server running there? start one with `daybook serve`, or name another with --http HOST:PORT")
        }
        HttpError::Foreign { .. } => Some("check that --http names the HTTP port of a Daybook server"),
        HttpError::Problem { kind, .. } => match kind.as_str() {
            "no-stream" => Some("`daybook stream list` shows the streams there are"),
            "conflict" => Some("`daybook stream read` shows what the stream has; decide again, or use --expected any"),
            "too-large" => Some("append fewer lines at once"),
            _ => None,
        },
    }
}

fn for_wire(error: &WireError) -> Option<&'static str> {
    match error {
        WireError::Connect { .. } | WireError::ConnectTimeout { .. } => Some(
            "is a server running there? start one with `daybook serve`, or name another with --bootstrap HOST:PORT",
        ),
        WireError::FrameLength { .. } | WireError::Malformed { .. } => {
            Some("check that --bootstrap names a Kafka listener without TLS")
        }
        WireError::AnswerTimeout { .. } => Some("the server may be overloaded or stalled; its log says more"),
        WireError::Unsupported { .. } => Some("the server is older or newer than this command; Kafka 4.x is expected"),
        _ => None,
    }
}

fn for_code(code: KafkaCode) -> Option<&'static str> {
    match code {
        KafkaCode::UNKNOWN_TOPIC_OR_PARTITION => {
            Some("`daybook topic list` shows the topics there are, `daybook topic create` makes one")
        }
        KafkaCode::TOPIC_ALREADY_EXISTS => Some("--if-not-exists accepts that"),
        KafkaCode::GROUP_ID_NOT_FOUND => Some("`daybook group list` shows the groups there are"),
        // NON_EMPTY_GROUP, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION.
        KafkaCode(68 | 25 | 27 | 22) => Some("stop the group's members first: `daybook group describe` shows them"),
        // MESSAGE_TOO_LARGE.
        KafkaCode(10) => Some("send smaller batches (--batch-bytes), or raise the topic's max.message.bytes"),
        _ => None,
    }
}
