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
    pub retention_ms: i64,
    pub retention_bytes: i64,
    /// Every key is a stream.
    pub streams: bool,
}

impl TopicSettings {
    /// Values were checked when they were set; one that can't be read all the same counts as not set.
    pub fn of(configs: &BTreeMap<String, String>) -> Self {
        let text = |name: &str| {
            let default = definition(name).map_or("", |definition| definition.default);
            configs.get(name).map_or(default, String::as_str)
        };
        let number = |name: &str| {
            let default = definition(name).and_then(|definition| definition.default.parse().ok()).unwrap_or_default();
            configs.get(name).and_then(|value| value.trim().parse::<i64>().ok()).unwrap_or(default)
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
            retention_ms: number("retention.ms"),
            retention_bytes: number("retention.bytes"),
            streams: text("daybook.streams").trim().eq_ignore_ascii_case("true"),
        }
    }
}
