//! An event as JSON. Data that is JSON stands there as it is, byte for byte; other data in base64 beside its media type.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use chrono::{DateTime, SecondsFormat};
use daybook_event::header;
use daybook_event_store::{NewEvent, Recorded};
use daybook_types::TimestampMs;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::call::is_json;
use super::limits::{EVENT_HEADERS_MAX, EVENT_TAGS_MAX, WORD_BYTES_MAX};
use super::problem::Problem;

const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";
/// An event to be appended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventIn {
    /// Made here if there is none.
    id: Option<String>,
    #[serde(rename = "type")]
    event_type: String,
    content_type: Option<String>,
    #[serde(default, deserialize_with = "present")]
    data: Option<Box<RawValue>>,
    data_base64: Option<String>,
    #[serde(default, deserialize_with = "present")]
    metadata: Option<Box<RawValue>>,
    metadata_base64: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    time: Option<String>,
    #[serde(default)]
    headers: Vec<HeaderIn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderIn {
    name: String,
    value: Option<String>,
    value_base64: Option<String>,
}

/// A null is a value too, where the member is there.
fn present<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(input).map(Some)
}

impl EventIn {
    pub fn into_event(self) -> Result<NewEvent, String> {
        let word = |what: &str, text: &str| match text.len() {
            0 => Err(format!("its {what} is empty")),
            bytes if bytes > WORD_BYTES_MAX => {
                Err(format!("its {what} has {bytes} bytes, {WORD_BYTES_MAX} are the most"))
            }
            _ => Ok(()),
        };
        word("type", &self.event_type)?;
        if let Some(id) = &self.id {
            word("id", id)?;
        }
        if let Some(content_type) = &self.content_type {
            word("content_type", content_type)?;
        }
        if self.tags.len() > EVENT_TAGS_MAX {
            return Err(format!("it has {} tags, {EVENT_TAGS_MAX} are the most", self.tags.len()));
        }
        self.tags.iter().try_for_each(|tag| word("tag", tag))?;
        if let Some(time) = &self.time {
            DateTime::parse_from_rfc3339(time)
                .map_err(|_| format!("its time is {time}, RFC 3339 is expected, as 2026-01-31T12:00:00Z"))?;
        }
        let (content_type, data) = content(self.content_type, self.data, self.data_base64)?;
        let metadata = match (self.metadata, self.metadata_base64) {
            (Some(_), Some(_)) => return Err("it has both metadata and metadata_base64".to_owned()),
            (Some(json), None) => Some(raw_bytes(json)),
            (None, Some(text)) => Some(decoded("metadata_base64", &text)?),
            (None, None) => None,
        };
        if self.headers.len() > EVENT_HEADERS_MAX {
            return Err(format!("it has {} headers, {EVENT_HEADERS_MAX} are the most", self.headers.len()));
        }
        let headers = self.headers.into_iter().map(HeaderIn::into_pair).collect::<Result<_, _>>()?;
        Ok(NewEvent {
            id: self.id.unwrap_or_else(|| Uuid::new_v4().to_string()),
            event_type: self.event_type,
            content_type,
            data,
            metadata,
            tags: self.tags,
            time: self.time,
            headers,
        })
    }
}

fn content(
    content_type: Option<String>,
    json: Option<Box<RawValue>>,
    base64: Option<String>,
) -> Result<(String, Bytes), String> {
    match (json, base64) {
        (Some(_), Some(_)) => Err("it has both data and data_base64".to_owned()),
        (Some(json), None) => {
            let content_type = content_type.unwrap_or_else(|| JSON.to_owned());
            if !is_json(&content_type) {
                return Err(format!("its data is JSON, which {content_type} is not; give other data as data_base64"));
            }
            Ok((content_type, raw_bytes(json)))
        }
        (None, Some(text)) => Ok((content_type.unwrap_or_else(|| BYTES.to_owned()), decoded("data_base64", &text)?)),
        (None, None) => Ok((content_type.unwrap_or_default(), Bytes::new())),
    }
}

