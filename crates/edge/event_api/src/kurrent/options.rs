//! What may be set, and the limits of what one client can hold.

use std::time::Duration;

use tokio::sync::watch;

/// What the HTTP server should allow a connection: calls that are open at once.
pub const STREAMS_PER_CONNECTION_MAX: u32 = 1024;

/// Events read from the store at once.
pub(super) const READ_PAGE_EVENTS: usize = 256;
/// Events looked at between two chances for others, however few of them pass a filter.
pub(super) const READ_LOOK_EVENTS: usize = 4096;
/// Answers made before the client has taken them.
pub(super) const ANSWERS_WAITING_MAX: usize = 32;
/// Appends of one batch call that wait for their answers; then its requests are not read.
pub(super) const BATCH_APPENDS_IN_FLIGHT_MAX: usize = 1024;
/// Appends of one batch call of which only parts have come.
pub(super) const BATCH_APPENDS_OPEN_MAX: usize = 1024;
/// Requests of one session of the second protocol.
pub(super) const SESSION_STREAMS_MAX: usize = 10_000;
/// What an event counts beside its type, data and metadata, so that many empty ones are bounded too.
pub(super) const EVENT_OVERHEAD_BYTES: usize = 64;
/// Steps that an expression which looks ahead or back may take over one name: some take for ever.
pub(super) const LOOKING_STEPS_MAX: usize = 100_000;
/// Events between two checkpoints of a filtered subscription, where the client names no window.
pub(super) const WINDOW_DEFAULT: u32 = 32;

/// Where clients reach a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
}

#[derive(Clone, Debug)]
pub struct Options {
    /// What clients that discover the cluster are told to connect to; `None`: the address that they asked.
    pub advertised: Option<Endpoint>,
    /// Bytes of one append: types, data and metadata of its events. The store may allow less.
    pub append_bytes_max: usize,
    /// Bytes of one event.
    pub event_bytes_max: usize,
    /// The longest that an append of a batch call may take. A client may ask for less.
    pub append_timeout: Duration,
    /// Turns true when the server shuts down; then subscriptions end.
    pub shutdown: Option<watch::Receiver<bool>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            advertised: None,
            append_bytes_max: 16 * 1024 * 1024,
            event_bytes_max: 16 * 1024 * 1024,
            append_timeout: Duration::from_secs(30),
            shutdown: None,
        }
    }
}

impl Options {
    /// The largest request: an append of the largest size, and what the encoding adds.
    pub(super) fn message_bytes_max(&self) -> usize {
        self.append_bytes_max.saturating_add(self.append_bytes_max / 2)
    }
}
