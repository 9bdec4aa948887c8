//! Append: unless events match, and the rules by which a repeated request gets the first answer.

use daybook_event_store::{AllFrom, Append, AppendError, Condition, Direction, EventStore, Filter, NewEvent, Recorded};
use tonic::Status;

use super::error_code::{integrity, of_append, of_read};
use super::event::{self, shown};
use super::tracking;
use crate::proto::umadb::v1;

/// Events that one page looks at while it searches for those of a condition.
const LOOK_EVENTS_MAX: usize = 4096;

/// Appends, and answers the position of the last event; 0 if there was none.
pub(super) async fn append(store: &EventStore, request: v1::AppendRequest) -> Result<u64, Status> {
    let wanted = Wanted::of(request)?;
    if let Some(tracking) = &wanted.tracking {
        return tracking::append(store, &wanted, tracking).await;
    }
    if wanted.events.is_empty() {
        return match wanted.first_match(store).await? {
            Some(found) => Err(of_append(AppendError::ConditionFailed { position: found.position })),
            None => Ok(0),
        };
    }
    let append = Append { streams: Vec::new(), events: wanted.events.clone(), condition: wanted.condition.clone() };
    match store.append(append).await {
        Ok(appended) => Ok(appended.last_position.map_or(0, shown)),
        Err(AppendError::ConditionFailed { position }) => match wanted.recorded_before(store).await? {
            Some(position) => Ok(position),
            None => Err(of_append(AppendError::ConditionFailed { position })),
        },
        Err(error) => Err(of_append(error)),
    }
}

/// What a request asks for, in the store's words.
pub(super) struct Wanted {
    pub(super) events: Vec<NewEvent>,
    pub(super) condition: Option<Condition>,
    pub(super) tracking: Option<v1::TrackingInfo>,
    /// The client gave every event an id: only then can a repeated request be known.
    has_ids: bool,
}

impl Wanted {
    fn of(request: v1::AppendRequest) -> Result<Self, Status> {
        let tracking = request.tracking_info;
        let has_ids = request.events.iter().all(|event| !event.uuid.is_empty());
        let events = request.events.into_iter().map(|event| event::new_event(event, tracking.as_ref()));
        let condition = request.condition.map(|condition| Condition {
            unless: event::query(condition.fail_if_events_match),
            after: condition.after.and_then(event::position),
        });
        Ok(Self { events: events.collect::<Result<_, _>>()?, condition, tracking, has_ids })
    }

    /// Position of the last event if the events that fail the condition are, first of all, these very ones: then the request
    /// is a repeated one, and has its first answer again.
    pub(super) async fn recorded_before(&self, store: &EventStore) -> Result<Option<u64>, Status> {
        if !self.has_ids || self.events.is_empty() {
            return Ok(None);
        }
        let found = self.matches(store, self.events.len()).await?;
        let same = found.len() == self.events.len()
            && found.iter().zip(&self.events).all(|(found, event)| event::uuid(&found.id) == event.id);
        Ok(found.last().filter(|_| same).map(|last| shown(last.position)))
    }

    /// The first event that fails the condition.
    pub(super) async fn first_match(&self, store: &EventStore) -> Result<Option<Recorded>, Status> {
        Ok(self.matches(store, 1).await?.pop())
    }

    /// Up to `max` events that fail the condition.
    async fn matches(&self, store: &EventStore, max: usize) -> Result<Vec<Recorded>, Status> {
        let Some(condition) = &self.condition else { return Ok(Vec::new()) };
        let filter = Filter { query: condition.unless.clone(), ..Filter::default() };
        let mut from = condition.after.map_or(AllFrom::Start, |after| AllFrom::Position(after.next()));
        let mut found = Vec::new();
        while found.len() < max {
            let page = store.read_all(from, Direction::Forwards, &filter, max - found.len(), LOOK_EVENTS_MAX).await;
            let page = page.map_err(|error| of_read(&error))?;
            found.extend(page.events);
            from = page.next;
            if page.at_end {
                break;
            }
        }
        Ok(found)
    }
}

/// The answer to a request whose source has come as far already.
pub(super) fn not_after(source: &str, position: u64, last: u64) -> Status {
    integrity(format!("source {source} has been followed up to position {last}, so {position} is not new"))
}
