//! A topic's configs as the values the log works with.

use std::collections::BTreeMap;

use crate::topic_config::definition;

/// Whose clock a record's timestamp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampKind {
    /// The producer's.
    CreateTime,
    /// The log's: the time its entry was proposed.
    LogAppendTime,
}

/// Which limits of retention a topic has of its own, rather than by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionIsOwn {
    pub ms: bool,
    pub bytes: bool,
}

/// Effective settings of a topic: overrides over defaults. Units as in the names; -1 for "no limit" where Kafka has it.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicSettings {
    pub cleanup_compact: bool,
    pub cleanup_delete: bool,
    /// Largest batch accepted, in bytes of the whole batch.
    pub max_message_bytes: usize,
    pub timestamp_kind: TimestampKind,
    /// How much older than the log's clock a producer's timestamp may be.
    pub message_timestamp_before_max_ms: i64,
    /// How much newer than the log's clock a producer's timestamp may be.
    pub message_timestamp_after_max_ms: i64,
    pub segment_bytes: u64,
    pub index_interval_bytes: u32,
    /// Age at which a segment is closed even if it is not full.
    pub segment_ms: i64,
    pub retention_ms: i64,
    pub retention_bytes: i64,
    /// Whether they were set for this topic itself.
    pub retention_is_own: RetentionIsOwn,
    /// How long a tombstone stays after it was first compacted over.
    pub delete_retention_ms: i64,
    pub min_compaction_lag_ms: i64,
    pub max_compaction_lag_ms: i64,
    /// Share of bytes never compacted from which on it is worth it.
    pub min_cleanable_dirty_ratio: f64,
    /// Every key is a stream.
    pub streams: bool,
}

impl TopicSettings {
    /// A topic's own `configs` over what brokers were told, `of_brokers`, by their names for it. Values were checked when they were
    /// set; one that can't be read all the same counts as not set.
    pub fn of(configs: &BTreeMap<String, String>, of_brokers: &BTreeMap<String, String>) -> Self {
        let set = |name: &str| {
            let of_broker = || definition(name).and_then(|definition| of_brokers.get(definition.synonym));
            configs.get(name).or_else(of_broker)
        };
        let text = |name: &str| {
            let default = definition(name).map_or("", |definition| definition.default);
            set(name).map_or(default, String::as_str)
        };
        let number = |name: &str| {
            let default = definition(name).and_then(|definition| definition.default.parse().ok()).unwrap_or_default();
            set(name).and_then(|value| value.trim().parse::<i64>().ok()).unwrap_or(default)
        };
        let fraction = |name: &str| {
            let default = definition(name).and_then(|definition| definition.default.parse().ok()).unwrap_or_default();
            set(name).and_then(|value| value.trim().parse::<f64>().ok()).unwrap_or(default)
        };
        let policies: Vec<&str> = text("cleanup.policy").split(',').map(str::trim).collect();
        Self {
            cleanup_compact: policies.contains(&"compact"),
            cleanup_delete: policies.contains(&"delete"),
            max_message_bytes: usize::try_from(number("max.message.bytes")).unwrap_or(0),
            timestamp_kind: match text("message.timestamp.type") {
                "LogAppendTime" => TimestampKind::LogAppendTime,
                _ => TimestampKind::CreateTime,
            },
            message_timestamp_before_max_ms: number("message.timestamp.before.max.ms"),
            message_timestamp_after_max_ms: number("message.timestamp.after.max.ms"),
            segment_bytes: u64::try_from(number("segment.bytes")).unwrap_or(u64::MAX),
            index_interval_bytes: u32::try_from(number("index.interval.bytes")).unwrap_or(u32::MAX),
            segment_ms: number("segment.ms"),
            retention_ms: number("retention.ms"),
            retention_bytes: number("retention.bytes"),
            retention_is_own: RetentionIsOwn {
                ms: configs.contains_key("retention.ms"),
                bytes: configs.contains_key("retention.bytes"),
            },
            delete_retention_ms: number("delete.retention.ms"),
            min_compaction_lag_ms: number("min.compaction.lag.ms"),
            max_compaction_lag_ms: number("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio: fraction("min.cleanable.dirty.ratio"),
            // A topic's own alone: the index of streams is looked after when a topic is changed.
            streams: configs.get("daybook.streams").is_some_and(|value| value.trim().eq_ignore_ascii_case("true")),
        }
    }

    /// Whether only the latest record of each key is kept. What an event topic keeps is its streams' affair.
    pub fn is_compacted(&self) -> bool {
        self.cleanup_compact && !self.streams
    }

    /// The age at which a segment is closed: a record that must not wait longer for its compaction must not wait for its segment either.
    pub fn segment_ms_max(&self) -> i64 {
        if self.is_compacted() { self.segment_ms.min(self.max_compaction_lag_ms) } else { self.segment_ms }
    }

    /// The age at which records go, if they do by age. An event topic is a store: there it takes a limit of its own, not a default.
    pub fn retention_ms_limit(&self) -> Option<i64> {
        let applies = self.cleanup_delete && (!self.streams || self.retention_is_own.ms);
        Some(self.retention_ms).filter(|limit| applies && *limit >= 0)
    }

    /// The bytes that a partition keeps, if there is a limit; see `retention_ms_limit` about event topics.
    pub fn retention_bytes_limit(&self) -> Option<u64> {
        let applies = self.cleanup_delete && (!self.streams || self.retention_is_own.bytes);
        u64::try_from(self.retention_bytes).ok().filter(|_| applies)
    }
}
