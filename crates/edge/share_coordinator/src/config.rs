//! The configs of groups (Kafka's resource type `GROUP`): names, defaults, ranges, and what they are set to.

use daybook_read::ConfigsOfGroup;
use thiserror::Error;

use crate::core::Rules;
use crate::settings::Settings;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Flag,
    Int,
    Text,
}

/// One config of groups.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    pub name: &'static str,
    pub kind: Kind,
    /// The broker config from which the default comes, if there is one.
    pub synonym: Option<&'static str>,
    pub documentation: &'static str,
    value: Value,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Number { default: fn(&Settings) -> u64, min: fn(&Settings) -> u64, max: fn(&Settings) -> u64 },
    OneOf { default: &'static str, words: &'static [&'static str] },
    Reset,
}

/// Why a value can't be set.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidConfig {
    #[error("groups have no config {name}")]
    Unknown { name: String },
    #[error("{value} is not a legal value of {name}: {wanted}")]
    Value { name: &'static str, value: String, wanted: String },
}

/// Where a share-partition begins that has no start offset yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    Earliest,
    Latest,
    /// So many milliseconds before now.
    ByDuration(u64),
}

/// What a share group's configs come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    pub rules: Rules,
    pub session_timeout_ms: u64,
    pub heartbeat_interval_ms: u64,
    pub reset: Reset,
    pub read_committed: bool,
    pub renew: bool,
}

pub const READ_COMMITTED: &str = "read_committed";

const LOCK: &str = "share.record.lock.duration.ms";
const LIMIT: &str = "share.delivery.count.limit";
const LOCKS: &str = "share.partition.max.record.locks";
const SESSION: &str = "share.session.timeout.ms";
const HEARTBEAT: &str = "share.heartbeat.interval.ms";
const RESET: &str = "share.auto.offset.reset";
const ISOLATION: &str = "share.isolation.level";
const RENEW: &str = "share.renew.acknowledge.enable";

/// By name.
pub const TABLE: &[Definition] = &[
    Definition {
        name: "consumer.heartbeat.interval.ms",
        kind: Kind::Int,
        synonym: Some("group.consumer.heartbeat.interval.ms"),
        documentation: "How often a member of a consumer group is to send a heartbeat.",
        value: Value::Number { default: |_| 5_000, min: |_| 5_000, max: |_| 15_000 },
    },
    Definition {
        name: "consumer.session.timeout.ms",
        kind: Kind::Int,
        synonym: Some("group.consumer.session.timeout.ms"),
        documentation: "A member of a consumer group that isn't heard of for so long is put out.",
        value: Value::Number { default: |_| 45_000, min: |_| 45_000, max: |_| 60_000 },
    },
    Definition {
        name: RESET,
        kind: Kind::Text,
        synonym: None,
        documentation: "Where a share-partition without a start offset begins: earliest, latest or by_duration:PnDTnHnMn.nS.",
        value: Value::Reset,
    },
    Definition {
        name: LIMIT,
        kind: Kind::Int,
        synonym: Some("group.share.delivery.count.limit"),
        documentation: "How often a record is delivered before it is given up.",
        value: Value::Number { default: |settings| settings.delivery_count_limit.into(), min: |_| 2, max: |_| 10 },
    },
    Definition {
        name: HEARTBEAT,
        kind: Kind::Int,
        synonym: Some("group.share.heartbeat.interval.ms"),
        documentation: "How often a member of a share group is to send a heartbeat.",
        value: Value::Number { default: |settings| settings.heartbeat_interval_ms, min: |_| 5_000, max: |_| 15_000 },
    },
    Definition {
        name: ISOLATION,
        kind: Kind::Text,
        synonym: None,
        documentation: "Whether records of open and aborted transactions are delivered.",
        value: Value::OneOf { default: "read_uncommitted", words: &[READ_COMMITTED, "read_uncommitted"] },
    },
    Definition {
        name: LOCKS,
        kind: Kind::Int,
        synonym: Some("group.share.partition.max.record.locks"),
        documentation: "New records of a partition are delivered while fewer than these are between its start offset and the last one delivered.",
        value: Value::Number { default: |settings| settings.locks_max, min: |_| 100, max: |_| 4_000 },
    },
    Definition {
        name: LOCK,
        kind: Kind::Int,
        synonym: Some("group.share.record.lock.duration.ms"),
        documentation: "How long a member may hold a record before it is delivered to another one.",
        value: Value::Number {
            default: |settings| settings.lock_ms,
            min: |settings| settings.lock_ms_min,
            max: |settings| settings.lock_ms_max,
        },
    },
    Definition {
        name: RENEW,
        kind: Kind::Flag,
        synonym: None,
        documentation: "Whether a member may renew the lock of a record.",
        value: Value::OneOf { default: "true", words: &["true", "false"] },
    },
    Definition {
        name: SESSION,
        kind: Kind::Int,
        synonym: Some("group.share.session.timeout.ms"),
        documentation: "A member of a share group that isn't heard of for so long is put out.",
        value: Value::Number { default: |settings| settings.session_timeout_ms, min: |_| 45_000, max: |_| 60_000 },
    },
];

