//! What an operator can set about this door, and its limits.

use std::time::Duration;

/// Where Kafka has a name for a setting, it stands in the comment; so does Kafka's default where ours differs.
#[derive(Clone, Debug)]
pub struct Options {
    /// `advertised.listeners`: where clients are told to come.
    pub advertised_host: String,
    /// None: the port that was bound.
    pub advertised_port: Option<u16>,
    /// `node.id`
    pub node_id: i32,
    /// `cluster.id`
    pub cluster_id: String,
    /// `log.dirs`: where the data is, as it is told to those who ask.
    pub log_dir: String,
    /// `auto.create.topics.enable`
    pub auto_create_topics: bool,
    /// `num.partitions`
    pub default_partitions: i32,
    /// The most partitions a topic may have.
    pub topic_partitions_max: i32,
    /// `max.connections` (none by default)
    pub connections_max: usize,
    /// `socket.request.max.bytes`
    pub request_bytes_max: usize,
    /// Bytes of one connection's requests that were read and not yet answered; beyond it the socket isn't read. A larger request is
    /// taken when it is alone.
    pub connection_in_flight_bytes_max: usize,
    /// Requests of one connection that were read and not yet answered.
    pub connection_in_flight_requests_max: usize,
    /// `connections.max.idle.ms`: a peer that sends nothing, that doesn't finish a request or that takes no answer for so long is cut off.
    pub idle_timeout: Duration,
    /// How long requests in flight may go on after the server was told to stop.
    pub shutdown_grace: Duration,
    /// `max.incremental.fetch.session.cache.slots`
    pub fetch_sessions_max: usize,
    /// `fetch.max.bytes`: the most bytes of records in one answer, whatever the client asks.
    pub fetch_bytes_max: usize,
    /// The longest that a fetch waits for records, whatever the client asks.
    pub fetch_wait_max: Duration,
    /// `offset.metadata.max.bytes`
    pub offset_metadata_bytes_max: usize,
    /// `group.share.*`
    pub share: daybook_share_coordinator::Settings,
    /// `transaction.max.timeout.ms`
    pub transaction_timeout_max_ms: i32,
    /// `transactional.id.expiration.ms`
    pub transactional_id_expiration_ms: i64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            advertised_host: "127.0.0.1".into(),
            advertised_port: None,
            node_id: 0,
            cluster_id: "daybook".into(),
            log_dir: "data".into(),
            auto_create_topics: true,
            default_partitions: 1,
            topic_partitions_max: 10_000,
            connections_max: 10_000,
            request_bytes_max: 100 * 1024 * 1024,
            connection_in_flight_bytes_max: 16 * 1024 * 1024,
            connection_in_flight_requests_max: 256,
            idle_timeout: Duration::from_secs(600),
            shutdown_grace: Duration::from_secs(2),
            fetch_sessions_max: 1_000,
            fetch_bytes_max: 55 * 1024 * 1024,
            fetch_wait_max: Duration::from_secs(300),
            offset_metadata_bytes_max: 4096,
            share: daybook_share_coordinator::Settings::default(),
            transaction_timeout_max_ms: 900_000,
            transactional_id_expiration_ms: 604_800_000,
        }
    }
}

/// Sizes on the wire have 31 bits; this leaves room for what stands around requests and records.
const WIRE_BYTES_MAX: usize = 1 << 30;

impl Options {
    /// The same, no limit larger than the protocol can carry, and none that would stop everything.
    pub(crate) fn within_wire_limits(mut self) -> Self {
        self.request_bytes_max = self.request_bytes_max.min(WIRE_BYTES_MAX);
        self.fetch_bytes_max = self.fetch_bytes_max.min(WIRE_BYTES_MAX);
        self.connection_in_flight_requests_max = self.connection_in_flight_requests_max.max(1);
        self
    }
}
