//! What every request handler works with: the door for writes, the reader for reads, the groups' coordinator, and who asks.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use daybook_command::{Applied, Command, Door, Outcome, ProposeError};
use daybook_group_coordinator::Coordinator;
use daybook_read::Reader;
use daybook_share_coordinator::ShareCoordinator;
use daybook_types::TimestampMs;
use tokio::sync::watch;

use crate::fetch_session::FetchSessions;
use crate::meter::Meter;
use crate::options::Options;
use crate::quota::Quotas;
use crate::telemetry::{Client, Telemetry};
use crate::wire::messages::BrokerId;
use crate::wire::{StrBytes, text};

/// One node as its Kafka clients see it. Shared by all connections.
pub(crate) struct Broker {
    pub options: Options,
    pub door: Door,
    pub reader: Reader,
    pub coordinator: Coordinator,
    pub share: ShareCoordinator,
    pub fetch_sessions: FetchSessions,
    pub meter: Meter,
    pub quotas: Quotas,
    pub telemetry: Telemetry,
    /// Where clients are told to come.
    pub advertised: Endpoint,
    /// Turns true once when the server is told to stop.
    pub stopping: watch::Receiver<bool>,
    pub started: Instant,
}

#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub node: BrokerId,
    pub host: StrBytes,
    pub port: i32,
}

/// Who sent a request, and in which version they speak.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub peer: SocketAddr,
    pub client_id: StrBytes,
    pub version: i16,
    /// The number of its connection, given to no other one while the node runs.
    pub connection: u64,
    /// What the client's software is called, and its version; as it said it when it came.
    pub software: Arc<OnceLock<(String, String)>>,
}

impl Caller {
    pub fn as_client(&self) -> Client<'_> {
        let software = self.software.get().map_or(("", ""), |(name, version)| (name.as_str(), version.as_str()));
        Client { id: &self.client_id, software, peer: self.peer }
    }
}

impl Broker {
    /// Writes one command and waits until it is applied.
    pub async fn apply(&self, command: Command) -> Result<Outcome, ProposeError> {
        let Applied { mut outcomes, .. } = self.door.propose(vec![command]).await?.await?;
        // One outcome a command is the door's promise; were it broken, nobody could say what happened.
        outcomes.pop().ok_or(ProposeError::Unknown)
    }

    /// Notes how long a request of the client kept the server busy: how long it has to wait for the next.
    pub fn throttle_request(&self, caller: &Caller, busy: Duration) -> u32 {
        self.quotas.record_request(&self.reader.catalog(), &caller.client_id, busy, self.monotonic_ms())
    }

    /// Milliseconds since the server started: a clock that doesn't go back.
    pub fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub fn endpoint(options: &Options, bound_port: u16) -> Endpoint {
        Endpoint {
            node: BrokerId(options.node_id),
            host: text(options.advertised_host.clone()),
            port: options.advertised_port.unwrap_or(bound_port).into(),
        }
    }
}

/// This machine's clock, for what is judged at the door; the log stamps its own time.
pub(crate) fn now() -> TimestampMs {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    TimestampMs(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// Shared by everything that serves connections.
pub(crate) type SharedBroker = Arc<Broker>;
