//! Append to streams, delete streams.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use daybook_catalog::Topic;
use daybook_command::{
    ActualVersion, AppendCondition, AppendEvents, Command, CreateTopic, EventBatch, EventsRefusal, ExpectedVersion,
    Outcome, ProposeError, Stage, StreamCheck, StreamSpan, TermQuery,
};
use daybook_event::{IllegalStreamName, NewEvent, StreamName, StreamSettings, header, push, push_tombstone};
use daybook_record::{BatchBuilder, Compression, partition_of_key};
use daybook_types::{Lsn, PartitionId, Position, StreamVersion, TimestampMs, TopicId, TopicName};
use thiserror::Error;
use uuid::Uuid;

use crate::store::EventStore;

const JSON: &str = "application/json";

/// What a stream must be for an append to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Any,
    /// Never written, or soft-deleted and not written since.
    NoStream,
    /// Written and not deleted.
    Exists,
    /// Soft-deleted and not written since.
    SoftDeleted,
    /// The version of its last event.
    Exact(StreamVersion),
}

/// What a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamState {
    /// Never written.
    None,
    /// Version of its last event.
    At(StreamVersion),
    /// Soft-deleted; the version of its last event.
    SoftDeleted(StreamVersion),
    /// Ended for ever.
    Tombstoned,
}

/// Events for one stream. Without events the stream is only checked.
#[derive(Clone, Debug)]
pub struct StreamAppend {
    pub stream: StreamName,
    pub expected: Expected,
    pub events: Vec<NewEvent>,
}

/// One atomic append: all of it or nothing, in one entry, visible at one LSN.
#[derive(Clone, Debug, Default)]
pub struct Append {
    /// A stream stands here at most once.
    pub streams: Vec<StreamAppend>,
    /// Events of no stream (DCB), after those of streams; they live in topic `_events`.
    pub events: Vec<NewEvent>,
    pub condition: Option<Condition>,
}

/// Nothing is appended if an event matches `unless` after `after` (`None`: any event at all).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub unless: Query,
    pub after: Option<Position>,
}

/// Matches an event if one of its items does. Without items it matches every event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub items: Vec<QueryItem>,
}

/// Matches an event that has one of `types` (any if empty) and all of `tags`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryItem {
    pub types: Vec<String>,
    pub tags: Vec<String>,
}

/// The answer to an append; a retry gets the first one again, but for its LSN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    pub lsn: Lsn,
    /// What the answer waited for.
    pub stage: Stage,
    /// One a stream of the append that had events, in its order.
    pub streams: Vec<StreamAppended>,
    /// Position of the last event of the append.
    pub last_position: Option<Position>,
    /// Nothing was written: all of it had been before.
    pub repeated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamAppended {
    pub stream: StreamName,
    pub first_version: StreamVersion,
    pub last_version: StreamVersion,
    /// Position of its last event in this append.
    pub last_position: Position,
}

