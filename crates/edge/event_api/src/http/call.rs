//! What requests have in common: the stream of the path, a JSON body, headers, and answers in JSON.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use daybook_event_store::StreamName;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::SharedApi;
use super::limits::{BODY_BYTES_MAX, BODY_TIME_MAX, UPLOADS_BYTES_MAX};
use super::problem::Problem;

/// The parts of a path that name something.
#[derive(Debug)]
pub struct Path {
    pub stream: StreamName,
    /// Empty where the path has none.
    pub version: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Path {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|fault| Problem::malformed(format!("the path: {}", fault.body_text())))?;
        let of = |name: &str| found.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        let stream = StreamName::new(of("stream")).map_err(|fault| Problem::unprocessable(fault.to_string()))?;
        Ok(Self { stream, version: of("version").to_owned() })
    }
}

/// A body that says that it is JSON, whole. Its bytes count until it is dropped.
#[derive(Debug)]
pub struct JsonBody {
    pub bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl FromRequest<SharedApi> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &SharedApi) -> Result<Self, Problem> {
        if !is_json(text(request.headers(), header::CONTENT_TYPE.as_str())?.unwrap_or_default()) {
            let title = "the body has to be application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", title, ""));
        }
        let announced = text(request.headers(), header::CONTENT_LENGTH.as_str())?.and_then(|text| text.parse().ok());
        // Of a body whose length nobody knows yet, the most is assumed.
        let bytes = announced.unwrap_or(BODY_BYTES_MAX);
        if bytes > BODY_BYTES_MAX {
            return Err(Problem::too_large(format!("the body has {bytes} bytes, {BODY_BYTES_MAX} are the most"))
                .with("bytes_max", BODY_BYTES_MAX));
        }
        let permits = u32::try_from(bytes.min(UPLOADS_BYTES_MAX)).unwrap_or(u32::MAX);
        let room = api.uploads.clone().acquire_many_owned(permits).await.expect("the semaphore is never closed");
        let read = timeout(BODY_TIME_MAX, Bytes::from_request(request, api)).await;
        match read {
            Ok(Ok(bytes)) => Ok(Self { bytes, _room: room }),
            Ok(Err(fault)) if fault.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                Err(Problem::too_large(format!("the body has more than {BODY_BYTES_MAX} bytes"))
                    .with("bytes_max", BODY_BYTES_MAX))
            }
            Ok(Err(fault)) => Err(Problem::malformed(format!("the body: {}", fault.body_text()))),
            Err(_) => Err(too_slow(BODY_TIME_MAX)),
        }
    }
}

fn too_slow(time: Duration) -> Problem {
    let detail = format!("it was not here after {} s", time.as_secs());
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "the body did not come in time", detail)
}

/// Whether a media type is JSON's, or one of those built on it.
pub fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// The value of a header, where it is text.
pub fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Problem> {
    let read = |value: &'a header::HeaderValue| {
        std::str::from_utf8(value.as_bytes()).map_err(|_| Problem::malformed(format!("the header {name} is no text")))
    };
    headers.get(name).map(read).transpose()
}

/// Whether an answer without an end is wanted.
pub fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|list| list.split(','))
        .any(|one| one.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream"))
}

pub fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let body = serde_json::to_vec(body).expect("our own answers have text for keys and no numbers that JSON lacks");
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
