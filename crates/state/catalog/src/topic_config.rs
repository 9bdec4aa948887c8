//! Every config a topic can have: default, type, legal values; and what makes a value of any config legal. Names, defaults and ranges are Apache Kafka 4.x's
//! (`org.apache.kafka.storage.internals.log.LogConfig`); the texts are ours.

use std::collections::BTreeMap;

use thiserror::Error;

/// Kafka's types of a config value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigKind {
    Boolean,
    String,
    Int,
    Long,
    Double,
    List,
}

#[derive(Clone, Copy, Debug)]
pub enum Accepts {
    Boolean,
    /// Whole numbers from the first to the last, both legal.
    Whole(i64, i64),
    /// Fractions from the first to the last, both legal.
    Fraction(f64, f64),
    OneOf(&'static [&'static str]),
    /// A comma-separated list of these, perhaps empty.
    SomeOf(&'static [&'static str]),
    /// -1, or whole numbers from the first to the last.
    WholeOrNone(i64, i64),
    /// `*`, or a list of `partition:broker`.
    Replicas,
    AnyText,
    /// A list that this node keeps and does not read.
    AnyList,
}

#[derive(Clone, Copy, Debug)]
pub struct Definition {
    pub name: &'static str,
    pub default: &'static str,
    pub kind: ConfigKind,
    pub accepts: Accepts,
    /// The broker config that Kafka names as this one's default.
    pub synonym: &'static str,
    pub documentation: &'static str,
    /// Whether this node acts on it; else it is kept and shown.
    pub has_effect: bool,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigRefusal {
    #[error("Unknown topic config name: {name}")]
    Unknown { name: String },
    #[error("Invalid value {value} for configuration {name}: {accepted}")]
    Value { name: String, value: String, accepted: String },
    #[error("conflict topic config setting min.compaction.lag.ms ({min}) > max.compaction.lag.ms ({max})")]
    Lags { min: i64, max: i64 },
}

/// All topic configs, by name.
pub fn definitions() -> &'static [Definition] {
    DEFINITIONS
}

pub fn definition(name: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|definition| definition.name == name)
}

/// Whether `value` may be set for the config `name`.
pub fn check(name: &str, value: &str) -> Result<(), ConfigRefusal> {
    let definition = definition(name).ok_or_else(|| ConfigRefusal::Unknown { name: name.to_owned() })?;
    check_value(definition, value)
}

/// Whether a topic's configs go together.
pub fn check_together(configs: &BTreeMap<String, String>) -> Result<(), ConfigRefusal> {
    let number = |name: &str| {
        let default = definition(name).map_or("", |definition| definition.default);
        configs.get(name).map_or(default, String::as_str).trim().parse::<i64>().unwrap_or_default()
    };
    let (min, max) = (number("min.compaction.lag.ms"), number("max.compaction.lag.ms"));
    if min > max { Err(ConfigRefusal::Lags { min, max }) } else { Ok(()) }
}

/// Whether `value` is one that the definition accepts, of a topic or of anything else.
pub fn check_value(definition: &Definition, value: &str) -> Result<(), ConfigRefusal> {
    let name = definition.name;
    let refuse =
        |accepted: String| Err(ConfigRefusal::Value { name: name.to_owned(), value: value.to_owned(), accepted });
    let value = value.trim();
    match definition.accepts {
        Accepts::Boolean if !matches!(value.to_ascii_lowercase().as_str(), "true" | "false") => {
            refuse("it must be true or false".into())
        }
        Accepts::Whole(first, last) if !value.parse().is_ok_and(|number: i64| (first..=last).contains(&number)) => {
            refuse(format!("it must be a whole number from {first} to {last}"))
        }
        Accepts::Fraction(first, last) if !value.parse().is_ok_and(|number: f64| (first..=last).contains(&number)) => {
            refuse(format!("it must be a number from {first} to {last}"))
        }
        Accepts::OneOf(values) if !values.contains(&value) => {
            refuse(format!("it must be one of {}", values.join(", ")))
        }
        Accepts::WholeOrNone(first, last)
            if !value.parse().is_ok_and(|number: i64| number == -1 || (first..=last).contains(&number)) =>
        {
            refuse(format!("it must be -1 or a whole number from {first} to {last}"))
        }
        Accepts::Replicas if !is_replicas(value) => {
            refuse("it must be * or a list of partition:broker, as in 0:1,1:1".into())
        }
        Accepts::SomeOf(values) if !value.is_empty() && !value.split(',').all(|part| values.contains(&part.trim())) => {
            refuse(format!("it must be a list of {}", values.join(", ")))
        }
        _ => Ok(()),
    }
}

