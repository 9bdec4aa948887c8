//! An error code with the text that explains it, as answers about topics, configs and coordinators carry them.

use crate::error_code::{self, ErrorCode};
use crate::wire::{StrBytes, text};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub error: ErrorCode,
    pub message: Option<String>,
}

impl Refusal {
    pub fn new(error: ErrorCode, message: impl Into<String>) -> Self {
        Self { error, message: Some(message.into()) }
    }
}

impl From<ErrorCode> for Refusal {
    fn from(error: ErrorCode) -> Self {
        Self { error, message: None }
    }
}

/// Texts may quote what a client sent, and old versions have no room for more than 32 KiB.
const MESSAGE_BYTES_MAX: usize = 1024;

/// Code and text as they go into an answer.
pub(super) fn code_and_text<T>(outcome: &Result<T, Refusal>) -> (i16, Option<StrBytes>) {
    match outcome {
        Ok(_) => (0, None),
        Err(Refusal { error, message }) => (error_code::code(Some(*error)), message.as_deref().map(shortened)),
    }
}

fn shortened(message: &str) -> StrBytes {
    match message.len() {
        ..=MESSAGE_BYTES_MAX => text(message),
        _ => text(format!("{}…", &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)])),
    }
}

#[cfg(test)]
mod tests;
