//! What the index of streams needs of a record.

use bytes::Bytes;
use daybook_record::Record;
use daybook_types::StreamVersion;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::{METADATA_PREFIX, StreamSettings, header};

/// A record as the index sees it. Names, types and tags are slices of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Name of the stream; `None` for an event of no stream.
    pub stream: Option<Bytes>,
    /// [`event_hash`] of the event's id; 0 without one.
    pub id: u64,
    pub event_type: Option<Bytes>,
    pub tags: Vec<Bytes>,
    /// What a Kafka client expects of the stream.
    pub expected: Option<Expectation>,
    /// What the stream that this event describes keeps from now on; a metadata stream's event that can't be read says nothing.
    pub settings: Option<StreamSettings>,
    /// The record's value is null.
    pub is_null: bool,
}

/// The header [`header::EXPECTED_VERSION`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    Any,
    NoStream,
    Exact(StreamVersion),
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FactsFault {
    #[error("the header daybook-expected-version is -1 for no stream, a version, or any")]
    Expectation,
    #[error("the header daybook-expected-version needs a key: the stream's name")]
    ExpectationWithoutStream,
}

/// What stands in the index for an event's id. Never 0.
pub fn event_hash(id: &[u8]) -> u64 {
    xxh3_64(id).max(1)
}

impl Facts {
    pub fn of(record: &Record) -> Result<Self, FactsFault> {
        let mut facts = Self {
            stream: record.key.clone(),
            id: 0,
            event_type: None,
            tags: Vec::new(),
            expected: None,
            settings: None,
            is_null: record.value.is_none(),
        };
        for (name, value) in &record.headers {
            let Some(value) = value else { continue };
            match std::str::from_utf8(name) {
                Ok(header::ID) => facts.id = event_hash(value),
                Ok(header::TYPE) => facts.event_type = Some(value.clone()),
                Ok(header::TAG) => facts.tags.push(value.clone()),
                Ok(header::EXPECTED_VERSION) => facts.expected = Some(expectation(value)?),
                _ => {}
            }
        }
        if facts.expected.is_some() && facts.stream.is_none() {
            return Err(FactsFault::ExpectationWithoutStream);
        }
        if facts.described().is_some() && facts.event_type.as_deref() == Some(header::METADATA_TYPE.as_bytes()) {
            facts.settings = StreamSettings::parse(record.value.as_deref().unwrap_or_default()).ok();
        }
        Ok(facts)
    }

    /// The stream whose metadata stream this event stands in.
    pub fn described(&self) -> Option<&[u8]> {
        self.stream.as_deref()?.strip_prefix(METADATA_PREFIX.as_bytes()).filter(|name| !name.is_empty())
    }

    /// Whether the record ends its stream for ever.
    pub fn is_tombstone(&self) -> bool {
        self.is_null && self.event_type.as_deref() == Some(header::TOMBSTONE_TYPE.as_bytes())
    }
}

fn expectation(value: &[u8]) -> Result<Expectation, FactsFault> {
    match std::str::from_utf8(value).map(str::trim) {
        Ok("any") => Ok(Expectation::Any),
        Ok("-1") => Ok(Expectation::NoStream),
        Ok(number) => number
            .parse()
            .map(|version| Expectation::Exact(StreamVersion(version)))
            .map_err(|_| FactsFault::Expectation),
        Err(_) => Err(FactsFault::Expectation),
    }
}
