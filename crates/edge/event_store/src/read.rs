//! Read streams and `$all`.

use bytes::Bytes;
use daybook_event::{Event, StreamName, StreamSettings};
use daybook_kv::KvError;
use daybook_read::{Located, Order, RecordPicker, Stream};
use daybook_record::Record;
use daybook_types::{FaultKind, Lsn, Offset, PartitionId, Position, StreamVersion, TimestampMs, TopicId};
use regex::Regex;
use thiserror::Error;
use uuid::Uuid;

use crate::append::{Query, StreamState, now};
use crate::store::EventStore;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forwards,
    Backwards,
}

/// Where a read of a stream begins; that event is part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFrom {
    Start,
    End,
    Version(StreamVersion),
}

/// Where a read of `$all` begins; forwards the event at the position is part of it, backwards it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllFrom {
    Start,
    End,
    Position(Position),
}

/// Which events of `$all` are wanted: those that pass every part that is set.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this category: the topic's streams, without metadata streams.
    pub category: Option<String>,
    /// The stream's name begins with one of these.
    pub stream_prefixes: Vec<String>,
    pub stream_regex: Option<Regex>,
    /// The type begins with one of these.
    pub type_prefixes: Vec<String>,
    pub type_regex: Option<Regex>,
    /// Types and tags.
    pub query: Query,
    /// Leave out what the system writes: streams and types that begin with `$`.
    pub without_system: bool,
}

/// An event and all its places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// `None` for an event of no stream.
    pub stream: Option<StreamName>,
    pub version: Option<StreamVersion>,
    pub position: Position,
    pub partition: PartitionId,
    pub offset: Offset,
    /// When it was recorded.
    pub recorded: TimestampMs,
    /// As its producer gave it; else one made of where it stands, always the same.
    pub id: String,
    pub event_type: String,
    pub content_type: String,
    pub data: Bytes,
    pub metadata: Option<Bytes>,
    pub tags: Vec<String>,
    /// When it was true, RFC 3339, where that was given.
    pub time: Option<String>,
    pub headers: Vec<(String, Option<Bytes>)>,
}

/// A part of a stream.
#[derive(Clone, Debug)]
pub struct StreamPage {
    pub events: Vec<Recorded>,
    /// Where the next page begins; `None` at the end (forwards: the stream's end as of this read; backwards: its first event).
    pub next: Option<StreamVersion>,
    /// The stream as of this read.
    pub info: StreamInfo,
}

/// A part of `$all`.
#[derive(Clone, Debug)]
pub struct Page {
    pub events: Vec<Recorded>,
    /// Where the next page begins, past all events that were looked at, whether they passed the filter or not.
    pub next: AllFrom,
    /// Nothing more in this direction as of this read.
    pub at_end: bool,
    /// Position after the last event of the store as of this read.
    pub end: Position,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    pub name: StreamName,
    pub state: StreamState,
    /// First version that may be read; that of the next event if there is none.
    pub first_version: StreamVersion,
    pub next_version: StreamVersion,
    pub last_position: Option<Position>,
    pub settings: StreamSettings,
}

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("stream {stream} does not exist")]
    NoStream { stream: StreamName },
    #[error("stream {stream} was deleted")]
    SoftDeleted { stream: StreamName },
    #[error("stream {stream} was deleted for ever")]
    Tombstoned { stream: StreamName },
    #[error(transparent)]
    Log(#[from] daybook_read::ReadError),
    #[error("{cause}")]
    Index { cause: String },
}

impl ReadError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::NoStream { .. } | Self::SoftDeleted { .. } | Self::Tombstoned { .. } => FaultKind::Reject,
            Self::Log(error) => error.kind(),
            Self::Index { .. } => FaultKind::Corrupt,
        }
    }
}

/// Bytes of events in a page; a page has at least one event.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Events looked up in the index at a time.
const BLOCK: usize = 512;

impl EventStore {
    /// Reads up to `max` events of a stream.
    pub async fn read_stream(
        &self,
        stream: &StreamName,
        from: StreamFrom,
        direction: Direction,
        max: usize,
    ) -> Result<StreamPage, ReadError> {
        let name = stream.clone();
        self.run(self.is_hot(stream), move |store| store.read_stream_now(&name, from, direction, max)).await
    }

    /// What is known of a stream without reading it; its state is `None` if it was never written.
    pub async fn stream_info(&self, stream: &StreamName) -> Result<StreamInfo, ReadError> {
        let name = stream.clone();
        self.run(self.is_hot(stream), move |store| Ok(store.look_up(&name)?.1)).await
    }

