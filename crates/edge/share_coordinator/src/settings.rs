//! What holds for groups that have no configs of their own, and how much may be held in memory.

/// Times are in milliseconds. Kafka's name stands in the comment; the values are Kafka's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `group.share.record.lock.duration.ms`
    pub lock_ms: u64,
    /// `group.share.min.record.lock.duration.ms`
    pub lock_ms_min: u64,
    /// `group.share.max.record.lock.duration.ms`
    pub lock_ms_max: u64,
    /// `group.share.delivery.count.limit`
    pub delivery_count_limit: u32,
    /// `group.share.partition.max.record.locks`
    pub locks_max: u64,
    /// `group.share.session.timeout.ms`
    pub session_timeout_ms: u64,
    /// `group.share.heartbeat.interval.ms`
    pub heartbeat_interval_ms: u64,
    /// `group.share.max.size`
    pub members_max: usize,
    /// `group.share.max.share.sessions`
    pub sessions_max: usize,
    /// The most groups that have members.
    pub groups_max: usize,
    /// The most share-partitions in memory; one that nobody fetches any more is forgotten and read again from the log's state.
    pub share_partitions_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lock_ms: 30_000,
            lock_ms_min: 15_000,
            lock_ms_max: 60_000,
            delivery_count_limit: 5,
            locks_max: 2_000,
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 5_000,
            members_max: 200,
            sessions_max: 2_000,
            groups_max: 10_000,
            share_partitions_max: 100_000,
        }
    }
}
