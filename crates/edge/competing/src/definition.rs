//! What a persistent subscription is: who it is, what it consumes, how.

use std::fmt;

use daybook_event_store::{Filter, StreamName};
use regex::Regex;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::core::{Policy, Strategy};

/// What `$all` is called where a stream's name stands.
pub const ALL: &str = "$all";
/// Before a category's name, where a stream's name stands.
pub const CATEGORY_PREFIX: &str = "$ce-";
/// Before an event type, where a stream's name stands.
pub const TYPE_PREFIX: &str = "$et-";

const PARKED_PREFIX: &str = "$persistentsubscription-";
const PARKED_SUFFIX: &str = "-parked";

/// The most items that may wait in a subscription's buffer.
pub const BUFFER_MAX: u32 = 100_000;
/// The most items that one consumer may hold.
pub const SLOTS_MAX: usize = 10_000;
/// The most consumers of a subscription, whatever its own limit.
pub const CONSUMERS_MAX: u32 = 10_000;
/// Bytes of a regular expression and of all prefixes.
const FILTER_BYTES_MAX: usize = 64 * 1024;
const MILLISECONDS_MAX: u64 = i32::MAX as u64;
/// Added to the message timeout: clients gather acknowledgements for up to 200 ms before they send them. KurrentDB, which looks at
/// its clock once a second, gives them up to that.
const ACK_GRACE_MS: u64 = 250;

/// A subscription's name: what it consumes and its group's name. As text `stream::group`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionName {
    source: String,
    group: String,
}

/// Which events a group consumes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Events of a stream, by version.
    Stream(String),
    /// Events of all streams of a category, by position.
    Category(String),
    /// Events of one type, by position.
    EventType(String),
    /// Events of all streams, by position.
    All(FilterText),
}

/// A filter as it is stored: regular expressions are text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilterText {
    pub stream_prefixes: Vec<String>,
    pub stream_regex: Option<String>,
    pub type_prefixes: Vec<String>,
    pub type_regex: Option<String>,
}

/// Where a subscription without a checkpoint begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartFrom {
    Start,
    /// What comes after the subscription was made.
    #[default]
    End,
    /// This version or position is the first.
    At(u64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsumerStrategy {
    #[default]
    RoundRobin,
    DispatchToSingle,
    /// By stream.
    Pinned,
    /// By `$correlationId` in the metadata, by stream without one.
    PinnedByCorrelation,
}

/// KurrentDB's settings and, in `Default`, its clients' defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// A link is delivered with the event that it names.
    pub resolve_links: bool,
    pub start_from: StartFrom,
    /// Measure how long consumers take.
    pub extra_statistics: bool,
    /// 0: never.
    pub message_timeout_ms: u64,
    pub max_retry_count: u32,
    pub live_buffer_size: u32,
    pub read_batch_size: u32,
    pub history_buffer_size: u32,
    /// 0: by count only.
    pub checkpoint_after_ms: u64,
    pub min_checkpoint_count: u32,
    pub max_checkpoint_count: u32,
    /// 0: as many as the server allows.
    pub max_subscriber_count: u32,
    pub strategy: ConsumerStrategy,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    pub source: Source,
    pub group: String,
    pub settings: Settings,
}

/// A definition that can't be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Invalid {
    #[error("the group has no name")]
    NoGroup,
    #[error("{name:?} is no name of a stream: {cause}")]
    StreamName { name: String, cause: String },
    #[error("the names of stream and group are together too long: {cause}")]
    LongName { cause: String },
    #[error("the regular expression {text:?} can't be used: {cause}")]
    Regex { text: String, cause: String },
    #[error("the filter has {bytes} bytes, at most {FILTER_BYTES_MAX} are possible")]
    LongFilter { bytes: usize },
    #[error("the read batch ({read_batch_size}) must be smaller than the history buffer ({history_buffer_size})")]
    ReadBatch { read_batch_size: u32, history_buffer_size: u32 },
    #[error("{name} is {value}, at most {max} is possible")]
    TooLarge { name: &'static str, value: u64, max: u64 },
    #[error("the start position {position} is after the end, {end}")]
    StartAfterEnd { position: u64, end: u64 },
}