/// A stream that is not what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub stream: StreamName,
    pub expected: Expected,
    pub actual: StreamState,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AppendError {
    #[error("{}", conflicts_text(.0))]
    Conflict(Vec<Conflict>),
    #[error("stream {stream} was deleted for ever; write to another one")]
    Tombstoned { stream: StreamName },
    #[error("an event at position {position} matches the append's condition; read on from there and decide again")]
    ConditionFailed { position: Position },
    /// Some events were appended by an earlier request, others not.
    #[error("stream {stream} has some of these events already, but not all in this order; send new ids for new events")]
    PartlyRepeated { stream: StreamName },
    #[error("the id {id} stands twice in one append; every event needs its own")]
    RepeatedId { id: String },
    #[error("stream {stream} stands twice in one append")]
    RepeatedStream { stream: StreamName },
    #[error("the append has {bytes} bytes, at most {bytes_max} are possible; send it in parts")]
    TooLarge { bytes: usize, bytes_max: usize },
    #[error("the header {name} has a meaning of its own; set the event's field instead")]
    ReservedHeader { name: String },
    #[error("topic {topic} has no stream index; set its config daybook.streams to true")]
    NoEventTopic { topic: String },
    #[error("the stream index of topic {topic} is being built; try again")]
    Indexing { topic: String },
    #[error("the append has no event")]
    Empty,
    #[error(transparent)]
    Name(#[from] IllegalStreamName),
    #[error("stream metadata: {cause}")]
    Metadata { cause: String },
    #[error(transparent)]
    Propose(#[from] ProposeError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteKind {
    /// Its events go, its versions go on: the stream may be written again.
    Soft,
    /// It may never be written again.
    Tombstone,
}

#[derive(Clone, Debug)]
pub struct Delete {
    pub stream: StreamName,
    pub expected: Expected,
    pub kind: DeleteKind,
}

/// Bytes of one append, all its batches together.
pub const APPEND_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Events are gathered into batches of about this size: what Kafka's consumers fetch by default.
const BATCH_BYTES: usize = 512 * 1024;
/// Topic of events of no stream.
const STREAMLESS_TOPIC: &str = "_events";

/// An event on its way into a batch.
enum Payload<'a> {
    Event(&'a NewEvent),
    Tombstone { id: String },
}

impl EventStore {
    /// Appends all or nothing. The answer comes when it is applied: durable, committed and visible to every reader.
    pub async fn append(&self, mut append: Append) -> Result<Appended, AppendError> {
        check(&mut append)?;
        let events = append.streams.iter().map(|stream| stream.events.len()).sum::<usize>() + append.events.len();
        if events == 0 {
            return Err(AppendError::Empty);
        }
        let payloads: Vec<(Option<&StreamName>, Payload<'_>)> = append
            .streams
            .iter()
            .flat_map(|append| append.events.iter().map(|event| (Some(&append.stream), Payload::Event(event))))
            .chain(append.events.iter().map(|event| (None, Payload::Event(event))))
            .collect();
        let checks: Vec<_> = append.streams.iter().map(|append| (append.stream.clone(), append.expected)).collect();
        self.commit(checks, append.condition, &payloads).await
    }

    /// Deletes a stream. The answer's position is that of the event that says so.
    pub async fn delete(&self, delete: Delete) -> Result<Appended, AppendError> {
        let Delete { stream, expected, kind } = delete;
        let id = Uuid::new_v4().to_string();
        match kind {
            DeleteKind::Tombstone => {
                let payloads = [(Some(&stream), Payload::Tombstone { id })];
                self.commit(vec![(stream.clone(), expected)], None, &payloads).await
            }
            DeleteKind::Soft => {
                // What is not there can't be deleted, whatever is expected of it.
                let expected = if expected == Expected::Any { Expected::Exists } else { expected };
                let event = NewEvent {
                    id,
                    event_type: header::METADATA_TYPE.to_owned(),
                    content_type: JSON.to_owned(),
                    data: StreamSettings::deleted_json().into(),
                    ..NewEvent::default()
                };
                let metadata = stream.metadata();
                let checks = vec![(stream, expected), (metadata.clone(), Expected::Any)];
                self.commit(checks, None, &[(Some(&metadata), Payload::Event(&event))]).await
            }
        }
    }

    async fn commit(
        &self,
        checks: Vec<(StreamName, Expected)>,
        condition: Option<Condition>,
        payloads: &[(Option<&StreamName>, Payload<'_>)],
    ) -> Result<Appended, AppendError> {
        let mut streams = Vec::with_capacity(checks.len());
        let mut topics: Vec<Arc<Topic>> = Vec::with_capacity(checks.len());
        for (name, expected) in &checks {
            let topic = self.event_topic(&name.topic()).await?;
            let name = Bytes::copy_from_slice(name.as_str().as_bytes());
            streams.push(StreamCheck { topic: topic.id, name, expected: expected.to_command() });
            topics.push(topic);
        }
        let streamless = match payloads.iter().any(|(stream, _)| stream.is_none()) {
            true => Some(self.event_topic(&streamless_topic()).await?),
            false => None,
        };
        let place = |stream: Option<&StreamName>| {
            let (topic, key) = match stream {
                Some(stream) => {
                    (checks.iter().position(|(name, _)| name == stream).map(|at| &topics[at]), stream.partition_key())
                }
                None => (streamless.as_ref(), &[][..]),
            };
            let topic = topic.expect("every stream of a payload stands among the checks");
            PartitionId { topic: topic.id, index: partition_of_key(key, topic.partitions) }
        };
        let batches = gather(payloads, place)?;
        let bytes: usize = batches.iter().map(|batch| batch.batch.len()).sum();
        if bytes > APPEND_BYTES_MAX {
            return Err(AppendError::TooLarge { bytes, bytes_max: APPEND_BYTES_MAX });
        }
        let condition = condition.map(|condition| condition.to_command());
        let command = Command::AppendEvents(AppendEvents { streams, condition, batches });
        let applied = self.door.propose(vec![command]).await?.await?;
        match applied.outcomes.into_iter().next() {
            Some(Outcome::AppendEvents(Ok(appended))) => {
                let spans = checks.into_iter().zip(appended.spans).filter_map(|((stream, _), span)| {
                    let StreamSpan { first_version, last_version, last_position } = span?;
                    Some(StreamAppended { stream, first_version, last_version, last_position })
                });
                Ok(Appended {
                    lsn: applied.lsn,
                    stage: applied.stage,
                    streams: spans.collect(),
                    last_position: appended.last_position,
                    repeated: appended.repeated,
                })
            }
            Some(Outcome::AppendEvents(Err(refusal))) => Err(self.refused(refusal, &checks)),
            // One outcome of its kind a command is the door's promise.
            _ => Err(ProposeError::Unknown.into()),
        }
    }

    /// The topic of that name, made if there is none.
    async fn event_topic(&self, name: &TopicName) -> Result<Arc<Topic>, AppendError> {
        loop {
            if let Some(topic) = self.reader.catalog().topic(name.as_str()) {
                return match topic.settings.streams {
                    true => Ok(Arc::clone(topic)),
                    false => Err(AppendError::NoEventTopic { topic: name.to_string() }),
                };
            }
            let create = CreateTopic {
                id: TopicId(Uuid::new_v4()),
                name: name.clone(),
                partitions: self.options.default_partitions,
                // Events are facts: they stay until someone says otherwise.
                configs: vec![("daybook.streams".into(), "true".into()), ("retention.ms".into(), "-1".into())],
            };
            // Whether this one made it or another: it is there afterwards.
            self.door.propose(vec![Command::CreateTopic(create)]).await?.await?;
        }
    }

    fn refused(&self, refusal: EventsRefusal, checks: &[(StreamName, Expected)]) -> AppendError {
        let stream = |number: u32| checks[number as usize].0.clone();
        let topic =
            |id: TopicId| self.reader.catalog().topic_by_id(id).map_or(id.to_string(), |topic| topic.name.to_string());
        match refusal {
            EventsRefusal::Conflicts(conflicts) => AppendError::Conflict(
                conflicts
                    .into_iter()
                    .map(|conflict| Conflict {
                        stream: stream(conflict.stream),
                        expected: checks[conflict.stream as usize].1,
                        actual: conflict.actual.into(),
                    })
                    .collect(),
            ),
            EventsRefusal::Tombstoned { stream: number } => AppendError::Tombstoned { stream: stream(number) },
            EventsRefusal::PartlyRepeated { stream: number } => AppendError::PartlyRepeated { stream: stream(number) },
            EventsRefusal::ConditionFailed { position } => AppendError::ConditionFailed { position },
            EventsRefusal::NotEventTopic { topic: id } => AppendError::NoEventTopic { topic: topic(id) },
            EventsRefusal::Indexing { topic: id } => AppendError::Indexing { topic: topic(id) },
            // The topic was deleted between look-up and append.
            EventsRefusal::UnknownPartition { partition } => {
                AppendError::NoEventTopic { topic: topic(partition.topic) }
            }
            EventsRefusal::DamagedBatch => ProposeError::Unknown.into(),
        }
    }
}

/// Refuses what can be refused without knowing any state, and gives ids to events that have none.
fn check(append: &mut Append) -> Result<(), AppendError> {
    let mut names = HashSet::new();
    for StreamAppend { stream, events, .. } in &mut append.streams {
        if !names.insert(stream.clone()) {
            return Err(AppendError::RepeatedStream { stream: stream.clone() });
        }
        check_events(events)?;
        if stream.described().is_some() {
            for event in events.iter().filter(|event| event.event_type == header::METADATA_TYPE) {
                StreamSettings::parse(&event.data)
                    .map_err(|fault| AppendError::Metadata { cause: fault.to_string() })?;
            }
        }
    }
    check_events(&mut append.events)
}

fn check_events(events: &mut [NewEvent]) -> Result<(), AppendError> {
    for event in &mut *events {
        if event.id.is_empty() {
            event.id = Uuid::new_v4().to_string();
        }
        if let Some((name, _)) = event.headers.iter().find(|(name, _)| header::is_reserved(name)) {
            return Err(AppendError::ReservedHeader { name: name.clone() });
        }
    }
    let mut ids = HashSet::with_capacity(events.len());
    match events.iter().find(|event| !ids.insert(event.id.as_str())) {
        Some(event) => Err(AppendError::RepeatedId { id: event.id.clone() }),
        None => Ok(()),
    }
}

/// Batches in the order of the events: a new one where the partition changes or the last one is long.
fn gather(
    payloads: &[(Option<&StreamName>, Payload<'_>)],
    place: impl Fn(Option<&StreamName>) -> PartitionId,
) -> Result<Vec<EventBatch>, AppendError> {
    let now = now();
    let mut batches: Vec<(PartitionId, BatchBuilder)> = Vec::new();
    let mut last: Option<(Option<&StreamName>, PartitionId)> = None;
    for (stream, payload) in payloads {
        let partition = match last {
            Some((before, partition)) if before == *stream => partition,
            _ => place(*stream),
        };
        last = Some((*stream, partition));
        let fits = |(before, batch): &(PartitionId, BatchBuilder)| *before == partition && batch.bytes() < BATCH_BYTES;
        if !batches.last().is_some_and(fits) {
            batches.push((partition, BatchBuilder::new(Compression::None)));
        }
        let (_, batch) = batches.last_mut().expect("one was pushed if there was none");
        let stream = stream.map(StreamName::as_str);
        match payload {
            Payload::Event(event) => push(batch, now, stream, event),
            Payload::Tombstone { id } => push_tombstone(batch, now, stream.unwrap_or_default(), id.clone()),
        }
    }
    batches
        .into_iter()
        .map(|(partition, batch)| {
            let bytes = batch.bytes();
            let too_large = |_| AppendError::TooLarge { bytes, bytes_max: APPEND_BYTES_MAX };
            Ok(EventBatch { partition, batch: batch.build().map_err(too_large)? })
        })
        .collect()
}

pub(crate) fn now() -> TimestampMs {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    TimestampMs(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

fn streamless_topic() -> TopicName {
    TopicName::new(STREAMLESS_TOPIC).expect("the name of a constant is legal")
}

impl Expected {
    fn to_command(self) -> ExpectedVersion {
        match self {
            Self::Any => ExpectedVersion::Any,
            Self::NoStream => ExpectedVersion::NoStream,
            Self::Exists => ExpectedVersion::Exists,
            Self::SoftDeleted => ExpectedVersion::SoftDeleted,
            Self::Exact(version) => ExpectedVersion::Exact(version),
        }
    }
}

impl From<ActualVersion> for StreamState {
    fn from(actual: ActualVersion) -> Self {
        match actual {
            ActualVersion::None => Self::None,
            ActualVersion::At(version) => Self::At(version),
            ActualVersion::SoftDeleted(version) => Self::SoftDeleted(version),
            ActualVersion::Tombstoned => Self::Tombstoned,
        }
    }
}

impl Condition {
    fn to_command(&self) -> AppendCondition {
        AppendCondition { items: self.unless.to_terms(), after: self.after }
    }
}

impl Query {
    pub(crate) fn to_terms(&self) -> Vec<TermQuery> {
        let bytes = |texts: &[String]| texts.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
        self.items.iter().map(|item| TermQuery { types: bytes(&item.types), tags: bytes(&item.tags) }).collect()
    }

    /// Whether an event of that type and those tags matches.
    pub fn matches(&self, event_type: &str, tags: &[String]) -> bool {
        let matches = |item: &QueryItem| {
            (item.types.is_empty() || item.types.iter().any(|name| name == event_type))
                && item.tags.iter().all(|tag| tags.contains(tag))
        };
        self.items.is_empty() || self.items.iter().any(matches)
    }
}

fn conflicts_text(conflicts: &[Conflict]) -> String {
    let text = |conflict: &Conflict| {
        let expected = match conflict.expected {
            Expected::Any => "any version".to_owned(),
            Expected::NoStream => "no stream".to_owned(),
            Expected::Exists => "a stream".to_owned(),
            Expected::SoftDeleted => "a deleted stream".to_owned(),
            Expected::Exact(version) => format!("version {version}"),
        };
        let actual = match conflict.actual {
            StreamState::None => "does not exist".to_owned(),
            StreamState::At(version) => format!("is at version {version}"),
            StreamState::SoftDeleted(version) => format!("is deleted, its last version was {version}"),
            StreamState::Tombstoned => "was deleted for ever".to_owned(),
        };
        format!("stream {}: expected {expected}, but it {actual}", conflict.stream)
    };
    conflicts.iter().map(text).collect::<Vec<_>>().join("; ")
}
