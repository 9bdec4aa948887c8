//! What operators see of this API.

use std::time::Instant;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

/// Counts a request under its path as the description has it, so that names of streams make no metrics.
pub async fn count(path: &'static str, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    metrics::counter!("daybook_http_requests_total", "method" => method.to_string(), "path" => path, "status" => status)
        .increment(1);
    // Of an event stream, until it begins.
    metrics::histogram!("daybook_http_request_seconds", "path" => path).record(started.elapsed().as_secs_f64());
    response
}

/// An event stream that is open.
#[derive(Debug)]
pub struct Following(());

impl Following {
    pub fn begin() -> Self {
        metrics::gauge!("daybook_http_followers").increment(1.0);
        Self(())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        metrics::gauge!("daybook_http_followers").decrement(1.0);
    }
}
