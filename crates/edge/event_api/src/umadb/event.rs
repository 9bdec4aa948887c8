//! Events, queries and positions in both forms.
//!
//! Metadata entries are record headers of the same name; names that mean something to the log are kept with a prefix, which reading
//! takes off again. So metadata comes back as it was given, and what other writers' events carry can be seen too.

use std::collections::HashSet;

use daybook_event_store::{NewEvent, Query, QueryItem, Recorded};
use daybook_types::Position;
use tonic::Status;
use uuid::Uuid;

use super::error_code::invalid_argument;
use crate::proto::umadb::v1;

/// Begins the id of an event that was appended without one; such an event is read without one.
const MADE_ID_PREFIX: &str = "umadb:";
/// Begins the names of headers that are this protocol's own, and those of metadata entries that would be taken for others.
const OWN_PREFIX: &str = "umadb-";
pub(super) const TRACKING_SOURCE: &str = "umadb-tracking-source";
pub(super) const TRACKING_POSITION: &str = "umadb-tracking-position";

/// The number by which clients know a position.
pub(super) fn shown(position: Position) -> u64 {
    position.0.saturating_add(1)
}

/// The position that clients know by a number; none for 0.
pub(super) fn position(number: u64) -> Option<Position> {
    number.checked_sub(1).map(Position)
}

/// The number of the last event of a store with this end.
pub(super) fn head(end: Position) -> Option<u64> {
    Some(end.0).filter(|count| *count > 0)
}

pub(super) fn query(query: Option<v1::Query>) -> Query {
    let item = |item: v1::QueryItem| QueryItem { types: item.types, tags: item.tags };
    Query { items: query.unwrap_or_default().items.into_iter().map(item).collect() }
}

pub(super) fn new_event(event: v1::Event, tracking: Option<&v1::TrackingInfo>) -> Result<NewEvent, Status> {
    let id = match event.uuid.as_str() {
        "" => format!("{MADE_ID_PREFIX}{}", Uuid::new_v4()),
        text => Uuid::parse_str(text).map_err(|_| invalid_argument(format!("{text:?} is no UUID")))?.to_string(),
    };
    // Clients read metadata as a dictionary.
    let mut names = HashSet::new();
    if let Some(twice) = event.metadata.iter().find(|entry| !names.insert(entry.key.as_str())) {
        return Err(invalid_argument(format!("metadata has the key {:?} twice", twice.key)));
    }
    let mut headers: Vec<_> =
        event.metadata.into_iter().map(|entry| (header_name(entry.key), Some(entry.value.into()))).collect();
    if let Some(tracking) = tracking {
        headers.push((TRACKING_SOURCE.to_owned(), Some(tracking.source.clone().into())));
        headers.push((TRACKING_POSITION.to_owned(), Some(tracking.position.to_string().into())));
    }
    Ok(NewEvent {
        id,
        event_type: event.event_type,
        data: event.data,
        tags: event.tags,
        headers,
        ..NewEvent::default()
    })
}

pub(super) fn sequenced(recorded: Recorded) -> v1::SequencedEvent {
    let tracking_info = tracking_of(&recorded);
    let mut metadata: Vec<v1::MetadataEntry> = Vec::with_capacity(recorded.headers.len());
    let mut add = |key: &str, value: String| metadata.push(v1::MetadataEntry { key: key.to_owned(), value });
    for (name, value) in &recorded.headers {
        match name.as_str() {
            TRACKING_SOURCE | TRACKING_POSITION => {}
            name => {
                add(name.strip_prefix(OWN_PREFIX).unwrap_or(name), text(value.as_deref().unwrap_or_default()));
            }
        }
    }
    // What only other writers' events have.
    if !recorded.content_type.is_empty() {
        add("content-type", recorded.content_type.clone());
    }
    if let Some(time) = &recorded.time {
        add("ce_time", time.clone());
    }
    if let Some(metadata) = &recorded.metadata {
        add("daybook-metadata", text(metadata));
    }
    if let Some(stream) = recorded.stream.as_ref().filter(|_| tracking_info.is_none()) {
        add("daybook-stream", stream.to_string());
        if let Some(version) = recorded.version {
            add("daybook-version", version.to_string());
        }
    }
    let event = v1::Event {
        event_type: recorded.event_type,
        tags: recorded.tags,
        data: recorded.data,
        uuid: uuid(&recorded.id),
        metadata,
    };
    v1::SequencedEvent { position: shown(recorded.position), event: Some(event), tracking_info }
}

/// What was noted of an upstream source when the event was appended.
pub(super) fn tracking_of(recorded: &Recorded) -> Option<v1::TrackingInfo> {
    let value = |wanted: &str| {
        let (_, value) = recorded.headers.iter().find(|(name, _)| name == wanted)?;
        std::str::from_utf8(value.as_deref()?).ok()
    };
    Some(v1::TrackingInfo {
        source: value(TRACKING_SOURCE)?.to_owned(),
        position: value(TRACKING_POSITION)?.parse().ok()?,
    })
}

/// The id as a UUID: clients fail on any other text.
pub(super) fn uuid(id: &str) -> String {
    match Uuid::parse_str(id) {
        Ok(uuid) => uuid.to_string(),
        Err(_) if id.starts_with(MADE_ID_PREFIX) => String::new(),
        Err(_) => Uuid::new_v5(&Uuid::NAMESPACE_OID, id.as_bytes()).to_string(),
    }
}

fn header_name(key: String) -> String {
    let taken = ["ce_", "daybook-", OWN_PREFIX].iter().any(|prefix| key.starts_with(prefix)) || key == "content-type";
    if taken { format!("{OWN_PREFIX}{key}") } else { key }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