fn is_replicas(list: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_replica = |item: &str| {
        item.trim().split_once(':').is_some_and(|(partition, broker)| is_number(partition) && is_number(broker))
    };
    list.is_empty() || list == "*" || list.split(',').all(is_replica)
}

const INT_MAX: i64 = i32::MAX as i64;
const COMPRESSION: &[&str] = &["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"];

macro_rules! definitions {
    ($($name:literal = $default:literal, $kind:ident, $accepts:expr, $synonym:literal, $effect:literal, $doc:literal;)*) => {
        const DEFINITIONS: &[Definition] = &[$(Definition {
            name: $name,
            default: $default,
            kind: ConfigKind::$kind,
            accepts: $accepts,
            synonym: $synonym,
            documentation: $doc,
            has_effect: $effect,
        }),*];
    };
}

definitions! {
    "cleanup.policy" = "delete", List, Accepts::SomeOf(&["compact", "delete"]), "log.cleanup.policy", true,
        "What becomes of old records: delete them by age and size, keep only the latest of each key, or both.";
    "compression.gzip.level" = "-1", Int, Accepts::WholeOrNone(1, 9), "compression.gzip.level", false,
        "Level for gzip where the broker compresses; batches are kept as the producer compressed them.";
    "compression.lz4.level" = "9", Int, Accepts::Whole(1, 17), "compression.lz4.level", false,
        "Level for lz4 where the broker compresses; batches are kept as the producer compressed them.";
    "compression.type" = "producer", String, Accepts::OneOf(COMPRESSION), "compression.type", false,
        "Compression of the stored batches; they are kept as the producer compressed them.";
    "compression.zstd.level" = "3", Int, Accepts::Whole(-131_072, 22), "compression.zstd.level", false,
        "Level for zstd where the broker compresses; batches are kept as the producer compressed them.";
    "daybook.streams" = "false", Boolean, Accepts::Boolean, "daybook.streams", true,
        "Whether every key is a stream with an index: readable by itself, appended to on conditions.";
    "delete.retention.ms" = "86400000", Long, Accepts::Whole(0, i64::MAX), "log.cleaner.delete.retention.ms", true,
        "How long a compacted topic keeps a tombstone after a compaction has met it, so that readers see the deletion.";
    "file.delete.delay.ms" = "60000", Long, Accepts::Whole(0, i64::MAX), "log.segment.delete.delay.ms", false,
        "Wait before a file is removed; here a file goes as soon as no reader holds it.";
    "flush.messages" = "9223372036854775807", Long, Accepts::Whole(1, i64::MAX), "log.flush.interval.messages", false,
        "Records between fsyncs; here every acknowledged record is already in the fsynced log.";
    "flush.ms" = "9223372036854775807", Long, Accepts::Whole(0, i64::MAX), "log.flush.interval.ms", false,
        "Time between fsyncs; here every acknowledged record is already in the fsynced log.";
    "follower.replication.throttled.replicas" = "", List, Accepts::Replicas, "follower.replication.throttled.replicas", false,
        "Replicas whose catching up is throttled.";
    "index.interval.bytes" = "4096", Int, Accepts::Whole(0, INT_MAX), "log.index.interval.bytes", true,
        "Bytes of records between two entries of a segment's index.";
    "leader.replication.throttled.replicas" = "", List, Accepts::Replicas, "leader.replication.throttled.replicas", false,
        "Replicas whose feeding is throttled.";
    "local.retention.bytes" = "-2", Long, Accepts::Whole(-2, i64::MAX), "log.local.retention.bytes", false,
        "Bytes kept on the node when segments are also in remote storage.";
    "local.retention.ms" = "-2", Long, Accepts::Whole(-2, i64::MAX), "log.local.retention.ms", false,
        "Time kept on the node when segments are also in remote storage.";
    "max.compaction.lag.ms" = "9223372036854775807", Long, Accepts::Whole(1, i64::MAX), "log.cleaner.max.compaction.lag.ms", true,
        "Longest time a record may stay out of compaction.";
    "max.message.bytes" = "1048588", Int, Accepts::Whole(0, INT_MAX), "message.max.bytes", true,
        "Largest record batch accepted, in bytes, compressed as it is.";
    "message.timestamp.after.max.ms" = "3600000", Long, Accepts::Whole(0, i64::MAX), "log.message.timestamp.after.max.ms", true,
        "How far a producer's timestamp may lie after the log's clock.";
    "message.timestamp.before.max.ms" = "9223372036854775807", Long, Accepts::Whole(0, i64::MAX), "log.message.timestamp.before.max.ms", true,
        "How far a producer's timestamp may lie before the log's clock.";
    "message.timestamp.type" = "CreateTime", String, Accepts::OneOf(&["CreateTime", "LogAppendTime"]), "log.message.timestamp.type", true,
        "Whether a record's timestamp is the producer's or the log's.";
    "min.cleanable.dirty.ratio" = "0.5", Double, Accepts::Fraction(0.0, 1.0), "log.cleaner.min.cleanable.ratio", true,
        "Part of a compacted topic that must be new before it is compacted again.";
    "min.compaction.lag.ms" = "0", Long, Accepts::Whole(0, i64::MAX), "log.cleaner.min.compaction.lag.ms", true,
        "Shortest time a record stays out of compaction.";
    "min.insync.replicas" = "1", Int, Accepts::Whole(1, INT_MAX), "min.insync.replicas", false,
        "Members that must have a write; here a quorum of the shard always has it.";
    "preallocate" = "false", Boolean, Accepts::Boolean, "log.preallocate", false,
        "Whether segment files are allocated ahead; here the write-ahead log always is.";
    "remote.copy.disable" = "false", Boolean, Accepts::Boolean, "remote.log.copy.disable", false,
        "Whether copying to remote storage is paused.";
    "remote.log.delete.on.disable" = "false", Boolean, Accepts::Boolean, "remote.log.delete.on.disable", false,
        "Whether remote data goes when remote storage is switched off.";
    "remote.storage.enable" = "false", Boolean, Accepts::OneOf(&["false"]), "remote.log.storage.system.enable", false,
        "Whether cold segments move to remote storage; not available yet.";
    "retention.bytes" = "-1", Long, Accepts::Whole(i64::MIN, i64::MAX), "log.retention.bytes", true,
        "Bytes a partition keeps before its oldest segments go; -1 for no limit. An event topic has the limit only if it is set for it.";
    "retention.ms" = "604800000", Long, Accepts::Whole(-1, i64::MAX), "log.retention.ms", true,
        "Time a partition keeps records before its oldest segments go; -1 for no limit. An event topic has the limit only if it is set for it.";
    "segment.bytes" = "1073741824", Int, Accepts::Whole(1_048_576, INT_MAX), "log.segment.bytes", true,
        "Size at which a partition begins a new segment file.";
    "segment.index.bytes" = "10485760", Int, Accepts::Whole(4, INT_MAX), "log.index.size.max.bytes", false,
        "Largest index of a segment; here an index grows as it must.";
    "segment.jitter.ms" = "0", Long, Accepts::Whole(0, i64::MAX), "log.roll.jitter.ms", false,
        "Random part of segment.ms, so that segments don't all roll at once.";
    "segment.ms" = "604800000", Long, Accepts::Whole(1, i64::MAX), "log.roll.ms", true,
        "Age at which a partition begins a new segment file even if it is not full.";
    "unclean.leader.election.enable" = "false", Boolean, Accepts::Boolean, "unclean.leader.election.enable", false,
        "Whether a member without all acknowledged records may lead; here it never may.";
}
