//! The task of one subscription: it owns the group, its consumers' outboxes and the feed, and does one thing at a time.
//!
//! What takes time (parking, keeping checkpoints, following links, reading what was parked) runs as jobs beside it; their
//! results come back into the loop. While a link is followed nothing else is taken in, so that order is kept.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use daybook_event_store::{EventStore, Subscription};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::consumer::{Consumer, Item, Outbox};
use super::feed::Feed;
use super::measure::{Counter, Stopwatch};
use super::parking::Parked;
use crate::body::Progress;
use crate::core::{AttachRefused, ConsumerId, Effect, Group, ItemId, Lane, MonotonicMs, Phase, Verdict};
use crate::definition::{Definition, SLOTS_MAX, SubscriptionName};
use crate::error::{Ended, JoinError, ManageError};
use crate::info::{Connection, Info, Profile};

mod work;

use work::Done;

/// Requests that wait for a subscription's task.
pub(super) const REQUESTS_MAX: usize = 256;
/// Reading stops while the items that are about take so much memory.
const ITEMS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Before a source that failed is read again; twice as long after each further failure.
const SOURCE_PAUSE_MIN: Duration = Duration::from_secs(1);
const SOURCE_PAUSE_MAX: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) enum Request {
    Join {
        slots: usize,
        profile: Profile,
        answer: oneshot::Sender<Result<Consumer, JoinError>>,
    },
    Settle {
        consumer: ConsumerId,
        items: Vec<ItemId>,
        verdict: Verdict,
        reason: String,
    },
    /// Puts this consumer out.
    Stop {
        consumer: ConsumerId,
    },
    Info {
        answer: oneshot::Sender<Info>,
    },
    /// Deliver what was parked, at most so many.
    Replay {
        limit: Option<u64>,
        answer: oneshot::Sender<Result<(), ManageError>>,
    },
    /// Forget what was parked, at most so many.
    Truncate {
        limit: Option<u64>,
        answer: oneshot::Sender<Result<(), ManageError>>,
    },
    /// Ends the task; the answer is what is to be kept.
    Close {
        why: Ended,
        answer: oneshot::Sender<Progress>,
    },
}

pub(super) struct Task {
    store: EventStore,
    name: SubscriptionName,
    definition: Arc<Definition>,
    progress: Progress,
    group: Group,
    start: Instant,
    feed: Feed,
    source: Option<Subscription>,
    /// When to read a source again that failed.
    source_due: Instant,
    source_pause: Duration,
    items: HashMap<ItemId, Arc<Item>>,
    items_bytes: usize,
    last_known: Option<u64>,
    seats: HashMap<ConsumerId, Seat>,
    next_consumer: u64,
    departures: Arc<Notify>,
    /// For consumers; weak, so that the task ends with the last handle.
    requests: mpsc::WeakSender<Request>,
    parked: Parked,
    /// A consumer's reasons, until what it rejected is being parked.
    reason: String,
    /// Version at which the present replay ends.
    replay_end: u64,
    is_reading_parked: bool,
    is_following_link: bool,
    jobs: FuturesUnordered<Pin<Box<dyn Future<Output = Done> + Send>>>,
    deliveries: Counter,
    is_over: bool,
}

struct Seat {
    outbox: Arc<Outbox>,
    profile: Profile,
    slots: usize,
    deliveries: Counter,
    stopwatch: Option<Stopwatch>,
}

impl Task {
    pub fn new(
        store: EventStore,
        definition: Arc<Definition>,
        progress: Progress,
        requests: mpsc::WeakSender<Request>,
    ) -> Result<Self, ManageError> {
        let now = Instant::now();
        let name = definition.name();
        let parked = Parked::new(store.clone(), name.parked_stream()?);
        Ok(Self {
            group: Group::new(definition.settings.policy(), progress.checkpoint, MonotonicMs(0)),
            feed: Feed::new(&definition.source)?,
            store,
            name,
            definition,
            progress,
            start: now,
            source: None,
            source_due: now,
            source_pause: SOURCE_PAUSE_MIN,
            items: HashMap::new(),
            items_bytes: 0,
            last_known: None,
            seats: HashMap::new(),
            next_consumer: 0,
            departures: Arc::new(Notify::new()),
            requests,
            parked,
            reason: String::new(),
            replay_end: 0,
            is_reading_parked: false,
            is_following_link: false,
            jobs: FuturesUnordered::new(),
            deliveries: Counter::new(now),
            is_over: false,
        })
    }

