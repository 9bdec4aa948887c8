//! A shard in a directory of its own, and requests to the router over it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use daybook_apply::ShardState;
use daybook_event_store::{EventStore, Options};
use daybook_read::Reader;
use daybook_shard::{Shard, ShardOptions, Storage, StorageOptions};
use daybook_types::{NodeId, ShardId};
use daybook_world::{Disk, RealClock, RealDisk};
use futures::StreamExt;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;
use tower::ServiceExt;

use crate::http::{HttpOptions, routes};

/// No test waits longer for anything; it is no measure of anything.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Node {
    pub router: Router,
    pub store: EventStore,
    pub stop: watch::Sender<bool>,
    _shard: Shard,
    _dir: TempDir,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Node {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub async fn start_with(change: impl FnOnce(&mut HttpOptions)) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).expect("the directory opens"));
        let wal = daybook_wal::Options { segment_bytes: 4 * 1024 * 1024, ..daybook_wal::Options::default() };
        let storage_options = StorageOptions { wal, kv: daybook_kv::Options::default() };
        let storage = Storage::open(&disk, dir.path(), Path::new("shard-0"), storage_options).expect("it is sound");
        let state = ShardState::restore(&storage.kv).expect("it is sound");
        let reader = Reader::new(state.posted(), Arc::clone(&storage.files));
        let shard_options = ShardOptions {
            node: NodeId(0),
            shard: ShardId(0),
            in_flight_bytes_max: 64 * 1024 * 1024,
            checkpoint_wal_bytes: 64 * 1024 * 1024,
            checkpoint_interval: Duration::from_secs(3600),
        };
        let shard = Shard::start(storage, state, Arc::new(RealClock), shard_options).await.expect("the shard starts");
        let store = EventStore::new(shard.door(), reader, Options::default());
        let (stop, stopping) = watch::channel(false);
        let mut options = HttpOptions::new(ShardId(0), stopping);
        change(&mut options);
        Self { router: routes(store.clone(), options), store, stop, _shard: shard, _dir: dir }
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let answer = self.router.clone().oneshot(request).await.expect("a router always answers");
        let (parts, body) = answer.into_parts();
        let read = tokio::time::timeout(PATIENCE, to_bytes(body, 1 << 28)).await;
        Answer { status: parts.status, headers: parts.headers, body: read.expect("in time").expect("a whole body") }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).expect("a request")).await
    }

    /// The page at a path that has one.
    pub async fn page(&self, path: &str) -> Value {
        self.get(path).await.json(StatusCode::OK)
    }

    pub async fn post(&self, path: &str, body: impl ToString) -> Answer {
        self.post_with(path, &[], body).await
    }

    pub async fn post_with(&self, path: &str, headers: &[(&str, &str)], body: impl ToString) -> Answer {
        let mut request = Request::post(path).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body.to_string())).expect("a request")).await
    }

    pub async fn put(&self, path: &str, body: impl ToString) -> Answer {
        let request = Request::put(path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).expect("a request")).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Request::delete(path).body(Body::empty()).expect("a request")).await
    }

    /// Appends that many events of type `n`, whose data are their numbers, from `from` on.
    pub async fn fill(&self, stream: &str, from: usize, count: usize) {
        let events: Vec<_> = (from..from + count).map(|n| serde_json::json!({"type": "n", "data": n})).collect();
        self.post(&format!("/streams/{stream}"), Value::from(events)).await.json(StatusCode::CREATED);
    }

    /// Begins an event stream.
    pub async fn follow(&self, path: &str, headers: &[(&str, &str)]) -> Messages {
        let mut request = Request::get(path).header("accept", "text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.follow_by(request.body(Body::empty()).expect("a request")).await
    }

    pub async fn follow_by(&self, request: Request<Body>) -> Messages {
        let answer = self.router.clone().oneshot(request).await.expect("a router always answers");
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Messages { chunks: answer.into_body().into_data_stream(), read: String::new() }
    }
}

impl Answer {
    /// The document, if the status is as expected.
    pub fn json(&self, status: StatusCode) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{text}");
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The problem document; its type without the prefix that all have.
    pub fn problem(&self, status: StatusCode) -> (String, Value) {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{:?}", self.body);
        let document = self.json(status);
        assert_eq!(document["status"], status.as_u16());
        let kind = document["type"].as_str().expect("text").strip_prefix("urn:daybook:problem:").expect("the prefix");
        (kind.to_owned(), document)
    }
}

/// An event stream as a client reads it.
pub struct Messages {
    chunks: BodyDataStream,
    read: String,
}

impl Messages {
    /// The lines of the next message or comment, its fields as they came; `None` at the end.
    pub async fn next(&mut self) -> Option<Vec<String>> {
        loop {
            if let Some((message, rest)) = self.read.split_once("\n\n") {
                let lines = message.lines().map(str::to_owned).collect();
                self.read = rest.to_owned();
                return Some(lines);
            }
            let chunk = tokio::time::timeout(PATIENCE, self.chunks.next()).await.expect("a chunk in time")?;
            self.read.push_str(std::str::from_utf8(&chunk.expect("no broken stream")).expect("text"));
        }
    }

    /// The next message's name (empty for an event), its id, and its data.
    pub async fn message(&mut self) -> (String, Option<u64>, Value) {
        let lines = self.next().await.expect("a message, not the end");
        let field = |name: &str| {
            let found: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).collect();
            (!found.is_empty()).then(|| found.join("\n"))
        };
        let data = field("data").unwrap_or_else(|| panic!("no data in {lines:?}"));
        let id = field("id").map(|id| id.parse().expect("a number"));
        (field("event").unwrap_or_default(), id, serde_json::from_str(&data).expect("JSON"))
    }
}