impl Definition {
    pub fn default(&self, settings: &Settings) -> String {
        match self.value {
            Value::Number { default, .. } => default(settings).to_string(),
            Value::OneOf { default, .. } => default.to_owned(),
            Value::Reset => "latest".to_owned(),
        }
    }

    fn check(&self, value: &str, settings: &Settings) -> Result<(), InvalidConfig> {
        let invalid = |wanted: String| InvalidConfig::Value { name: self.name, value: value.to_owned(), wanted };
        match self.value {
            Value::Number { min, max, .. } => {
                let range = min(settings)..=max(settings);
                let is_within = value.trim().parse().is_ok_and(|number: u64| range.contains(&number));
                let wanted = || format!("a number from {} to {}", range.start(), range.end());
                if is_within { Ok(()) } else { Err(invalid(wanted())) }
            }
            Value::OneOf { words, .. } => {
                if words.contains(&value) {
                    Ok(())
                } else {
                    Err(invalid(format!("one of {}", words.join(", "))))
                }
            }
            Value::Reset => {
                let wanted = "earliest, latest or by_duration:PnDTnHnMn.nS";
                parse_reset(value).map(drop).ok_or_else(|| invalid(wanted.to_owned()))
            }
        }
    }
}

pub fn find(name: &str) -> Option<&'static Definition> {
    TABLE.iter().find(|definition| definition.name == name)
}

/// Whether a config may be set so.
pub fn check(name: &str, value: &str, settings: &Settings) -> Result<(), InvalidConfig> {
    find(name).ok_or_else(|| InvalidConfig::Unknown { name: name.to_owned() })?.check(value, settings)
}

impl GroupSettings {
    pub fn of(configs: &ConfigsOfGroup, settings: &Settings) -> Self {
        let text = |name: &str| configs.get(name).map(String::as_str);
        let number = |name: &str, default: u64| text(name).and_then(|text| text.trim().parse().ok()).unwrap_or(default);
        let limit = number(LIMIT, settings.delivery_count_limit.into());
        Self {
            rules: Rules {
                delivery_count_limit: u32::try_from(limit).unwrap_or(u32::MAX),
                locks_max: number(LOCKS, settings.locks_max),
                lock_ms: number(LOCK, settings.lock_ms),
            },
            session_timeout_ms: number(SESSION, settings.session_timeout_ms),
            heartbeat_interval_ms: number(HEARTBEAT, settings.heartbeat_interval_ms),
            reset: text(RESET).and_then(parse_reset).unwrap_or(Reset::Latest),
            read_committed: text(ISOLATION) == Some(READ_COMMITTED),
            renew: text(RENEW) != Some("false"),
        }
    }
}

fn parse_reset(text: &str) -> Option<Reset> {
    match text {
        "earliest" => Some(Reset::Earliest),
        "latest" => Some(Reset::Latest),
        _ => parse_duration(text.strip_prefix("by_duration:")?).map(Reset::ByDuration),
    }
}

/// ISO 8601 as Java reads it: days, hours, minutes and seconds, which may have a fraction; not negative. In milliseconds.
fn parse_duration(text: &str) -> Option<u64> {
    let text = text.to_ascii_uppercase();
    let rest = text.strip_prefix('P')?;
    let (days, time) = rest.split_once('T').map_or((rest, None), |(days, time)| (days, Some(time)));
    if days.is_empty() && time.is_none_or(str::is_empty) {
        return None;
    }
    let mut total = parts(days, &[('D', 86_400_000)])?;
    if let Some(time) = time {
        if time.is_empty() {
            return None;
        }
        total = total.checked_add(parts(time, &[('H', 3_600_000), ('M', 60_000), ('S', 1_000)])?)?;
    }
    Some(total)
}

fn parts(text: &str, units: &[(char, u64)]) -> Option<u64> {
    let mut left = text;
    let mut total: u64 = 0;
    for (unit, millis) in units {
        let Some((number, rest)) = left.split_once(*unit) else { continue };
        left = rest;
        let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || (!fraction.is_empty() && *unit != 'S') {
            return None;
        }
        total = total.checked_add(whole.parse::<u64>().ok()?.checked_mul(*millis)?)?;
        let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
        total = total.checked_add(thousandths.parse().ok()?)?;
    }
    left.is_empty().then_some(total)
}

#[cfg(test)]
mod tests;
