//! An error code with the text that explains it, as answers about topics, configs and coordinators carry them.

use crate::error_code::{self, ErrorCode};
use crate::wire::{StrBytes, text};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
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

/// Code and text as they go into an answer.
pub(super) fn code_and_text<T>(outcome: &Result<T, Refusal>) -> (i16, Option<StrBytes>) {
    match outcome {
        Ok(_) => (0, None),
        Err(Refusal { error, message }) => (error_code::code(Some(*error)), message.clone().map(text)),
    }
}
