//! What is answered where nothing is served: to a gRPC client a status, to others a problem document (RFC 9457).

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// gRPC's number for a service or method that isn't there.
const GRPC_UNIMPLEMENTED: &str = "12";
const PROBLEM: &str = "application/problem+json";

pub async fn unknown_path(headers: HeaderMap) -> Response {
    if is_grpc(&headers) {
        return unimplemented_service();
    }
    let text = r#"{"type":"urn:daybook:problem:unknown-path","title":"nothing is served at this path; /openapi.json describes what is","status":404}"#;
    (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, PROBLEM)], text).into_response()
}

pub async fn unknown_method(headers: HeaderMap) -> Response {
    if is_grpc(&headers) {
        return unimplemented_service();
    }
    let text = r#"{"type":"urn:daybook:problem:method-not-allowed","title":"this path has other methods, see the header allow","status":405}"#;
    (StatusCode::METHOD_NOT_ALLOWED, [(header::CONTENT_TYPE, PROBLEM)], text).into_response()
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default();
    content_type.starts_with(b"application/grpc")
}

/// A status alone stands in the headers, and HTTP's own status is 200 (gRPC over HTTP/2, "Responses").
fn unimplemented_service() -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/grpc"),
        ("grpc-status", GRPC_UNIMPLEMENTED),
        ("grpc-message", "this server has no such service or method"),
    ];
    (headers, ()).into_response()
}