    pub async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        while !self.is_over {
            let deadline = self.group.next_deadline();
            let due = deadline.map_or(self.start, |deadline| self.start + Duration::from_millis(deadline.0));
            let may_read = self.may_read();
            tokio::select! {
                request = requests.recv() => match request {
                    Some(request) => self.on_request(request),
                    None => return,
                },
                () = self.departures.notified() => self.on_departures(),
                () = sleep_until(due), if deadline.is_some() => self.on_time(),
                Some(done) = self.jobs.next(), if !self.jobs.is_empty() => self.on_done(done),
                followed = next(&mut self.source), if may_read && self.source.is_some() => self.on_followed(followed),
                () = sleep_until(self.source_due), if self.source.is_none() => self.open_source(),
            }
            self.go_on_replaying();
        }
    }

    fn on_request(&mut self, request: Request) {
        match request {
            // Who asked may be gone: nobody is left to tell.
            Request::Join { slots, profile, answer } => drop(answer.send(self.join(slots, profile))),
            Request::Settle { consumer, items, verdict, reason } => self.settle(consumer, items, verdict, reason),
            Request::Stop { consumer } => self.put_out(consumer, Some(Ended::Dropped)),
            Request::Info { answer } => drop(answer.send(self.info())),
            Request::Replay { limit, answer } => self.begin_replay(limit, answer),
            Request::Truncate { limit, answer } => self.truncate(limit, answer),
            Request::Close { why, answer } => {
                self.close(why);
                let _ = answer.send(self.progress);
            }
        }
    }

    fn join(&mut self, slots: usize, profile: Profile) -> Result<Consumer, JoinError> {
        let wrong_slots = JoinError::Slots { slots };
        let requests = self.requests.upgrade().ok_or(JoinError::Closed)?;
        if slots > SLOTS_MAX {
            return Err(wrong_slots);
        }
        let id = ConsumerId(self.next_consumer);
        let effects = self.group.attach(id, slots, self.now()).map_err(|refused| match refused {
            AttachRefused::NoSlots => wrong_slots,
            AttachRefused::Full | AttachRefused::Known => JoinError::Full(self.name.clone()),
        })?;
        self.next_consumer += 1;
        let outbox = Arc::new(Outbox::new(self.departures.clone()));
        let stopwatch = self.definition.settings.extra_statistics.then(Stopwatch::default);
        let deliveries = Counter::new(Instant::now());
        self.seats.insert(id, Seat { outbox: outbox.clone(), profile, slots, deliveries, stopwatch });
        self.perform(effects);
        Ok(Consumer { id, definition: self.definition.clone(), outbox, requests })
    }

    fn settle(&mut self, consumer: ConsumerId, items: Vec<ItemId>, verdict: Verdict, reason: String) {
        self.reason = reason;
        for item in items {
            // What it doesn't hold was settled before, or its time was over.
            if let Ok(effects) = self.group.settle(consumer, item, verdict, self.now()) {
                self.perform(effects);
            }
        }
    }

    fn on_departures(&mut self) {
        let gone = self.seats.iter().filter(|(_, seat)| seat.outbox.has_departed()).map(|(id, _)| *id);
        for id in gone.collect::<Vec<_>>() {
            self.put_out(id, None);
        }
    }

    fn put_out(&mut self, id: ConsumerId, why: Option<Ended>) {
        let Some(seat) = self.seats.remove(&id) else { return };
        if let Some(why) = why {
            seat.outbox.end(why);
        }
        let effects = self.group.detach(id, self.now());
        self.perform(effects);
    }

    fn on_time(&mut self) {
        let effects = self.group.tick(self.now());
        self.perform(effects);
    }

    /// What was replayed goes before what is new.
    fn may_read(&self) -> bool {
        self.group.room() > 0 && self.has_memory() && !self.is_following_link && !self.is_replaying()
    }

    fn has_memory(&self) -> bool {
        self.items_bytes < ITEMS_BYTES_MAX
    }

    fn is_replaying(&self) -> bool {
        self.group.next_number(Lane::Replay) < self.replay_end
    }

    fn open_source(&mut self) {
        self.group.set_phase(Phase::History);
        self.source = Some(self.feed.follow(&self.store, self.group.next_number(Lane::Main)));
    }

    fn close(&mut self, why: Ended) {
        for seat in self.seats.values() {
            seat.outbox.end(why);
        }
        if let Some(checkpoint) = self.group.last_checkpoint() {
            self.progress = Progress { checkpoint, has_come_on: true };
        }
        self.is_over = true;
    }

    fn info(&mut self) -> Info {
        let now = Instant::now();
        let figures = self.group.figures();
        let connections = self.seats.iter_mut().map(|(id, seat)| {
            let in_flight = self.group.held_by(*id);
            Connection {
                profile: seat.profile.clone(),
                rate: seat.deliveries.look(now),
                available_slots: seat.slots - in_flight,
                in_flight,
                measurements: seat.stopwatch.as_ref().map(Stopwatch::figures).unwrap_or_default(),
            }
        });
        Info {
            definition: self.definition.clone(),
            is_live: self.group.phase() == Phase::Live,
            is_replaying: self.group.next_number(Lane::Replay) < self.replay_end,
            connections: connections.collect(),
            rate: self.deliveries.look(now),
            last_checkpointed: Some(self.progress)
                .filter(|at| at.has_come_on)
                .and_then(|at| at.checkpoint.checked_sub(1)),
            last_known: self.last_known,
            buffered: figures.fresh,
            retrying: figures.retrying,
            in_flight: figures.held,
            // What is still to be replayed is counted by whoever knows the stream.
            parked: self.group.next_number(Lane::Replay),
        }
    }

    fn now(&self) -> MonotonicMs {
        MonotonicMs(self.start.elapsed().as_millis() as u64)
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.do_one(effect);
        }
    }
}

async fn next(
    source: &mut Option<Subscription>,
) -> Option<Result<daybook_event_store::Followed, daybook_event_store::ReadError>> {
    match source {
        Some(source) => source.next().await,
        None => std::future::pending().await,
    }
}
