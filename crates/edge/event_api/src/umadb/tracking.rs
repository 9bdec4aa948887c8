//! How far upstream sources were followed.
//!
//! Events appended with a source and its position live in a stream of that source, which the append expects at the version it was read at.
//! So the position can only grow, and moves in the same entry as the events. A source's position is that of its stream's last event.

use daybook_event_store::{
    Append, AppendError, Direction, EventStore, Expected, NewEvent, ReadError, StreamAppend, StreamFrom, StreamName,
};
use daybook_types::StreamVersion;
use tonic::Status;
use uuid::Uuid;

use super::append::{Wanted, not_after};
use super::error_code::{integrity, invalid_argument, of_append, of_read};
use super::event::{self, shown, tracking_of};
use crate::proto::umadb::v1;

const CATEGORY: &str = "umadb";
/// Type of the event that stands for an append without events.
const MARK_TYPE: &str = "umadb.tracked";
/// Others may move the same source at the same time; whoever loses reads again.
const TRIES_MAX: usize = 16;
/// Events of a source's stream that may follow the last one with a position, if others write there.
const LOOK_BACK_EVENTS_MAX: usize = 64;

/// The end of a source's stream.
pub(super) struct Last {
    version: StreamVersion,
    pub(super) position: Option<u64>,
}

pub(super) fn stream(source: &str) -> Result<StreamName, Status> {
    StreamName::new(&format!("{CATEGORY}-{source}")).map_err(|error| invalid_argument(error.to_string()))
}

pub(super) async fn last(store: &EventStore, stream: &StreamName) -> Result<Option<Last>, Status> {
    match store.read_stream(stream, StreamFrom::End, Direction::Backwards, LOOK_BACK_EVENTS_MAX).await {
        Ok(page) => {
            let version = page.events.first().and_then(|event| event.version);
            let position = page.events.iter().find_map(tracking_of).map(|tracking| tracking.position);
            Ok(version.map(|version| Last { version, position }))
        }
        Err(ReadError::NoStream { .. } | ReadError::SoftDeleted { .. }) => Ok(None),
        Err(error @ ReadError::Tombstoned { .. }) => Err(integrity(error.to_string())),
        Err(error) => Err(of_read(&error)),
    }
}

pub(super) async fn append(store: &EventStore, wanted: &Wanted, tracking: &v1::TrackingInfo) -> Result<u64, Status> {
    let stream = stream(&tracking.source)?;
    for _ in 0..TRIES_MAX {
        let last = last(store, &stream).await?;
        if let Some(position) = last.as_ref().and_then(|last| last.position)
            && tracking.position <= position
        {
            let before = wanted.recorded_before(store).await?;
            return before.ok_or_else(|| not_after(&tracking.source, tracking.position, position));
        }
        let append = Append {
            streams: vec![StreamAppend {
                stream: stream.clone(),
                expected: last.map_or(Expected::NoStream, |last| Expected::Exact(last.version)),
                events: events(wanted, tracking)?,
            }],
            events: Vec::new(),
            condition: wanted.condition.clone(),
        };
        match store.append(append).await {
            Ok(_) if wanted.events.is_empty() => return Ok(0),
            Ok(appended) => return Ok(appended.last_position.map_or(0, shown)),
            Err(AppendError::Conflict(_)) => {}
            Err(AppendError::ConditionFailed { position }) => {
                let before = wanted.recorded_before(store).await?;
                return before.ok_or_else(|| of_append(AppendError::ConditionFailed { position }));
            }
            Err(error) => return Err(of_append(error)),
        }
    }
    Err(integrity(format!("others kept moving source {} for {TRIES_MAX} tries; try again", tracking.source)))
}

fn events(wanted: &Wanted, tracking: &v1::TrackingInfo) -> Result<Vec<NewEvent>, Status> {
    if !wanted.events.is_empty() {
        return Ok(wanted.events.clone());
    }
    let mark = v1::Event { event_type: MARK_TYPE.to_owned(), uuid: Uuid::new_v4().to_string(), ..v1::Event::default() };
    Ok(vec![event::new_event(mark, Some(tracking))?])
}
