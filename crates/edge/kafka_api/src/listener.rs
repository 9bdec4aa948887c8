//! Accepts connections and ends them.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daybook_command::Door;
use daybook_group_coordinator::Coordinator;
use daybook_read::Reader;
use daybook_share_coordinator::ShareCoordinator;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::{debug, error, info, warn};

use crate::broker::{Broker, SharedBroker};
use crate::fetch_session::FetchSessions;
use crate::log_limit::LogLimit;
use crate::meter::Meter;
use crate::options::Options;
use crate::quota::Quotas;
use crate::session::{End, Session};
use crate::telemetry::Telemetry;
use crate::transaction_timer::keep_time;

/// After accept failed: most likely this process has no file descriptor left, and needs a moment to get some back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Lines about bad peers: so many in a window of so long.
const BAD_PEER_LINES_MAX: u32 = 10;
const BAD_PEER_WINDOW: Duration = Duration::from_secs(10);

/// The Kafka door of a node, bound and not yet accepting.
pub struct Server {
    listener: TcpListener,
    local_addr: SocketAddr,
    broker: SharedBroker,
    stop: watch::Sender<bool>,
    bad_peers: LogLimit,
}

impl Server {
    /// Binds to `addr`; port 0 takes a free one.
    pub async fn bind(
        addr: SocketAddr,
        options: Options,
        door: Door,
        reader: Reader,
        coordinator: Coordinator,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        let local_addr = listener.local_addr()?;
        let (stop, stopping) = watch::channel(false);
        let options = options.within_wire_limits();
        let share = ShareCoordinator::start(options.share.clone(), door.clone(), reader.clone());
        let broker = Broker {
            share,
            advertised: Broker::endpoint(&options, local_addr.port()),
            fetch_sessions: FetchSessions::new(options.fetch_sessions_max),
            meter: Meter::new(),
            quotas: Quotas::default(),
            telemetry: Telemetry::default(),
            started: Instant::now(),
            options,
            door,
            reader,
            coordinator,
            stopping,
        };
        let bad_peers = LogLimit::new(BAD_PEER_LINES_MAX, BAD_PEER_WINDOW, Instant::now());
        Ok(Self { listener, local_addr, broker: Arc::new(broker), stop, bad_peers })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown` resolves; then accepts no more, and gives requests in flight `shutdown_grace` to be answered.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut sessions = JoinSet::new();
        let mut timer = JoinSet::new();
        timer.spawn(keep_time(Arc::clone(&self.broker)));
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => self.admit(&mut sessions, stream, peer),
                    Err(fault) => {
                        warn!(%fault, "can't accept a connection");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(ended) = sessions.join_next() => self.ended(ended),
            }
        }
        drop(self.listener);
        timer.abort_all();
        self.stop.send_replace(true);
        // Members that wait for their group to come together would wait beyond the grace.
        self.broker.coordinator.close();
        let rest = async {
            while let Some(ended) = sessions.join_next().await {
                log_panic(ended);
            }
        };
        if timeout(self.broker.options.shutdown_grace, rest).await.is_err() {
            info!(connections = sessions.len(), "closing connections whose requests are not answered yet");
            sessions.shutdown().await;
        }
    }

    fn admit(&self, sessions: &mut JoinSet<(SocketAddr, End)>, stream: TcpStream, peer: SocketAddr) {
        let connections_max = self.broker.options.connections_max;
        if sessions.len() >= connections_max {
            self.broker.meter.connections_refused.increment(1);
            self.about_bad_peer(|suppressed| {
                warn!(%peer, connections_max, suppressed, "refused a connection: there are as many as may be");
            });
            return;
        }
        debug!(%peer, "accept");
        // Answers are written whole, so waiting for more bytes to fill a packet only delays them.
        if let Err(fault) = stream.set_nodelay(true) {
            debug!(%peer, %fault, "can't switch delays off");
        }
        let broker = Arc::clone(&self.broker);
        let held_ms = broker.quotas.record_connection(&broker.reader.catalog(), peer.ip(), broker.monotonic_ms());
        if held_ms > 0 {
            // As in Kafka: closed at once, the peer would come again at once.
            broker.meter.throttled();
            let mut stopping = broker.stopping.clone();
            sessions.spawn(async move {
                let stopped = stopping.wait_for(|stopping| *stopping);
                let _ = timeout(Duration::from_millis(held_ms.into()), stopped).await;
                drop(stream);
                (peer, End::TooManyConnections)
            });
        } else {
            let session = Session::new(stream, peer, broker);
            sessions.spawn(async move { (peer, session.run().await) });
        }
        self.broker.meter.connections.set(sessions.len() as f64);
    }

    fn ended(&self, ended: Result<(SocketAddr, End), JoinError>) {
        self.broker.meter.connections.decrement(1.0);
        let Some((peer, end)) = log_panic(ended) else { return };
        if end.is_fault_of_ours() {
            self.about_bad_peer(|suppressed| error!(%peer, cause = %end, suppressed, "closed a connection"));
        } else if end.is_worth_a_line() {
            self.about_bad_peer(|suppressed| warn!(%peer, cause = %end, suppressed, "closed a connection"));
        } else {
            debug!(%peer, cause = %end, "closed a connection");
        }
    }

    fn about_bad_peer(&self, line: impl FnOnce(u64)) {
        if let Some(suppressed) = self.bad_peers.admit(Instant::now()) {
            line(suppressed);
        }
    }
}

/// A connection that panicked takes no other with it.
fn log_panic<T>(ended: Result<T, JoinError>) -> Option<T> {
    ended.map_err(|fault| error!(%fault, "a connection ended in a panic")).ok()
}
