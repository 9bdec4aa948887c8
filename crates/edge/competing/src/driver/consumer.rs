//! The two ends of a consumer: what the subscription's task hands out, what its consumer takes.
//!
//! An outbox holds what the consumer hasn't taken yet, so what is withdrawn before it was taken is never seen. It is bounded by
//! the consumer's slots: nothing is in it that the consumer doesn't hold.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use daybook_event_store::Recorded;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::task::Request;
use crate::core::{ConsumerId, ItemId, Verdict};
use crate::definition::Definition;
use crate::error::Ended;

/// An event as it is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// `None`: a link whose event is gone.
    pub event: Option<Recorded>,
    /// The link that led to the event, if one was followed; a parked event, replayed, comes by its link.
    pub link: Option<Recorded>,
}

impl Item {
    /// What the subscription read, link or not; a consumer settles by its id.
    pub fn original(&self) -> Option<&Recorded> {
        self.link.as_ref().or(self.event.as_ref())
    }

    pub(super) fn bytes(&self) -> usize {
        const RECORDED_BYTES: usize = 512;
        let bytes =
            |event: &Recorded| RECORDED_BYTES + event.data.len() + event.metadata.as_ref().map_or(0, bytes::Bytes::len);
        self.event.iter().chain(&self.link).map(bytes).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub id: ItemId,
    pub item: Arc<Item>,
    /// 0 at the first delivery.
    pub retry: u32,
}

/// What is to become of an event that isn't acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nack {
    Retry,
    Park,
    Skip,
    /// This consumer takes no more; what it holds goes to others.
    Stop,
}

/// A member of a group. Dropping it gives back what it holds.
#[derive(Debug)]
pub struct Consumer {
    pub(super) id: ConsumerId,
    pub(super) definition: Arc<Definition>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) requests: mpsc::Sender<Request>,
}

impl Consumer {
    /// Of the subscription that it joined. A change drops all consumers.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The next event. Dropping the future loses nothing. For one caller at a time.
    pub async fn recv(&self) -> Result<Delivery, Ended> {
        loop {
            if let Some(taken) = self.outbox.take() {
                return taken;
            }
            self.outbox.arrived.notified().await;
        }
    }

    /// Whether it still holds the event: it hasn't settled it, and its time isn't over.
    pub fn holds(&self, id: ItemId) -> bool {
        self.outbox.state.lock().held.contains_key(&id)
    }

    /// Done. What it doesn't hold is ignored.
    pub async fn ack(&self, items: Vec<ItemId>) -> Result<(), Ended> {
        self.settle(items, Verdict::Accept, String::new()).await
    }

    pub async fn nack(&self, items: Vec<ItemId>, nack: Nack, reason: &str) -> Result<(), Ended> {
        let verdict = match nack {
            Nack::Retry => Verdict::Retry,
            Nack::Park => Verdict::Park,
            Nack::Skip => Verdict::Skip,
            Nack::Stop => {
                return self.requests.send(Request::Stop { consumer: self.id }).await.map_err(|_| Ended::Closed);
            }
        };
        self.settle(items, verdict, reason.to_owned()).await
    }

    /// Still at it: the time to hold them begins anew.
    pub async fn renew(&self, items: Vec<ItemId>) -> Result<(), Ended> {
        self.settle(items, Verdict::Renew, String::new()).await
    }

    async fn settle(&self, items: Vec<ItemId>, verdict: Verdict, reason: String) -> Result<(), Ended> {
        let request = Request::Settle { consumer: self.id, items, verdict, reason };
        self.requests.send(request).await.map_err(|_| Ended::Closed)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.outbox.departed.store(true, Ordering::Release);
        self.outbox.departures.notify_one();
    }
}

#[derive(Debug)]
pub(super) struct Outbox {
    state: Mutex<State>,
    arrived: Notify,
    departed: AtomicBool,
    departures: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Delivery>,
    /// And whether the consumer has taken it.
    held: HashMap<ItemId, bool>,
    ended: Option<Ended>,
}

impl Outbox {
    /// `departures` is told when the consumer is gone.
    pub fn new(departures: Arc<Notify>) -> Self {
        Self { state: Mutex::default(), arrived: Notify::new(), departed: AtomicBool::new(false), departures }
    }

    pub fn push(&self, delivery: Delivery) {
        let mut state = self.state.lock();
        state.held.insert(delivery.id, false);
        state.waiting.push_back(delivery);
        drop(state);
        self.arrived.notify_one();
    }

    pub fn withdraw(&self, id: ItemId) {
        let mut state = self.state.lock();
        if state.held.remove(&id) == Some(false) {
            state.waiting.retain(|delivery| delivery.id != id);
        }
    }

    pub fn end(&self, why: Ended) {
        let mut state = self.state.lock();
        state.held.clear();
        state.waiting.clear();
        state.ended = Some(why);
        drop(state);
        self.arrived.notify_one();
    }

    pub fn has_departed(&self) -> bool {
        self.departed.load(Ordering::Acquire)
    }

    fn take(&self) -> Option<Result<Delivery, Ended>> {
        let mut state = self.state.lock();
        let Some(delivery) = state.waiting.pop_front() else { return state.ended.map(Err) };
        state.held.insert(delivery.id, true);
        Some(Ok(delivery))
    }
}