impl SubscriptionName {
    pub fn new(source: &str, group: &str) -> Self {
        Self { source: source.to_owned(), group: group.to_owned() }
    }

    /// A stream's name, `$all`, or `$ce-` and a category.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub fn group(&self) -> &str {
        &self.group
    }

    /// Where what this group parks is put.
    pub fn parked_stream(&self) -> Result<StreamName, Invalid> {
        StreamName::new(&format!("{PARKED_PREFIX}{self}{PARKED_SUFFIX}"))
            .map_err(|error| Invalid::LongName { cause: error.to_string() })
    }
}

impl fmt::Display for SubscriptionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.source, self.group)
    }
}

/// Whether the stream holds what groups on `$all` parked, or says what that stream keeps: they must not consume it, or parking
/// would feed them for ever.
pub(crate) fn is_parked_of_all(stream: &str) -> bool {
    let base = stream.strip_prefix("$$").unwrap_or(stream);
    base.strip_prefix(PARKED_PREFIX)
        .and_then(|rest| rest.strip_prefix(ALL))
        .is_some_and(|rest| rest.starts_with("::") && rest.ends_with(PARKED_SUFFIX))
}

impl Source {
    /// By the name that stands for it; the filter counts for `$all` only.
    pub fn named(name: &str, filter: FilterText) -> Self {
        if name == ALL {
            return Self::All(filter);
        }
        let named = |prefix| name.strip_prefix(prefix).filter(|rest| !rest.is_empty()).map(str::to_owned);
        let category = named(CATEGORY_PREFIX).map(Self::Category);
        category.or_else(|| named(TYPE_PREFIX).map(Self::EventType)).unwrap_or_else(|| Self::Stream(name.to_owned()))
    }

    pub fn name(&self) -> String {
        match self {
            Self::Stream(name) => name.clone(),
            Self::Category(category) => format!("{CATEGORY_PREFIX}{category}"),
            Self::EventType(event_type) => format!("{TYPE_PREFIX}{event_type}"),
            Self::All(_) => ALL.to_owned(),
        }
    }
}

/// Regular expressions that look ahead or back, which the store's language has not: clients write *not this* so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looking {
    stream: Option<fancy_regex::Regex>,
    event_type: Option<fancy_regex::Regex>,
}

impl Looking {
    /// Whether an event that the store's filter let pass is wanted. One that an expression can't judge is: better too many than
    /// one lost.
    pub fn lets_pass(&self, stream: Option<&str>, event_type: &str) -> bool {
        let passes = |regex: &Option<fancy_regex::Regex>, text: &str| {
            regex.as_ref().is_none_or(|regex| regex.is_match(text).unwrap_or(true))
        };
        passes(&self.stream, stream.unwrap_or_default()) && passes(&self.event_type, event_type)
    }
}

impl FilterText {
    pub(crate) fn compile(&self) -> Result<(Filter, Looking), Invalid> {
        let prefixes = self.stream_prefixes.iter().chain(&self.type_prefixes);
        let bytes: usize = prefixes.chain(&self.stream_regex).chain(&self.type_regex).map(String::len).sum();
        if bytes > FILTER_BYTES_MAX {
            return Err(Invalid::LongFilter { bytes });
        }
        let (stream_regex, looking_stream) = regex(self.stream_regex.as_deref())?;
        let (type_regex, looking_type) = regex(self.type_regex.as_deref())?;
        let filter = Filter {
            stream_prefixes: self.stream_prefixes.clone(),
            stream_regex,
            type_prefixes: self.type_prefixes.clone(),
            type_regex,
            ..Filter::default()
        };
        Ok((filter, Looking { stream: looking_stream, event_type: looking_type }))
    }
}

fn regex(text: Option<&str>) -> Result<(Option<Regex>, Option<fancy_regex::Regex>), Invalid> {
    let Some(text) = text else { return Ok((None, None)) };
    if let Ok(regex) = Regex::new(text) {
        return Ok((Some(regex), None));
    }
    let failed = |error: fancy_regex::Error| Invalid::Regex { text: text.to_owned(), cause: error.to_string() };
    fancy_regex::Regex::new(text).map(|regex| (None, Some(regex))).map_err(failed)
}

