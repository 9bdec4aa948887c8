//! Subscribe: what the store's subscription brings, as many events a message as are there at once.

use std::collections::VecDeque;

use daybook_event_store::{EventStore, Filter, FollowFrom, Followed, ReadError, Subscription, Target};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tonic::Status;

use super::error_code::of_read;
use super::event::{position, query, sequenced};
use super::read::{cut, message_bytes};
use crate::proto::umadb::v1;

/// Clients are told of no checkpoints, so there need not be many.
const CHECKPOINT_INTERVAL: usize = 100_000;

pub(super) fn answers(
    store: &EventStore,
    request: v1::SubscribeRequest,
    events_max: usize,
    bytes_max: usize,
) -> BoxStream<'static, Result<v1::SubscribeResponse, Status>> {
    if request.after == Some(u64::MAX) {
        return stream::empty().boxed();
    }
    let filter = Filter { query: query(request.query), ..Filter::default() };
    let from = request.after.and_then(position).map_or(FollowFrom::Start, FollowFrom::AfterPosition);
    let subscription = store.subscribe(Target::All(filter), from, CHECKPOINT_INTERVAL);
    let following =
        Following { subscription, waiting: VecDeque::new(), failure: None, ended: false, events_max, bytes_max };
    stream::unfold(following, |mut following| async move { Some((following.next().await?, following)) }).boxed()
}

struct Following {
    subscription: Subscription,
    /// Read, and not yet sent; at most a message and an event.
    waiting: VecDeque<v1::SequencedEvent>,
    failure: Option<ReadError>,
    ended: bool,
    events_max: usize,
    bytes_max: usize,
}

impl Following {
    async fn next(&mut self) -> Option<Result<v1::SubscribeResponse, Status>> {
        while self.waiting.is_empty() && !self.ended {
            let followed = self.subscription.next().await;
            self.take(followed);
        }
        let mut bytes: usize = self.waiting.iter().map(message_bytes).sum();
        while self.waiting.len() < self.events_max && bytes <= self.bytes_max && !self.ended {
            let Some(followed) = self.subscription.next().now_or_never() else { break };
            bytes += self.take(followed);
        }
        if self.waiting.is_empty() {
            return self.failure.take().map(|error| Err(of_read(&error)));
        }
        let events = cut(&mut self.waiting, self.events_max, self.bytes_max);
        Some(Ok(v1::SubscribeResponse { events }))
    }

    /// Bytes that this adds to a message.
    fn take(&mut self, followed: Option<Result<Followed, ReadError>>) -> usize {
        match followed {
            Some(Ok(Followed::Event(recorded))) => {
                let event = sequenced(*recorded);
                let bytes = message_bytes(&event);
                self.waiting.push_back(event);
                return bytes;
            }
            Some(Ok(Followed::Checkpoint(_) | Followed::CaughtUp { .. } | Followed::FellBehind { .. })) => {}
            Some(Err(error)) => {
                self.failure = Some(error);
                self.ended = true;
            }
            None => self.ended = true,
        }
        0
    }
}
