//! The port over a socket, and the operators' routes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use axum::routing::{get, post};
use daybook_shard::{ShardStatus, StatusWatch};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tower::ServiceExt;

use crate::{HttpPort, OperatorOptions, PortOptions, ShardView, routes};

fn status(serving: bool, failure: Option<&str>) -> StatusWatch {
    let failure = failure.map(Arc::from);
    let status = ShardStatus { serving, failure, term: Default::default(), checkpoint: Default::default() };
    watch::channel(status).1
}

fn router(shards: &[StatusWatch]) -> Router {
    let view = |status: &StatusWatch| ShardView { status: status.clone(), wal_sync: "always" };
    let metrics = PrometheusBuilder::new().build_recorder().handle();
    routes(OperatorOptions { shards: shards.iter().map(view).collect(), metrics })
}

async fn ask(router: Router, request: Request<Body>) -> (StatusCode, axum::http::HeaderMap, String) {
    let answer = router.oneshot(request).await.expect("a router always answers");
    let (parts, body) = answer.into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("a short body");
    (parts.status, parts.headers, String::from_utf8(body.to_vec()).expect("text"))
}

fn get_of(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).expect("a request")
}

#[tokio::test]
async fn readiness_tells_each_shards_contract_and_state() {
    let (status_code, _, text) = ask(router(&[status(true, None)]), get_of("/readyz")).await;
    assert_eq!(status_code, StatusCode::OK);
    assert_eq!(text, "ready\nshard 0: wal.sync=always, term 0, checkpoint lsn 0\n");

    let shards = [status(true, None), status(true, Some("no space")), status(false, None)];
    let (status_code, _, text) = ask(router(&shards), get_of("/readyz")).await;
    assert_eq!(status_code, StatusCode::SERVICE_UNAVAILABLE);
    assert!(text.starts_with("shard 1 takes no writes: no space\n"), "{text}");
    assert!(text.contains("shard 2 is replaying its log\n"), "{text}");
    assert_eq!(text.matches("wal.sync=always").count(), 3);
}

#[tokio::test]
async fn where_nothing_is_served_each_protocol_is_told_in_its_own_way() {
    let (status_code, headers, text) = ask(router(&[]), get_of("/nowhere")).await;
    assert_eq!(status_code, StatusCode::NOT_FOUND);
    assert_eq!(headers[header::CONTENT_TYPE], "application/problem+json");
    assert!(text.contains("urn:daybook:problem:unknown-path"));

    let call = |path: &str| {
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/grpc+proto");
        request.body(Body::empty()).expect("a request")
    };
    for path in ["/no.such.Service/Method", "/healthz"] {
        let (status_code, headers, _) = ask(router(&[]), call(path)).await;
        assert_eq!(status_code, StatusCode::OK, "{path}");
        assert_eq!(headers["grpc-status"], "12", "{path}");
    }

    let delete = Request::delete("/healthz").body(Body::empty()).expect("a request");
    let (status_code, headers, text) = ask(router(&[]), delete).await;
    assert_eq!(status_code, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(headers[header::ALLOW], "GET,HEAD");
    assert!(text.contains("method-not-allowed"));
}

struct Port {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

async fn start(router: Router, options: PortOptions) -> Port {
    let port = HttpPort::bind(([127, 0, 0, 1], 0).into(), options).await.expect("a port is free");
    let address = port.local_addr();
    let (stop, stopped) = oneshot::channel();
    let running = tokio::spawn(port.run(router, async {
        let _ = stopped.await;
    }));
    Port { address, stop, running }
}

impl Port {
    async fn stop(self) {
        drop(self.stop);
        // No measure: a port that hangs would hang for ever.
        tokio::time::timeout(Duration::from_secs(60), self.running).await.expect("it stops").expect("no panic");
    }

    async fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("it accepts");
        stream.write_all(bytes).await.expect("it reads");
        stream
    }
}

/// Reads until `end` came; what came so far if the peer closes before.
async fn read_until(stream: &mut TcpStream, end: &[u8]) -> Vec<u8> {
    let mut read = Vec::new();
    while !read.windows(end.len()).any(|window| window == end) {
        match stream.read_buf(&mut read).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    read
}

#[tokio::test]
async fn both_versions_of_http_are_served_on_the_port() {
    let port = start(Router::new().route("/", get(async || "hello")), PortOptions::default()).await;
    let mut stream = port.send(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    let answer = read_until(&mut stream, b"hello").await;
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&answer));

    // The preface, empty settings, and GET / in HPACK's static table: method, scheme, path, authority "x".
    let mut h2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    h2.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    h2.extend([0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, b'x']);
    let mut stream = port.send(&h2).await;
    let answer = read_until(&mut stream, b"hello").await;
    assert!(answer.ends_with(b"hello") || answer.windows(5).any(|window| window == b"hello"));
    port.stop().await;
}

#[tokio::test]
async fn a_request_in_flight_is_answered_and_an_endless_one_is_cut_off() {
    let (entered, mut has_entered) = tokio::sync::mpsc::channel(2);
    let (release, released) = watch::channel(false);
    let slow = {
        let entered = entered.clone();
        move || {
            let (entered, mut released) = (entered.clone(), released.clone());
            async move {
                entered.send(()).await.expect("the test waits");
                released.wait_for(|released| *released).await.expect("the test is there");
                "answered"
            }
        }
    };
    let endless = move || {
        let entered = entered.clone();
        async move {
            entered.send(()).await.expect("the test waits");
            std::future::pending::<&str>().await
        }
    };
    let router = Router::new().route("/slow", post(slow)).route("/endless", post(endless));
    let options = PortOptions { shutdown_grace: Duration::from_secs(2), ..PortOptions::default() };
    let port = start(router, options).await;
    let mut slow = port.send(b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").await;
    let mut endless = port.send(b"POST /endless HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").await;
    has_entered.recv().await.expect("one came in");
    has_entered.recv().await.expect("both came in");
    let address = port.address;
    let stopping = tokio::spawn(port.stop());
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    release.send_replace(true);
    let answer = read_until(&mut slow, b"answered").await;
    assert!(answer.ends_with(b"answered"), "{}", String::from_utf8_lossy(&answer));
    stopping.await.expect("it stops though one request has no answer");
    assert_eq!(read_until(&mut endless, b"\r\n").await, b"");
}

#[tokio::test]
async fn a_connection_too_many_is_closed() {
    let options = PortOptions { connections_max: 1, ..PortOptions::default() };
    let port = start(Router::new().route("/", get(async || "hello")), options).await;
    let mut first = port.send(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(read_until(&mut first, b"hello").await.ends_with(b"hello"));
    let mut second = port.send(b"").await;
    assert_eq!(read_until(&mut second, b"x").await, b"");
    port.stop().await;
}

#[tokio::test]
async fn a_connection_that_sends_nothing_is_closed() {
    let options = PortOptions { head_timeout: Duration::from_millis(50), ..PortOptions::default() };
    let port = start(Router::new(), options).await;
    for beginning in [&b""[..], b"GET / HT"] {
        let mut idle = port.send(beginning).await;
        // Its closing is the assertion: this read would not end otherwise.
        let _ = read_until(&mut idle, b"nothing that it says").await;
    }
    port.stop().await;
}
