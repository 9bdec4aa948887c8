//! Routes for operators.

use std::fmt::Write;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use daybook_shard::StatusWatch;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::nowhere;

#[derive(Clone)]
pub struct OperatorOptions {
    /// In the order of their numbers.
    pub shards: Vec<ShardView>,
    pub metrics: PrometheusHandle,
}

/// A shard and the contract it is under.
#[derive(Clone)]
pub struct ShardView {
    pub status: StatusWatch,
    /// What an acknowledgement means: the setting `wal.sync` in its own words.
    pub wal_sync: &'static str,
}

/// The routes, and the answers where nothing is served: routers merged with this one must not have a fallback of their own.
pub fn routes(options: OperatorOptions) -> Router {
    for (number, shard) in options.shards.iter().enumerate() {
        metrics::gauge!("daybook_shard_info", "shard" => number.to_string(), "wal_sync" => shard.wal_sync).set(1.0);
    }
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(render_metrics))
        .fallback(nowhere::unknown_path)
        .method_not_allowed_fallback(nowhere::unknown_method)
        .with_state(options)
}

async fn ready(State(options): State<OperatorOptions>) -> Response {
    let mut is_ready = true;
    let mut reasons = String::new();
    let mut shards = String::new();
    for (number, shard) in options.shards.iter().enumerate() {
        let status = shard.status.borrow();
        if let Some(failure) = &status.failure {
            is_ready = false;
            reasons += &format!(
                "shard {number} takes no writes: {failure}\nreads go on; free space or replace the disk, then restart\n"
            );
        } else if !status.serving {
            is_ready = false;
            reasons += &format!("shard {number} is replaying its log\n");
        }
        let (term, checkpoint) = (status.term, status.checkpoint);
        writeln!(shards, "shard {number}: wal.sync={}, term {term}, checkpoint lsn {checkpoint}", shard.wal_sync)
            .expect("a String takes all");
    }
    match is_ready {
        true => format!("ready\n{shards}").into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, format!("{reasons}{shards}")).into_response(),
    }
}

async fn render_metrics(State(options): State<OperatorOptions>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], options.metrics.render()).into_response()
}
