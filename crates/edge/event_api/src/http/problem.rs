//! Problem documents (RFC 9457): what went wrong, for programs by `type` and fields, for people by `detail`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};

/// What every `type` begins with. The names after it are stable; they are listed in docs/event-store-http.md.
const TYPE_PREFIX: &str = "urn:daybook:problem:";
/// When something passes by itself, it is worth asking again after so many seconds.
const RETRY_AFTER_SECONDS: &str = "1";

#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    name: &'static str,
    title: &'static str,
    detail: String,
    fields: Map<String, Value>,
}

impl Problem {
    pub fn new(status: StatusCode, name: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self { status, name, title, detail: detail.into(), fields: Map::new() }
    }

    /// The request can't be understood.
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed-request", "the request can't be understood", detail)
    }

    /// The request can be understood, and asks for what can't be.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", "the request asks for what can't be", detail)
    }

    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "the request is too large", detail)
    }

    pub fn method_not_allowed() -> Self {
        let title = "this path has other methods, see the header allow";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", title, "")
    }

    /// A further member of the document.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// The document, as text.
    pub fn body(&self) -> String {
        let document = Document {
            kind: format!("{TYPE_PREFIX}{}", self.name),
            title: self.title,
            status: self.status.as_u16(),
            detail: &self.detail,
            fields: &self.fields,
        };
        serde_json::to_string(&document).expect("all keys are text")
    }
}

/// What a person reads first stands first.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    #[serde(flatten)]
    fields: &'a Map<String, Value>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = self.body();
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
        }
        response
    }
}
