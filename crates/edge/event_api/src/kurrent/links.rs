//! Links: events that stand for another event, and streams that consist of them.
//!
//! A link is an event of type `$>`, its data `version@stream`. Any client may write some. What KurrentDB's system projections write,
//! the store has without writing it: `$ce-<category>` and `$et-<type>` are made of the events of the category or type when they are read.
//! A link's revision in such a stream is its event's position: it grows, with gaps, and a client can resume after it.

use bytes::Bytes;
use daybook_event_store::{
    Direction, EventStore, Filter, Query, QueryItem, ReadError, Recorded, StreamFrom, StreamName,
};
use daybook_types::StreamVersion;

use super::event::{self, OCTETS, Resolved, Shown};
use super::ids;

const LINK_TYPE: &str = "$>";
const CATEGORY_PREFIX: &str = "$ce-";
const TYPE_PREFIX: &str = "$et-";

/// A stream that exists in reads only.
#[derive(Clone, Debug)]
pub(crate) struct Virtual {
    name: StreamName,
    pub(crate) filter: Filter,
}

impl Virtual {
    /// The stream of this name, if it is a virtual one.
    pub(crate) fn of(name: &StreamName) -> Option<Self> {
        let filter = if let Some(category) = name.as_str().strip_prefix(CATEGORY_PREFIX) {
            Filter { category: Some(category.to_owned()), ..Filter::default() }
        } else {
            let event_type = name.as_str().strip_prefix(TYPE_PREFIX)?;
            let item = QueryItem { types: vec![event_type.to_owned()], tags: Vec::new() };
            Filter { query: Query { items: vec![item] }, ..Filter::default() }
        };
        Some(Self { name: name.clone(), filter })
    }

    /// An event of the category or type as this stream has it.
    pub(crate) fn show(&self, recorded: Recorded, follow_links: bool) -> Resolved {
        let position = recorded.position.0;
        let (stream, revision) = event::place(&recorded);
        let link = Shown {
            id: ids::event_id(&format!("{}/{position}", self.name)),
            stream: self.name.as_str().to_owned(),
            revision: position,
            position,
            metadata: event::metadata(LINK_TYPE.to_owned(), OCTETS, recorded.recorded.0),
            custom_metadata: Bytes::new(),
            data: Bytes::from(format!("{revision}@{stream}")),
        };
        if follow_links {
            Resolved { event: Some(Shown::of(recorded)), link: Some(link), position }
        } else {
            Resolved::plain(link)
        }
    }
}

/// An event as it was read; with `follow_links` the one to which it leads, if it is a link.
pub(crate) async fn resolve(store: &EventStore, recorded: Recorded, follow_links: bool) -> Result<Resolved, ReadError> {
    if !follow_links || recorded.event_type != LINK_TYPE {
        return Ok(Resolved::plain(Shown::of(recorded)));
    }
    let event = match target(&recorded.data) {
        Some((stream, version)) => read_one(store, &stream, version).await?.map(Shown::of),
        None => None,
    };
    let link = Shown::of(recorded);
    Ok(Resolved { event, position: link.position, link: Some(link) })
}

/// Where a link leads, by its data.
pub(super) fn target(data: &[u8]) -> Option<(StreamName, StreamVersion)> {
    let (version, stream) = std::str::from_utf8(data).ok()?.split_once('@')?;
    Some((StreamName::new(stream).ok()?, StreamVersion(version.parse().ok()?)))
}

async fn read_one(
    store: &EventStore,
    stream: &StreamName,
    version: StreamVersion,
) -> Result<Option<Recorded>, ReadError> {
    match store.read_stream(stream, StreamFrom::Version(version), Direction::Forwards, 1).await {
        Ok(page) => Ok(page.events.into_iter().find(|event| event.version == Some(version))),
        Err(ReadError::NoStream { .. } | ReadError::SoftDeleted { .. } | ReadError::Tombstoned { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
