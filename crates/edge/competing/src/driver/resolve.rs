//! From links to the events that they name, and from events to the affinity that pins them.

use bytes::Bytes;
use daybook_event_store::{AllFrom, Direction, EventStore, Filter, ReadError, Recorded, StreamFrom, StreamName};
use daybook_types::{Position, StreamVersion};
use xxhash_rust::xxh3::xxh3_64;

use super::consumer::Item;
use crate::definition::{ALL, ConsumerStrategy};

/// Type of an event whose data is `version@stream`.
pub(super) const LINK_TYPE: &str = "$>";

pub(super) fn is_link(event: &Recorded) -> bool {
    event.event_type == LINK_TYPE
}

/// Data of a link to an event. One of no stream is named by its position.
pub(super) fn link_to(event: &Recorded) -> Bytes {
    match (&event.stream, event.version) {
        (Some(stream), Some(version)) => format!("{version}@{stream}"),
        _ => format!("{}@{ALL}", event.position),
    }
    .into()
}

/// The link with its event; without one if that is gone, or if what the link says makes no sense.
pub(super) async fn follow(store: &EventStore, link: Recorded) -> Result<Item, ReadError> {
    let event = match target(&link) {
        None => None,
        Some((position, None)) => {
            let at = AllFrom::Position(Position(position));
            let page = store.read_all(at, Direction::Forwards, &Filter::default(), 1, 1).await?;
            page.events.into_iter().next().filter(|event| event.position.0 == position)
        }
        Some((version, Some(stream))) => {
            let at = StreamFrom::Version(StreamVersion(version));
            match store.read_stream(&stream, at, Direction::Forwards, 1).await {
                Ok(page) => {
                    page.events.into_iter().next().filter(|event| event.version == Some(StreamVersion(version)))
                }
                Err(ReadError::NoStream { .. } | ReadError::SoftDeleted { .. } | ReadError::Tombstoned { .. }) => None,
                Err(error) => return Err(error),
            }
        }
    };
    Ok(Item { event, link: Some(link) })
}

fn target(link: &Recorded) -> Option<(u64, Option<StreamName>)> {
    let (number, stream) = std::str::from_utf8(&link.data).ok()?.split_once('@')?;
    let number = number.parse().ok()?;
    if stream == ALL { Some((number, None)) } else { Some((number, Some(StreamName::new(stream).ok()?))) }
}

pub(super) fn affinity(strategy: ConsumerStrategy, item: &Item) -> Option<u64> {
    let event = item.event.as_ref().or(item.link.as_ref())?;
    let by_stream = || {
        // A link whose event is gone belongs where its event did.
        let target = Some(event).filter(|event| is_link(event)).and_then(target);
        let stream = target.and_then(|(_, stream)| stream).or_else(|| event.stream.clone());
        stream.map(|stream| xxh3_64(stream.as_str().as_bytes()))
    };
    match strategy {
        ConsumerStrategy::RoundRobin | ConsumerStrategy::DispatchToSingle => None,
        ConsumerStrategy::Pinned => by_stream(),
        ConsumerStrategy::PinnedByCorrelation => correlation(event).map(|id| xxh3_64(id.as_bytes())).or_else(by_stream),
    }
}

fn correlation(event: &Recorded) -> Option<String> {
    let metadata: serde_json::Value = serde_json::from_slice(event.metadata.as_deref()?).ok()?;
    Some(metadata.get("$correlationId")?.as_str()?.to_owned())
}