    /// Reads up to `max` events of all streams that pass the filter, looking at not more than `look_max` events.
    pub async fn read_all(
        &self,
        from: AllFrom,
        direction: Direction,
        filter: &Filter,
        max: usize,
        look_max: usize,
    ) -> Result<Page, ReadError> {
        let is_hot = match (from, direction) {
            (AllFrom::Position(position), Direction::Forwards) => position >= self.reader.streams().memory_from(),
            (from, direction) => from == AllFrom::End && direction == Direction::Forwards,
        };
        let filter = filter.clone();
        self.run(is_hot, move |store| store.read_all_now(from, direction, &filter, max, look_max)).await
    }

    /// Names of streams in the order of their bytes, after `after`, with what is known of them. `category`: only of this one.
    pub async fn list_streams(
        &self,
        category: Option<&str>,
        after: Option<&StreamName>,
        max: usize,
    ) -> Result<Vec<StreamInfo>, ReadError> {
        let (category, after) = (category.map(str::to_owned), after.cloned());
        self.run(false, move |store| store.list_streams_now(category.as_deref(), after.as_ref(), max)).await
    }

    /// All categories: the names of the event topics, and `_streams` where there are streams of no legal topic.
    pub fn categories(&self) -> Vec<String> {
        let catalog = self.reader.catalog();
        catalog.topics().filter(|topic| topic.settings.streams).map(|topic| topic.name.to_string()).collect()
    }

    /// Waits until reads see `lsn`.
    pub async fn wait_applied(&self, lsn: Lsn) {
        self.reader.wait_applied(lsn).await;
    }

    /// Position after the last event.
    pub fn end(&self) -> Position {
        *self.reader.streams().end().borrow()
    }

