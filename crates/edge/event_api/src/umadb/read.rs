//! Read: pages of the store up to its end as of the first page, cut into messages that a client takes.

use std::collections::VecDeque;

use daybook_event_store::{AllFrom, Direction, EventStore, Filter, Page};
use daybook_types::Position;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use prost::Message;
use tonic::Status;

use super::error_code::{invalid_argument, of_read};
use super::event::{head, position, query, sequenced};
use crate::proto::umadb::v1;

/// Events that one page of a selective read looks at.
const LOOK_EVENTS_MAX: usize = 4096;
/// Events read at a time, however few a message may hold: small pages cost the store more than they save.
const PAGE_EVENTS_MIN: usize = 256;
/// Of each event of a message beside its own bytes: a tag and a length.
const FRAMING_BYTES: usize = 11;

pub(super) fn answers(
    store: EventStore,
    request: v1::ReadRequest,
    events_max: usize,
    bytes_max: usize,
) -> Result<BoxStream<'static, Result<v1::ReadResponse, Status>>, Status> {
    if request.subscribe() {
        return Err(invalid_argument("reading does not subscribe any more; call Subscribe".to_owned()));
    }
    let direction = if request.backwards() { Direction::Backwards } else { Direction::Forwards };
    let read = Read {
        filter: Filter { query: query(request.query), ..Filter::default() },
        from: from(request.start, direction),
        direction,
        remaining: request.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        limited: request.limit.is_some(),
        end: None,
        waiting: VecDeque::new(),
        answered: request.limit == Some(0),
        ended: request.limit == Some(0),
        store,
        events_max,
        bytes_max,
    };
    Ok(stream::unfold(read, |mut read| async move { Some((read.next().await?, read)) }).boxed())
}

/// Takes events from the front of a queue as far as they fit into one message; at least one.
pub(super) fn cut(
    waiting: &mut VecDeque<v1::SequencedEvent>,
    events_max: usize,
    bytes_max: usize,
) -> Vec<v1::SequencedEvent> {
    let mut message = Vec::new();
    let mut bytes = 0;
    while let Some(event) = waiting.front() {
        bytes += message_bytes(event);
        if !message.is_empty() && (message.len() >= events_max || bytes > bytes_max) {
            break;
        }
        message.extend(waiting.pop_front());
    }
    message
}

/// What an event takes of a message.
pub(super) fn message_bytes(event: &v1::SequencedEvent) -> usize {
    event.encoded_len() + FRAMING_BYTES
}

struct Read {
    store: EventStore,
    filter: Filter,
    direction: Direction,
    from: AllFrom,
    /// Events still wanted, if their number is limited.
    remaining: Option<usize>,
    limited: bool,
    /// Position after the last event that is part of this read.
    end: Option<Position>,
    /// Read, and not yet sent; at most a page.
    waiting: VecDeque<v1::SequencedEvent>,
    /// A message was sent, or none is wanted.
    answered: bool,
    /// Nothing more is to be read.
    ended: bool,
    events_max: usize,
    bytes_max: usize,
}

impl Read {
    async fn next(&mut self) -> Option<Result<v1::ReadResponse, Status>> {
        while self.waiting.is_empty() && !self.ended {
            let page_events = self.events_max.max(PAGE_EVENTS_MIN);
            let max = self.remaining.map_or(page_events, |remaining| remaining.min(page_events));
            let page = self.store.read_all(self.from, self.direction, &self.filter, max, LOOK_EVENTS_MAX).await;
            match page {
                Ok(page) => self.take(page),
                Err(error) => {
                    (self.ended, self.answered) = (true, true);
                    return Some(Err(of_read(&error)));
                }
            }
        }
        // A client learns the head from a message, so there is one even without events.
        if self.waiting.is_empty() && self.answered {
            return None;
        }
        self.answered = true;
        let events = cut(&mut self.waiting, self.events_max, self.bytes_max);
        let head = match self.limited {
            true => events.last().map(|event| event.position),
            false => self.end.and_then(head),
        };
        Some(Ok(v1::ReadResponse { events, head }))
    }

    fn take(&mut self, page: Page) {
        let end = *self.end.get_or_insert(page.end);
        let wanted = page.events.into_iter().filter(|event| event.position < end);
        self.waiting.extend(wanted.map(sequenced));
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.saturating_sub(self.waiting.len());
        }
        self.from = page.next;
        let past_end =
            self.direction == Direction::Forwards && matches!(page.next, AllFrom::Position(next) if next >= end);
        self.ended = page.at_end || past_end || self.remaining == Some(0);
    }
}

/// The store reads backwards from before a position, clients from the event at it.
fn from(start: Option<u64>, direction: Direction) -> AllFrom {
    match (start, direction) {
        (None, Direction::Forwards) => AllFrom::Start,
        (None, Direction::Backwards) => AllFrom::End,
        (Some(start), Direction::Forwards) => position(start).map_or(AllFrom::Start, AllFrom::Position),
        (Some(start), Direction::Backwards) => AllFrom::Position(Position(start)),
    }
}