impl Definition {
    pub fn name(&self) -> SubscriptionName {
        SubscriptionName { source: self.source.name(), group: self.group.clone() }
    }

    /// All that can be judged without looking at the store.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.group.is_empty() {
            return Err(Invalid::NoGroup);
        }
        match &self.source {
            Source::Stream(name) => {
                StreamName::new(name)
                    .map_err(|error| Invalid::StreamName { name: name.clone(), cause: error.to_string() })?;
            }
            Source::Category(_) | Source::EventType(_) => {}
            Source::All(filter) => drop(filter.compile()?),
        }
        self.name().parked_stream()?;
        self.settings.check()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            resolve_links: false,
            start_from: StartFrom::End,
            extra_statistics: false,
            message_timeout_ms: 30_000,
            max_retry_count: 10,
            live_buffer_size: 500,
            read_batch_size: 20,
            history_buffer_size: 500,
            checkpoint_after_ms: 2_000,
            min_checkpoint_count: 10,
            max_checkpoint_count: 1_000,
            max_subscriber_count: 0,
            strategy: ConsumerStrategy::RoundRobin,
        }
    }
}

impl Settings {
    fn check(&self) -> Result<(), Invalid> {
        let Self { read_batch_size, history_buffer_size, .. } = *self;
        if read_batch_size >= history_buffer_size {
            return Err(Invalid::ReadBatch { read_batch_size, history_buffer_size });
        }
        let at_most = |name, value: u64, max: u64| {
            if value > max { Err(Invalid::TooLarge { name, value, max }) } else { Ok(()) }
        };
        at_most("the history buffer", history_buffer_size.into(), BUFFER_MAX.into())?;
        at_most("the live buffer", self.live_buffer_size.into(), BUFFER_MAX.into())?;
        at_most("the message timeout", self.message_timeout_ms, MILLISECONDS_MAX)?;
        at_most("the time between checkpoints", self.checkpoint_after_ms, MILLISECONDS_MAX)?;
        at_most("the number of consumers", self.max_subscriber_count.into(), CONSUMERS_MAX.into())
    }

    pub(crate) fn policy(&self) -> Policy {
        let consumers_max = if self.max_subscriber_count == 0 { CONSUMERS_MAX } else { self.max_subscriber_count };
        Policy {
            strategy: match self.strategy {
                ConsumerStrategy::RoundRobin => Strategy::RoundRobin,
                ConsumerStrategy::DispatchToSingle => Strategy::DispatchToSingle,
                ConsumerStrategy::Pinned | ConsumerStrategy::PinnedByCorrelation => Strategy::Pinned,
            },
            hold_ms: (self.message_timeout_ms > 0).then(|| self.message_timeout_ms.saturating_add(ACK_GRACE_MS)),
            retries_max: self.max_retry_count,
            // An empty buffer would let nothing through.
            live_buffer_max: self.live_buffer_size.max(1) as usize,
            history_buffer_max: self.history_buffer_size.max(1) as usize,
            read_batch: self.read_batch_size.max(1) as usize,
            consumers_max: consumers_max as usize,
            checkpoint_count_min: self.min_checkpoint_count.into(),
            checkpoint_count_max: self.max_checkpoint_count.into(),
            checkpoint_after_ms: Some(self.checkpoint_after_ms).filter(|ms| *ms > 0),
            ..Policy::default()
        }
    }
}

impl ConsumerStrategy {
    /// KurrentDB's name of it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RoundRobin => "RoundRobin",
            Self::DispatchToSingle => "DispatchToSingle",
            Self::Pinned => "Pinned",
            Self::PinnedByCorrelation => "PinnedByCorrelation",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::RoundRobin, Self::DispatchToSingle, Self::Pinned, Self::PinnedByCorrelation]
            .into_iter()
            .find(|strategy| strategy.as_str() == name)
    }
}
