//! The listener: accepts connections, serves HTTP/1.1 and HTTP/2 on them, and ends them.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, error, info, warn};

/// After accept failed: most likely this process has no file descriptor left, and needs a moment to get some back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Requests that one HTTP/2 connection may have open; a subscription is one. Clients open another connection beyond.
const CONNECTION_REQUESTS_MAX: u32 = 1024;
/// Bytes of all requests of one HTTP/2 connection that may be on their way unread.
const CONNECTION_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
/// The same of one request.
const REQUEST_WINDOW_BYTES: u32 = 1024 * 1024;
/// A peer that vanished is found by HTTP/2's pings.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub struct PortOptions {
    /// Connections served at once; a further one is closed at once.
    pub connections_max: usize,
    /// For how long an HTTP/1.1 connection may have no whole head of a request, and a new one no byte.
    pub head_timeout: Duration,
    /// How long requests in flight may go on after the port was told to stop.
    pub shutdown_grace: Duration,
}

impl Default for PortOptions {
    fn default() -> Self {
        Self { connections_max: 10_000, head_timeout: Duration::from_secs(75), shutdown_grace: Duration::from_secs(3) }
    }
}

/// The port of a node, bound and not yet accepting.
pub struct HttpPort {
    listener: TcpListener,
    local_addr: SocketAddr,
    options: PortOptions,
}

impl HttpPort {
    /// Binds to `addr`; port 0 takes a free one.
    pub async fn bind(addr: SocketAddr, options: PortOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        let local_addr = listener.local_addr()?;
        Ok(Self { listener, local_addr, options })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown` resolves; then accepts no more, and gives requests in flight `shutdown_grace` to be answered. Streams
    /// without an end have to end by themselves, or are cut off.
    pub async fn run(self, router: Router, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((_, peer)) if connections.len() >= self.options.connections_max => {
                        let connections_max = self.options.connections_max;
                        debug!(%peer, connections_max, "refused an HTTP connection: there are as many as may be");
                        metrics::counter!("daybook_http_connections_refused_total").increment(1);
                    }
                    Ok((stream, peer)) => {
                        let served = serve(stream, peer, router.clone(), self.options.head_timeout, graceful.watcher());
                        connections.spawn(served);
                    }
                    Err(fault) => {
                        warn!(%fault, "can't accept an HTTP connection");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(ended) = connections.join_next() => {
                    if let Err(fault) = ended {
                        error!(%fault, "an HTTP connection ended in a panic");
                    }
                }
            }
            metrics::gauge!("daybook_http_connections").set(connections.len() as f64);
        }
        drop(self.listener);
        if timeout(self.options.shutdown_grace, graceful.shutdown()).await.is_err() {
            info!(connections = connections.len(), "closing HTTP connections whose requests are not answered yet");
        }
        connections.shutdown().await;
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, router: Router, head_timeout: Duration, watcher: Watcher) {
    // Answers are written whole, so waiting for more bytes to fill a packet only delays them.
    if let Err(fault) = stream.set_nodelay(true) {
        debug!(%peer, %fault, "can't switch delays off");
    }
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(CONNECTION_REQUESTS_MAX)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .initial_stream_window_size(REQUEST_WINDOW_BYTES)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    // Until the first byte nothing is known of the protocol, so neither one's own timeout runs.
    match timeout(head_timeout, stream.peek(&mut [0])).await {
        Ok(Ok(_)) => {}
        Ok(Err(fault)) => return debug!(%peer, %fault, "closed an HTTP connection"),
        Err(_) => return debug!(%peer, "closed an HTTP connection on which nothing came"),
    }
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(fault) = watcher.watch(connection.into_owned()).await {
        debug!(%peer, fault = %fault, "closed an HTTP connection");
    }
}