impl HeaderIn {
    fn into_pair(self) -> Result<(String, Option<Bytes>), String> {
        if self.name.is_empty() || self.name.len() > WORD_BYTES_MAX {
            return Err(format!("the name of a header has 1 to {WORD_BYTES_MAX} bytes"));
        }
        if header::is_reserved(&self.name) {
            return Err(format!("a header can't be called {}: events have a member for it", self.name));
        }
        let value = match (self.value, self.value_base64) {
            (Some(_), Some(_)) => return Err(format!("its header {} has two values", self.name)),
            (Some(text), None) => Some(Bytes::from(text)),
            (None, Some(text)) => Some(decoded("value_base64", &text)?),
            (None, None) => None,
        };
        Ok((self.name, value))
    }
}

fn raw_bytes(json: Box<RawValue>) -> Bytes {
    Bytes::from(String::from(Box::<str>::from(json)))
}

fn decoded(member: &str, text: &str) -> Result<Bytes, String> {
    BASE64.decode(text).map(Bytes::from).map_err(|fault| format!("its {member} is no base64: {fault}"))
}

/// All events of a list; the first that can't be is named by its place.
pub fn new_events(events: Vec<EventIn>) -> Result<Vec<NewEvent>, Problem> {
    let one = |(place, event): (usize, EventIn)| {
        event
            .into_event()
            .map_err(|fault| Problem::unprocessable(format!("event {place} of the list: {fault}")).with("event", place))
    };
    events.into_iter().enumerate().map(one).collect()
}

/// An event as it was recorded.
#[derive(Debug, Serialize)]
pub struct EventOut<'a> {
    stream: Option<&'a str>,
    version: Option<u64>,
    position: u64,
    id: &'a str,
    #[serde(rename = "type")]
    event_type: &'a str,
    content_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata_base64: Option<String>,
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<&'a str>,
    recorded: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headers: Vec<HeaderOut<'a>>,
    topic_id: String,
    partition: i32,
    offset: i64,
}

#[derive(Debug, Serialize)]
struct HeaderOut<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
}

impl<'a> EventOut<'a> {
    pub fn of(event: &'a Recorded) -> Self {
        let data = is_json(&event.content_type).then(|| as_json(&event.data)).flatten();
        let metadata = event.metadata.as_deref().and_then(as_json);
        Self {
            stream: event.stream.as_ref().map(|stream| stream.as_str()),
            version: event.version.map(|version| version.0),
            position: event.position.0,
            id: &event.id,
            event_type: &event.event_type,
            content_type: &event.content_type,
            data,
            data_base64: (data.is_none() && !event.data.is_empty()).then(|| BASE64.encode(&event.data)),
            metadata,
            metadata_base64: event.metadata.as_ref().filter(|_| metadata.is_none()).map(|bytes| BASE64.encode(bytes)),
            tags: &event.tags,
            time: event.time.as_deref(),
            recorded: rfc3339(event.recorded),
            headers: event.headers.iter().map(HeaderOut::of).collect(),
            topic_id: event.partition.topic.to_string(),
            partition: event.partition.index.0,
            offset: event.offset.0,
        }
    }
}

impl<'a> HeaderOut<'a> {
    fn of((name, value): &'a (String, Option<Bytes>)) -> Self {
        let text = value.as_deref().and_then(|value| std::str::from_utf8(value).ok());
        let base64 = value.as_ref().filter(|_| text.is_none()).map(|value| BASE64.encode(value));
        Self { name, value: text, value_base64: base64 }
    }
}

/// What was written as JSON need not be JSON: anyone can write records.
fn as_json(bytes: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice(bytes).ok()
}

/// The time in milliseconds, UTC; the number itself where no calendar has it.
pub fn rfc3339(time: TimestampMs) -> String {
    match DateTime::from_timestamp_millis(time.0) {
        Some(date) => date.to_rfc3339_opts(SecondsFormat::Millis, true),
        None => time.0.to_string(),
    }
}

/// About what an event takes in memory and in an answer.
pub fn weight(event: &Recorded) -> usize {
    let headers: usize =
        event.headers.iter().map(|(name, value)| name.len() + value.as_ref().map_or(0, Bytes::len)).sum();
    event.data.len() + event.metadata.as_ref().map_or(0, Bytes::len) + headers + event.event_type.len() + event.id.len()
}
