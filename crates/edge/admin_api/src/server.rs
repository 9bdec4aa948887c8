//! Listener and routes.

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use daybook_shard::StatusWatch;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;

#[derive(Clone)]
pub struct ServerOptions {
    /// One a shard.
    pub shards: Vec<StatusWatch>,
    pub metrics: PrometheusHandle,
}

pub struct Server {
    listener: TcpListener,
    options: ServerOptions,
}

impl Server {
    pub async fn bind(address: SocketAddr, options: ServerOptions) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, options })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` resolves.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let router = Router::new()
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .route("/metrics", get(render_metrics))
            .with_state(self.options);
        axum::serve(self.listener, router).with_graceful_shutdown(shutdown).await
    }
}

async fn ready(State(options): State<ServerOptions>) -> Response {
    for (number, shard) in options.shards.iter().enumerate() {
        let status = shard.borrow();
        if let Some(failure) = &status.failure {
            let text = format!(
                "shard {number} takes no writes: {failure}\nreads go on; free space or replace the disk, then restart\n"
            );
            return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        }
        if !status.serving {
            return (StatusCode::SERVICE_UNAVAILABLE, format!("shard {number} is replaying its log\n")).into_response();
        }
    }
    "ready\n".into_response()
}

async fn render_metrics(State(options): State<ServerOptions>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], options.metrics.render()).into_response()
}
