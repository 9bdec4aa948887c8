//! The stream of what a group has parked: one link an event, and where it begins.
//!
//! Versions of that stream are the numbers of replayed items.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use chrono::DateTime;
use daybook_event_store::{
    Append, AppendError, AppendError::Propose, Direction, EventStore, Expected, NewEvent, ProposeError, ReadError,
    Recorded, StreamAppend, StreamFrom, StreamName, StreamState,
};
use daybook_types::StreamVersion;
use tracing::warn;
use uuid::Uuid;

use super::consumer::Item;
use super::resolve::{LINK_TYPE, follow, link_to};

const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);
/// Of a consumer's reason, more is cut off.
const REASON_BYTES_MAX: usize = 4096;
const METADATA_TYPE: &str = "$metadata";

/// A group's parked events. Clones are cheap.
#[derive(Clone, Debug)]
pub(super) struct Parked {
    store: EventStore,
    stream: StreamName,
}

impl Parked {
    pub fn new(store: EventStore, stream: StreamName) -> Self {
        Self { store, stream }
    }

    /// Versions of the first that is still there and of the next one.
    pub async fn range(&self) -> Result<(u64, u64), ReadError> {
        match self.store.stream_info(&self.stream).await {
            Ok(info) if matches!(info.state, StreamState::At(_)) => Ok((info.first_version.0, info.next_version.0)),
            Ok(info) => Ok((info.next_version.0, info.next_version.0)),
            Err(ReadError::NoStream { .. } | ReadError::SoftDeleted { .. } | ReadError::Tombstoned { .. }) => {
                Ok((0, 0))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns once it is durable, however long that takes. `false`: it never will be, the store is closed.
    pub async fn park(&self, item: Arc<Item>, number: u64, reason: String) -> bool {
        let Some(original) = item.event.as_ref().or(item.link.as_ref()) else { return true };
        let event = NewEvent {
            id: Uuid::new_v4().to_string(),
            event_type: LINK_TYPE.to_owned(),
            data: link_to(original),
            metadata: Some(why(number, &reason)),
            ..NewEvent::default()
        };
        self.insist(&self.stream, event).await
    }

    /// Forgets those below `version`, once that is durable.
    pub async fn cut(&self, version: u64) -> bool {
        if let Ok(info) = self.store.stream_info(&self.stream).await
            && info.settings.truncate_before.is_some_and(|before| before.0 >= version)
        {
            return true;
        }
        let event = NewEvent {
            id: Uuid::new_v4().to_string(),
            event_type: METADATA_TYPE.to_owned(),
            content_type: "application/json".to_owned(),
            data: serde_json::json!({ "$tb": version }).to_string().into(),
            ..NewEvent::default()
        };
        self.insist(&self.stream.metadata(), event).await
    }

    /// Some of the parked from `version`, and the version after them. `None`: its event is gone.
    pub async fn read(&self, version: u64, max: usize) -> Result<(Vec<(u64, Option<Item>)>, u64), ReadError> {
        let at = StreamFrom::Version(StreamVersion(version));
        let page = match self.store.read_stream(&self.stream, at, Direction::Forwards, max).await {
            Ok(page) => page,
            Err(ReadError::NoStream { .. } | ReadError::SoftDeleted { .. } | ReadError::Tombstoned { .. }) => {
                return Ok((Vec::new(), u64::MAX));
            }
            Err(error) => return Err(error),
        };
        let next = page.next.map_or(page.info.next_version.0, |next| next.0);
        let mut items = Vec::with_capacity(page.events.len());
        for link in page.events {
            let Some(number) = version_of(&link) else { continue };
            let item = follow(&self.store, link).await?;
            items.push((number, Some(item).filter(|item| item.event.is_some())));
        }
        Ok((items, next))
    }

    /// What is refused for now is tried again: nothing else could be done with an event that can't be parked.
    async fn insist(&self, stream: &StreamName, event: NewEvent) -> bool {
        let mut pause = RETRY_MIN;
        loop {
            let part = StreamAppend { stream: stream.clone(), expected: Expected::Any, events: vec![event.clone()] };
            match self.store.append(Append { streams: vec![part], ..Append::default() }).await {
                Ok(_) => return true,
                Err(Propose(ProposeError::Closed)) => return false,
                Err(error) => self.complain(&error),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    fn complain(&self, error: &AppendError) {
        warn!(stream = %self.stream, %error, "can't write to the parked events of a subscription; trying again");
    }
}

fn version_of(event: &Recorded) -> Option<u64> {
    event.version.map(|version| version.0)
}

/// Metadata of a parked event, in KurrentDB's fields.
fn why(number: u64, reason: &str) -> Bytes {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let added = i64::try_from(millis).ok().and_then(DateTime::from_timestamp_millis).unwrap_or_default().to_rfc3339();
    let end = reason.floor_char_boundary(REASON_BYTES_MAX);
    serde_json::json!({ "added": added, "reason": &reason[..end], "subscriptionEventNumber": number })
        .to_string()
        .into()
}
