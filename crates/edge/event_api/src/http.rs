//! HTTP/JSON with server-sent events: the event store for whoever has curl.
//!
//! Handlers are thin: parameters and bodies into calls of `daybook_event_store`, its answers into JSON, its errors into problem documents
//! (RFC 9457). The paths are described by `openapi.json`, which is served too; a test holds the two together.
//!
//! Everything a peer can make large has a maximum in [`limits`].

mod append;
mod call;
mod error;
mod event_json;
mod follow;
mod limits;
mod meter;
mod parameters;
mod problem;
mod read_all;
mod read_stream;
mod scavenge;
mod settings;
mod sse;
mod streams;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use daybook_event_store::EventStore;
use daybook_types::ShardId;
use tokio::sync::{Semaphore, watch};

use self::problem::Problem;

/// The description of everything below, OpenAPI 3.1.
const OPENAPI: &str = include_str!("../openapi.json");

#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The shard of the store: part of every token.
    pub shard: ShardId,
    /// Turns true when event streams have to end.
    pub stopping: watch::Receiver<bool>,
    /// How long a read waits until its token is applied.
    pub token_wait_max: Duration,
    /// After so long without a message an event stream says that it lives.
    pub keep_alive: Duration,
    /// Event streams at once.
    pub followers_max: usize,
}

impl HttpOptions {
    pub fn new(shard: ShardId, stopping: watch::Receiver<bool>) -> Self {
        Self {
            shard,
            stopping,
            token_wait_max: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            followers_max: 4096,
        }
    }
}

/// The routes, without a fallback: what is answered elsewhere is for whoever owns the port.
pub fn routes(store: EventStore, options: HttpOptions) -> Router {
    let api = Arc::new(Api {
        store,
        followers: Arc::new(Semaphore::new(options.followers_max)),
        uploads: Arc::new(Semaphore::new(limits::UPLOADS_BYTES_MAX)),
        options,
    });
    let mut router = Router::new();
    for (path, methods) in table() {
        router = router
            .route(path, methods.layer(middleware::from_fn(move |request, next| meter::count(path, request, next))));
    }
    router
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .layer(DefaultBodyLimit::max(limits::BODY_BYTES_MAX))
        .with_state(api)
}

/// What all handlers share.
#[derive(Debug)]
struct Api {
    store: EventStore,
    options: HttpOptions,
    /// A permit an event stream.
    followers: Arc<Semaphore>,
    /// A permit a byte of bodies being read or appended.
    uploads: Arc<Semaphore>,
}

type SharedApi = Arc<Api>;

fn table() -> Vec<(&'static str, MethodRouter<SharedApi>)> {
    vec![
        ("/openapi.json", get(openapi)),
        ("/append", post(append::to_several)),
        ("/all", get(read_all::get_all)),
        ("/query", post(read_all::post_query)),
        ("/categories", get(streams::categories)),
        ("/scavenge", get(scavenge::show).post(scavenge::start).delete(scavenge::stop)),
        ("/streams", get(streams::list)),
        ("/streams/{stream}", get(read_stream::page).post(append::to_one).delete(streams::delete)),
        ("/streams/{stream}/info", get(streams::info)),
        ("/streams/{stream}/settings", get(settings::show).put(settings::replace)),
        ("/streams/{stream}/{version}", get(read_stream::raw)),
    ]
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}
