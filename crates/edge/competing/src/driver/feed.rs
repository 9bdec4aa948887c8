//! Where a subscription's events come from.

use daybook_event_store::{
    EventStore, Filter, FollowFrom, Query, QueryItem, Recorded, StreamName, Subscription, Target,
};
use daybook_types::{Position, StreamVersion};

use crate::definition::{Invalid, Looking, Source, is_parked_of_all};

/// Events that a filtered source looks at between two reports of how far it has come.
const CHECKPOINT_INTERVAL: usize = 1000;

/// A source made ready to be followed, again and again.
#[derive(Debug)]
pub(super) struct Feed {
    target: Target,
    looking: Looking,
}

impl Feed {
    pub fn new(source: &Source) -> Result<Self, Invalid> {
        let (target, looking) = match source {
            Source::Stream(name) => {
                let stream = StreamName::new(name)
                    .map_err(|error| Invalid::StreamName { name: name.clone(), cause: error.to_string() })?;
                (Target::Stream(stream), Looking::default())
            }
            Source::Category(category) => {
                let filter = Filter { category: Some(category.clone()), ..Filter::default() };
                (Target::All(filter), Looking::default())
            }
            Source::EventType(event_type) => {
                let item = QueryItem { types: vec![event_type.clone()], tags: Vec::new() };
                let filter = Filter { query: Query { items: vec![item] }, ..Filter::default() };
                (Target::All(filter), Looking::default())
            }
            Source::All(filter) => {
                let (filter, looking) = filter.compile()?;
                (Target::All(filter), looking)
            }
        };
        Ok(Self { target, looking })
    }

    /// From the item `next` on.
    pub fn follow(&self, store: &EventStore, next: u64) -> Subscription {
        let from = match (&self.target, next.checked_sub(1)) {
            (_, None) => FollowFrom::Start,
            (Target::Stream(_), Some(last)) => FollowFrom::AfterVersion(StreamVersion(last)),
            (Target::All(_), Some(last)) => FollowFrom::AfterPosition(Position(last)),
        };
        store.subscribe(self.target.clone(), from, CHECKPOINT_INTERVAL)
    }

    /// The event's number in the main lane.
    pub fn number_of(&self, event: &Recorded) -> Option<u64> {
        match self.target {
            Target::Stream(_) => event.version.map(|version| version.0),
            Target::All(_) => Some(event.position.0),
        }
    }

    pub fn wants(&self, event: &Recorded) -> bool {
        let stream = event.stream.as_ref().map(StreamName::as_str);
        match self.target {
            Target::Stream(_) => true,
            Target::All(_) => {
                !stream.is_some_and(is_parked_of_all) && self.looking.lets_pass(stream, &event.event_type)
            }
        }
    }
}
