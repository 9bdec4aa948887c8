//! Errors of the second protocol: `google.rpc.Status` with a reason and details, carried in `grpc-status-details-bin`.

use std::collections::HashMap;

use prost::Message;
use prost_types::Any;
use tonic::{Code, Status};

/// A message that goes into the details.
pub(super) struct Detail(Any);

impl Detail {
    /// `name`: the message's full name.
    pub(super) fn new(name: &str, message: &impl Message) -> Self {
        Self(Any { type_url: format!("type.googleapis.com/{name}"), value: message.encode_to_vec() })
    }
}

/// An error of `reason` in `domain`: the two by which a program knows what happened.
pub(super) fn status(code: Code, domain: &str, reason: &str, message: String, detail: Option<Detail>) -> Status {
    let info = ErrorInfo { reason: reason.to_owned(), domain: domain.to_owned(), metadata: HashMap::new() };
    let mut details = vec![Detail::new("google.rpc.ErrorInfo", &info).0];
    details.extend(detail.map(|detail| detail.0));
    let whole = RichStatus { code: i32::from(code), message: message.clone(), details };
    Status::with_details(code, message, whole.encode_to_vec().into())
}

/// `google.rpc.BadRequest` about one field.
pub(super) fn bad_field(field: &str, description: &str) -> Detail {
    let violation = FieldViolation { field: field.to_owned(), description: description.to_owned() };
    Detail::new("google.rpc.BadRequest", &BadRequest { field_violations: vec![violation] })
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RichStatus {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ErrorInfo {
    #[prost(string, tag = "1")]
    pub(super) reason: String,
    #[prost(string, tag = "2")]
    pub(super) domain: String,
    #[prost(map = "string, string", tag = "3")]
    pub(super) metadata: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<FieldViolation>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldViolation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
}
