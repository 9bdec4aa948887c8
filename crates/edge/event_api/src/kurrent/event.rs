//! Events of the store as KurrentDB's clients see them.

use std::collections::HashMap;

use bytes::Bytes;
use daybook_event_store::Recorded;
use uuid::Uuid;

use super::ids::{self, IdForm};
use crate::proto::event_store::client::streams::ReadResp;
use crate::proto::event_store::client::streams::read_resp::read_event::{Position, RecordedEvent};
use crate::proto::event_store::client::streams::read_resp::{Content, ReadEvent};

pub(crate) const JSON: &str = "application/json";
/// What clients are told of every content that is not JSON: they know no third kind.
pub(crate) const OCTETS: &str = "application/octet-stream";
/// Where an event of no stream appears to be, at its position for a revision.
pub(crate) const STREAM_OF_STREAMLESS: &str = "_events";

/// Keys of the metadata that goes with an event.
pub(crate) const TYPE_KEY: &str = "type";
pub(crate) const CONTENT_TYPE_KEY: &str = "content-type";
const CREATED_KEY: &str = "created";
/// `created` counts 100 ns.
const TICKS_PER_MS: i64 = 10_000;

/// An event in the words of the protocol, before it becomes a message of one of its services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) id: Uuid,
    pub(crate) stream: String,
    pub(crate) revision: u64,
    pub(crate) position: u64,
    pub(crate) metadata: HashMap<String, String>,
    pub(crate) custom_metadata: Bytes,
    pub(crate) data: Bytes,
}

/// An event, or a link and the event to which it leads. A link that leads nowhere has no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) event: Option<Shown>,
    pub(crate) link: Option<Shown>,
    /// Of what was read: the link's, if there is one.
    pub(crate) position: u64,
}

impl Shown {
    pub(crate) fn of(recorded: Recorded) -> Self {
        let content_type = if recorded.content_type == JSON { JSON } else { OCTETS };
        let (stream, revision) = place(&recorded);
        Self {
            id: ids::event_id(&recorded.id),
            stream,
            revision,
            position: recorded.position.0,
            metadata: metadata(recorded.event_type, content_type, recorded.recorded.0),
            custom_metadata: recorded.metadata.unwrap_or_default(),
            data: recorded.data,
        }
    }

    fn message(self, form: IdForm) -> RecordedEvent {
        RecordedEvent {
            id: Some(ids::id_message(self.id, form)),
            stream_identifier: Some(ids::stream_identifier(&self.stream)),
            stream_revision: self.revision,
            prepare_position: self.position,
            commit_position: self.position,
            metadata: self.metadata,
            custom_metadata: self.custom_metadata,
            data: self.data,
        }
    }
}

impl Resolved {
    /// An event that is no link, or a link that was not to be followed.
    pub(crate) fn plain(shown: Shown) -> Self {
        Self { position: shown.position, event: Some(shown), link: None }
    }

    pub(super) fn answer(self, form: IdForm) -> ReadResp {
        let event = ReadEvent {
            event: self.event.map(|event| event.message(form)),
            link: self.link.map(|link| link.message(form)),
            position: Some(Position::CommitPosition(self.position)),
        };
        ReadResp { content: Some(Content::Event(event)) }
    }
}

/// Name of the stream and number in it that a client is shown.
pub(crate) fn place(recorded: &Recorded) -> (String, u64) {
    let position = recorded.position.0;
    match &recorded.stream {
        Some(stream) => (stream.as_str().to_owned(), recorded.version.map_or(position, |version| version.0)),
        None => (STREAM_OF_STREAMLESS.to_owned(), position),
    }
}

pub(crate) fn metadata(event_type: String, content_type: &str, recorded_ms: i64) -> HashMap<String, String> {
    HashMap::from([
        (TYPE_KEY.to_owned(), event_type),
        (CONTENT_TYPE_KEY.to_owned(), content_type.to_owned()),
        (CREATED_KEY.to_owned(), recorded_ms.saturating_mul(TICKS_PER_MS).to_string()),
    ])
}
