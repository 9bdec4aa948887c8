//! Events whole: as they are written, as they are read.

use bytes::Bytes;
use daybook_record::{BatchBuilder, Record, RecordHeader};
use daybook_types::{Offset, TimestampMs};

use crate::header;

/// Type of a record whose producer named none.
pub const TYPE_OF_PLAIN_RECORDS: &str = "record";
const SPEC_VERSION: &[u8] = b"1.0";
const DEFAULT_SOURCE: &[u8] = b"daybook";

/// An event to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewEvent {
    /// Any text, usually a UUID. A repeated append is known by it.
    pub id: String,
    pub event_type: String,
    /// Media type of `data`, e.g. `application/json`; empty for unknown.
    pub content_type: String,
    pub data: Bytes,
    /// Opaque to the log.
    pub metadata: Option<Bytes>,
    pub tags: Vec<String>,
    /// When it was true, RFC 3339, if that is not when it is recorded.
    pub time: Option<String>,
    /// Further headers, none of a name that has a meaning of its own.
    pub headers: Vec<(String, Option<Bytes>)>,
}

/// An event as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Name of the stream; `None` for an event of no stream. Need not be UTF-8: a Kafka producer chose it.
    pub stream: Option<Bytes>,
    pub offset: Offset,
    /// When it was recorded: the record's timestamp.
    pub recorded: TimestampMs,
    /// `None` where a producer gave none.
    pub id: Option<String>,
    pub event_type: String,
    pub content_type: String,
    /// `None`: the record's value is null.
    pub data: Option<Bytes>,
    pub metadata: Option<Bytes>,
    pub tags: Vec<String>,
    pub time: Option<String>,
    pub source: Option<String>,
    /// All headers that have no meaning here, in their order.
    pub headers: Vec<(String, Option<Bytes>)>,
}

/// Appends `event` to a batch, recorded at `now`. `stream`: none for an event of no stream.
pub fn push(batch: &mut BatchBuilder, now: TimestampMs, stream: Option<&str>, event: &NewEvent) {
    push_valued(batch, now, stream, event, Some(&event.data));
}

/// The last event of a stream that may never be written again: to Kafka's readers a tombstone of its key.
pub fn push_tombstone(batch: &mut BatchBuilder, now: TimestampMs, stream: &str, id: String) {
    let event = NewEvent { id, event_type: header::TOMBSTONE_TYPE.to_owned(), ..NewEvent::default() };
    push_valued(batch, now, Some(stream), &event, None);
}

fn push_valued(
    batch: &mut BatchBuilder,
    now: TimestampMs,
    stream: Option<&str>,
    event: &NewEvent,
    value: Option<&[u8]>,
) {
    let mut headers: Vec<RecordHeader> = Vec::with_capacity(5 + event.tags.len() + event.headers.len());
    let mut add = |name: &'static str, value: Bytes| headers.push((Bytes::from_static(name.as_bytes()), Some(value)));
    add(header::SPEC_VERSION, Bytes::from_static(SPEC_VERSION));
    add(header::ID, Bytes::copy_from_slice(event.id.as_bytes()));
    add(header::SOURCE, Bytes::from_static(DEFAULT_SOURCE));
    add(header::TYPE, Bytes::copy_from_slice(event.event_type.as_bytes()));
    if let Some(time) = &event.time {
        add(header::TIME, Bytes::copy_from_slice(time.as_bytes()));
    }
    if !event.content_type.is_empty() {
        add(header::CONTENT_TYPE, Bytes::copy_from_slice(event.content_type.as_bytes()));
    }
    if let Some(metadata) = &event.metadata {
        add(header::METADATA, metadata.clone());
    }
    for tag in &event.tags {
        add(header::TAG, Bytes::copy_from_slice(tag.as_bytes()));
    }
    for (name, value) in &event.headers {
        headers.push((Bytes::copy_from_slice(name.as_bytes()), value.clone()));
    }
    batch.push(now, stream.map(str::as_bytes), value, &headers);
}

impl Event {
    /// Reads any record as an event.
    pub fn of(record: Record) -> Self {
        let mut event = Self {
            stream: record.key,
            offset: record.offset,
            recorded: record.timestamp,
            id: None,
            event_type: TYPE_OF_PLAIN_RECORDS.to_owned(),
            content_type: String::new(),
            data: record.value,
            metadata: None,
            tags: Vec::new(),
            time: None,
            source: None,
            headers: Vec::new(),
        };
        for (name, value) in record.headers {
            let text =
                |value: &Option<Bytes>| String::from_utf8_lossy(value.as_deref().unwrap_or_default()).into_owned();
            match std::str::from_utf8(&name) {
                Ok(header::SPEC_VERSION) => {}
                Ok(header::ID) => event.id = Some(text(&value)),
                Ok(header::SOURCE) => event.source = Some(text(&value)),
                Ok(header::TYPE) => event.event_type = text(&value),
                Ok(header::TIME) => event.time = Some(text(&value)),
                Ok(header::CONTENT_TYPE) => event.content_type = text(&value),
                Ok(header::METADATA) => event.metadata = value,
                Ok(header::TAG) => event.tags.push(text(&value)),
                _ => event.headers.push((String::from_utf8_lossy(&name).into_owned(), value)),
            }
        }
        event
    }
}