    /// Runs a read here if it needs no disk, else where it may block.
    async fn run<T: Send + 'static>(
        &self,
        is_hot: bool,
        read: impl FnOnce(&Self) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        if is_hot {
            return read(self);
        }
        let store = self.clone();
        match tokio::task::spawn_blocking(move || read(&store)).await {
            Ok(result) => result,
            Err(error) => Err(ReadError::Index { cause: format!("the read was broken off: {error}") }),
        }
    }

    fn is_hot(&self, stream: &StreamName) -> bool {
        let catalog = self.reader.catalog();
        let topic = catalog.topic(stream.topic().as_str());
        topic.is_none_or(|topic| self.reader.streams().is_in_memory(topic.id, stream.as_str().as_bytes()))
    }

    /// The stream's topic, if there is one, and the stream.
    pub(crate) fn look_up(&self, name: &StreamName) -> Result<(Option<TopicId>, StreamInfo), ReadError> {
        let catalog = self.reader.catalog();
        let topic = catalog.topic(name.topic().as_str()).map(|topic| topic.id);
        let stream = match topic {
            Some(topic) => self.reader.streams().stream(topic, name.as_str().as_bytes())?,
            None => None,
        };
        Ok((topic, info(name.clone(), stream.as_ref())))
    }

    fn read_stream_now(
        &self,
        name: &StreamName,
        from: StreamFrom,
        direction: Direction,
        max: usize,
    ) -> Result<StreamPage, ReadError> {
        let (topic, info) = self.look_up(name)?;
        let stream = || name.clone();
        match info.state {
            StreamState::None => return Err(ReadError::NoStream { stream: stream() }),
            StreamState::SoftDeleted(_) => return Err(ReadError::SoftDeleted { stream: stream() }),
            StreamState::Tombstoned => return Err(ReadError::Tombstoned { stream: stream() }),
            StreamState::At(_) => {}
        }
        let topic = topic.ok_or_else(|| ReadError::NoStream { stream: stream() })?;
        let (first, end) = (info.first_version.0, info.next_version.0);
        let max = max as u64;
        // Half-open, whatever the direction.
        let (low, high) = match direction {
            Direction::Forwards => {
                let low = match from {
                    StreamFrom::Start => first,
                    StreamFrom::End => end,
                    StreamFrom::Version(version) => version.0.clamp(first, end),
                };
                (low, low.saturating_add(max).min(end))
            }
            Direction::Backwards => {
                let high = match from {
                    StreamFrom::Start => first.saturating_add(1).min(end),
                    StreamFrom::End => end,
                    StreamFrom::Version(version) => version.0.saturating_add(1).clamp(first, end),
                };
                (high.saturating_sub(max).max(first), high)
            }
        };
        let mut places =
            self.reader.streams().places(topic, name.as_str().as_bytes(), StreamVersion(low), StreamVersion(high))?;
        if direction == Direction::Backwards {
            places.reverse();
        }
        let oldest = info.settings.max_age_seconds.map(|age| now().0.saturating_sub_unsigned(age.saturating_mul(1000)));
        let mut picker = RecordPicker::new(&self.reader);
        let mut events = Vec::with_capacity(places.len());
        let mut bytes = 0;
        let mut reached = None;
        for (version, place) in places {
            if bytes > PAGE_BYTES_MAX {
                reached = Some(version);
                break;
            }
            let partition = PartitionId { topic, index: place.partition };
            let Some(record) = picker.pick(partition, place.offset)? else { continue };
            if oldest.is_some_and(|oldest| record.timestamp.0 < oldest) {
                continue;
            }
            let recorded = recorded(record, Some(version), place.position, partition);
            bytes += recorded.bytes();
            events.push(recorded);
        }
        let next = match (reached, direction) {
            (Some(version), _) => Some(version),
            (None, Direction::Forwards) => (high < end).then_some(StreamVersion(high)),
            (None, Direction::Backwards) => (low > first).then(|| StreamVersion(low - 1)),
        };
        Ok(StreamPage { events, next, info })
    }

    fn read_all_now(
        &self,
        from: AllFrom,
        direction: Direction,
        filter: &Filter,
        max: usize,
        look_max: usize,
    ) -> Result<Page, ReadError> {
        let end = self.end();
        let mut at = match (from, direction) {
            (AllFrom::Start, _) => Position(0),
            (AllFrom::End, _) => end,
            (AllFrom::Position(position), Direction::Forwards) => position,
            (AllFrom::Position(position), Direction::Backwards) => position.min(end),
        };
        let is_over = |at: Position| match direction {
            Direction::Forwards => at >= end,
            Direction::Backwards => at.0 == 0,
        };
        let catalog = self.reader.catalog();
        let wanted_topic = match &filter.category {
            None => None,
            Some(category) => {
                let topic = StreamName::new(category).ok().map(|name| name.topic());
                Some(topic.and_then(|topic| catalog.topic(topic.as_str()).map(|topic| topic.id)))
            }
        };
        let mut picker = RecordPicker::new(&self.reader);
        let (mut events, mut bytes, mut looked) = (Vec::new(), 0, 0);
        'read: while !is_over(at) && events.len() < max && looked < look_max {
            let found = self.candidates(at, direction, filter, BLOCK.min(look_max - looked))?;
            let Some(last) = found.last() else {
                // No event that the query could match is left.
                at = if direction == Direction::Forwards { end.max(at) } else { Position(0) };
                break;
            };
            let after_block = match direction {
                Direction::Forwards => last.position.next(),
                Direction::Backwards => last.position,
            };
            for located in found {
                if events.len() >= max || bytes > PAGE_BYTES_MAX {
                    break 'read;
                }
                looked += 1;
                at = match direction {
                    Direction::Forwards => located.position.next(),
                    Direction::Backwards => located.position,
                };
                if wanted_topic.is_some_and(|wanted| wanted.is_none() || wanted != located.topic) {
                    continue;
                }
                let Some(partition) = located.partition_id() else { continue };
                let Some(record) = picker.pick(partition, located.offset)? else { continue };
                let recorded = recorded(record, located.version, located.position, partition);
                if filter.passes(&recorded) {
                    bytes += recorded.bytes();
                    events.push(recorded);
                }
            }
            at = after_block;
        }
        Ok(Page { events, next: AllFrom::Position(at), at_end: is_over(at), end })
    }

    /// The next events that may be wanted: all, or those that the query's terms lead to.
    fn candidates(
        &self,
        at: Position,
        direction: Direction,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Located>, ReadError> {
        let index = self.reader.streams();
        let order = match direction {
            Direction::Forwards => Order::Ascending,
            Direction::Backwards => Order::Descending,
        };
        let is_narrow = !filter.query.items.is_empty()
            && filter.query.items.iter().all(|item| !item.types.is_empty() || !item.tags.is_empty());
        if !is_narrow {
            return Ok(index.located(at, order, limit)?);
        }
        let from = match direction {
            Direction::Forwards => Some(at),
            Direction::Backwards => at.0.checked_sub(1).map(Position),
        };
        let Some(from) = from else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for position in index.matches(&filter.query.to_terms(), from, order, limit)? {
            found.extend(index.located(position, Order::Ascending, 1)?);
        }
        Ok(found)
    }

    fn list_streams_now(
        &self,
        category: Option<&str>,
        after: Option<&StreamName>,
        max: usize,
    ) -> Result<Vec<StreamInfo>, ReadError> {
        let catalog = self.reader.catalog();
        let wanted = category.and_then(|category| StreamName::new(category).ok()).map(|name| name.topic());
        let mut found = Vec::new();
        for topic in catalog.topics().filter(|topic| topic.settings.streams) {
            if category.is_some() && wanted.as_ref() != Some(&topic.name) {
                continue;
            }
            let mut after = after.map_or(Vec::new(), |after| after.as_str().as_bytes().to_vec());
            let mut of_topic = 0;
            while of_topic < max {
                let block = self.reader.streams().streams(topic.id, &after, BLOCK)?;
                let Some((last, _)) = block.last() else { break };
                after = last.clone();
                for (name, stream) in &block {
                    let Some(name) = std::str::from_utf8(name).ok().and_then(|name| StreamName::new(name).ok()) else {
                        continue;
                    };
                    let is_wanted =
                        name.described().is_none() && category.is_none_or(|category| name.category() == category);
                    if is_wanted && stream.next > StreamVersion(0) {
                        found.push(info(name, Some(stream)));
                        of_topic += 1;
                    }
                }
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.truncate(max);
        Ok(found)
    }
}

impl Recorded {
    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        const FIXED_BYTES: usize = 200;
        let headers: usize =
            self.headers.iter().map(|(name, value)| name.len() + value.as_ref().map_or(0, Bytes::len)).sum();
        FIXED_BYTES + self.data.len() + self.metadata.as_ref().map_or(0, Bytes::len) + headers
    }
}

impl Filter {
    /// Whether every event passes.
    pub fn is_open(&self) -> bool {
        self.category.is_none()
            && self.stream_prefixes.is_empty()
            && self.stream_regex.is_none()
            && self.type_prefixes.is_empty()
            && self.type_regex.is_none()
            && self.query.items.is_empty()
            && !self.without_system
    }

    pub fn passes(&self, event: &Recorded) -> bool {
        let stream = event.stream.as_ref().map_or("", StreamName::as_str);
        let begins = |text: &str, prefixes: &[String]| {
            prefixes.is_empty() || prefixes.iter().any(|prefix| text.starts_with(prefix.as_str()))
        };
        let of_category = |category: &str| {
            event.stream.as_ref().is_some_and(|name| name.described().is_none() && name.category() == category)
        };
        self.category.as_deref().is_none_or(of_category)
            && begins(stream, &self.stream_prefixes)
            && self.stream_regex.as_ref().is_none_or(|regex| regex.is_match(stream))
            && begins(&event.event_type, &self.type_prefixes)
            && self.type_regex.as_ref().is_none_or(|regex| regex.is_match(&event.event_type))
            && !(self.without_system && (stream.starts_with('$') || event.event_type.starts_with('$')))
            && self.query.matches(&event.event_type, &event.tags)
    }
}

impl From<KvError> for ReadError {
    fn from(error: KvError) -> Self {
        Self::Index { cause: error.to_string() }
    }
}

fn info(name: StreamName, stream: Option<&Stream>) -> StreamInfo {
    StreamInfo {
        name,
        state: stream.map_or(StreamState::None, |stream| stream.actual().into()),
        first_version: stream.map_or(StreamVersion(0), Stream::first),
        next_version: stream.map_or(StreamVersion(0), |stream| stream.next),
        last_position: stream.and_then(|stream| stream.last).map(|place| place.position),
        settings: stream.map_or(StreamSettings::default(), |stream| stream.settings),
    }
}

fn recorded(record: Record, version: Option<StreamVersion>, position: Position, partition: PartitionId) -> Recorded {
    let event = Event::of(record);
    let offset = event.offset;
    // A Kafka producer may use keys that no stream can be named by.
    let stream = event.stream.and_then(|name| StreamName::new(&String::from_utf8_lossy(&name)).ok());
    Recorded {
        stream,
        version,
        position,
        partition,
        offset,
        recorded: event.recorded,
        id: event.id.unwrap_or_else(|| {
            Uuid::new_v5(&partition.topic.0, format!("{partition}-{offset}").as_bytes()).to_string()
        }),
        event_type: event.event_type,
        content_type: event.content_type,
        data: event.data.unwrap_or_default(),
        metadata: event.metadata,
        tags: event.tags,
        time: event.time,
        headers: event.headers,
    }
}
