//! What the task takes in, what it does for the group, and the jobs that run beside it.

use std::sync::Arc;
use std::time::Duration;

use daybook_event_store::{EventStore, Followed, ProposeError, ReadError, Recorded, SubscriptionMustBe};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{error, warn};

use super::super::consumer::{Delivery, Item};
use super::super::resolve::{affinity, follow, is_link};
use super::{SOURCE_PAUSE_MAX, SOURCE_PAUSE_MIN, Task};
use crate::body::{self, Progress};
use crate::core::{Effect, ItemId, Lane, ParkCause, Phase};
use crate::definition::Definition;
use crate::error::{Ended, ManageError};

/// Parked events that are read at a time.
const REPLAY_PAGE_MAX: usize = 100;
const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);

/// Parked events with their numbers, and where the next page begins.
pub(super) type ReplayPage = Result<(Vec<(u64, Option<Item>)>, u64), ReadError>;

/// The end of a job.
pub(super) enum Done {
    Parked(ItemId),
    Kept(Lane, u64),
    Followed(u64, Box<Result<Item, ReadError>>),
    /// Where the parked begin and end.
    ReplayRange(Option<u64>, oneshot::Sender<Result<(), ManageError>>, Result<(u64, u64), ReadError>),
    ReplayPage(ReplayPage),
    Nothing,
    /// The store is closed.
    StoreClosed,
}

impl Task {
    pub(super) fn on_followed(&mut self, followed: Option<Result<Followed, ReadError>>) {
        match followed {
            Some(Ok(Followed::Event(event))) => self.on_event(event),
            Some(Ok(Followed::Checkpoint(position))) => self.pass(position.0),
            Some(Ok(Followed::CaughtUp { .. })) => self.group.set_phase(Phase::Live),
            Some(Ok(Followed::FellBehind { .. })) => self.group.set_phase(Phase::History),
            Some(Err(error)) => self.reopen_source_later(&error),
            None => self.close(Ended::Closed),
        }
    }

    fn on_event(&mut self, event: Box<Recorded>) {
        let Some(number) = self.feed.number_of(&event) else { return };
        self.source_pause = SOURCE_PAUSE_MIN;
        self.last_known = Some(number);
        if !self.feed.wants(&event) {
            self.pass(number);
        } else if self.definition.settings.resolve_links && is_link(&event) {
            self.is_following_link = true;
            let store = self.store.clone();
            self.jobs.push(Box::pin(async move { Done::Followed(number, Box::new(follow(&store, *event).await)) }));
        } else {
            self.take_in(ItemId::main(number), Item { event: Some(*event), link: None });
        }
    }

    fn pass(&mut self, number: u64) {
        let effects = self.group.pass(Lane::Main, number.saturating_add(1), self.now());
        self.perform(effects);
    }

    fn take_in(&mut self, id: ItemId, item: Item) {
        if id.number < self.group.next_number(id.lane) {
            return;
        }
        let affinity = affinity(self.definition.settings.strategy, &item);
        self.items_bytes += item.bytes();
        self.items.insert(id, Arc::new(item));
        let effects = self.group.offer(id, affinity, self.now());
        self.perform(effects);
    }

    fn reopen_source_later(&mut self, error: &ReadError) {
        warn!(subscription = %self.name, %error, "can't read what a subscription consumes; trying again");
        self.source = None;
        self.source_due = Instant::now() + self.source_pause;
        self.source_pause = (self.source_pause * 2).min(SOURCE_PAUSE_MAX);
    }

    pub(super) fn do_one(&mut self, effect: Effect) {
        match effect {
            Effect::Deliver { consumer, item: id, retry } => {
                let (Some(seat), Some(item)) = (self.seats.get_mut(&consumer), self.items.get(&id)) else { return };
                seat.deliveries.add();
                self.deliveries.add();
                if let Some(stopwatch) = &mut seat.stopwatch {
                    stopwatch.start(id, Instant::now());
                }
                seat.outbox.push(Delivery { id, item: item.clone(), retry });
            }
            Effect::Withdraw { consumer, item } => {
                if let Some(seat) = self.seats.get_mut(&consumer) {
                    seat.outbox.withdraw(item);
                    if let Some(stopwatch) = &mut seat.stopwatch {
                        stopwatch.stop(item, Instant::now());
                    }
                }
            }
            Effect::Park { item, cause } => self.park(item, cause),
            Effect::Finish { item } => {
                if let Some(item) = self.items.remove(&item) {
                    self.items_bytes -= item.bytes();
                }
            }
            Effect::Keep { lane: Lane::Main, checkpoint } => self.keep(checkpoint),
            Effect::Keep { lane: Lane::Replay, checkpoint } => {
                let parked = self.parked.clone();
                self.jobs.push(Box::pin(async move {
                    if parked.cut(checkpoint).await { Done::Kept(Lane::Replay, checkpoint) } else { Done::StoreClosed }
                }));
            }
        }
    }

    fn park(&mut self, id: ItemId, cause: ParkCause) {
        let Some(item) = self.items.get(&id).cloned() else { return };
        let reason = match cause {
            ParkCause::Asked => format!("a consumer asked for it: {}", self.reason),
            ParkCause::DeliveredTooOften => {
                format!("not acknowledged in {} deliveries", u64::from(self.definition.settings.max_retry_count) + 1)
            }
        };
        let number = item.original().and_then(|event| self.feed.number_of(event)).unwrap_or(id.number);
        let parked = self.parked.clone();
        self.jobs.push(Box::pin(async move {
            if parked.park(item, number, reason).await { Done::Parked(id) } else { Done::StoreClosed }
        }));
    }

    fn keep(&mut self, checkpoint: u64) {
        let (store, name, definition) = (self.store.clone(), self.name.to_string(), self.definition.clone());
        self.jobs.push(Box::pin(async move {
            let progress = Progress { checkpoint, has_come_on: true };
            if keep(&store, &name, progress, &definition).await {
                Done::Kept(Lane::Main, checkpoint)
            } else {
                Done::StoreClosed
            }
        }));
    }

    pub(super) fn on_done(&mut self, done: Done) {
        match done {
            Done::Parked(item) => {
                let effects = self.group.parked(item, self.now());
                self.perform(effects);
            }
            Done::Kept(lane, checkpoint) => {
                if lane == Lane::Main {
                    self.progress = Progress { checkpoint, has_come_on: true };
                }
                let effects = self.group.kept(lane, self.now());
                self.perform(effects);
            }
            Done::Followed(number, item) => {
                self.is_following_link = false;
                match *item {
                    Ok(item) => self.take_in(ItemId::main(number), item),
                    // The link is read again with what comes after it.
                    Err(error) => self.reopen_source_later(&error),
                }
            }
            Done::ReplayRange(limit, answer, range) => {
                let begun = range.map(|(first, end)| self.replay_range(limit, first, end));
                let _ = answer.send(begun.map_err(ManageError::from));
            }
            Done::ReplayPage(page) => self.on_replay_page(page),
            Done::Nothing => {}
            Done::StoreClosed => self.close(Ended::Closed),
        }
    }

    pub(super) fn begin_replay(&mut self, limit: Option<u64>, answer: oneshot::Sender<Result<(), ManageError>>) {
        let parked = self.parked.clone();
        self.jobs.push(Box::pin(async move { Done::ReplayRange(limit, answer, parked.range().await) }));
    }

    fn replay_range(&mut self, limit: Option<u64>, first: u64, end: u64) {
        self.group.begin_replay_at(first, self.now());
        let from = self.group.next_number(Lane::Replay).max(first);
        let wanted = limit.map_or(end, |limit| from.saturating_add(limit).min(end));
        self.replay_end = self.replay_end.max(wanted);
    }

    /// Reads on in what was parked, if that is wanted and there is room.
    pub(super) fn go_on_replaying(&mut self) {
        let from = self.group.next_number(Lane::Replay);
        let room = self.group.room().min(REPLAY_PAGE_MAX);
        let is_free = !self.is_reading_parked && !self.is_over && room > 0 && self.has_memory();
        if is_free && from < self.replay_end {
            let max = room.min(usize::try_from(self.replay_end - from).unwrap_or(usize::MAX));
            let parked = self.parked.clone();
            self.is_reading_parked = true;
            self.jobs.push(Box::pin(async move { Done::ReplayPage(parked.read(from, max).await) }));
        }
    }

    fn on_replay_page(&mut self, page: ReplayPage) {
        self.is_reading_parked = false;
        match page {
            // Nothing there and nothing further on: it can't be what was asked for, and would be asked for again for ever.
            Ok((_, next)) if next <= self.group.next_number(Lane::Replay) => self.replay_end = 0,
            Ok((mut items, next)) => {
                items.retain(|(version, _)| *version < self.replay_end);
                for (version, item) in items {
                    match item {
                        Some(item) => self.take_in(ItemId::replay(version), item),
                        None => {
                            warn!(subscription = %self.name, version, "a parked event is gone; it is not replayed");
                        }
                    }
                }
                // Those whose event is gone have had their turn too.
                let effects = self.group.pass(Lane::Replay, next.min(self.replay_end), self.now());
                self.perform(effects);
            }
            Err(error) => {
                error!(subscription = %self.name, %error, "can't read what was parked; the replay ends here");
                self.replay_end = 0;
            }
        }
    }

    pub(super) fn truncate(&mut self, limit: Option<u64>, answer: oneshot::Sender<Result<(), ManageError>>) {
        let parked = self.parked.clone();
        self.jobs.push(Box::pin(async move {
            let (first, end) = match parked.range().await {
                Ok(range) => range,
                Err(error) => {
                    let _ = answer.send(Err(error.into()));
                    return Done::Nothing;
                }
            };
            let before = limit.map_or(end, |limit| first.saturating_add(limit).min(end));
            if before > first && !parked.cut(before).await {
                let _ = answer.send(Err(ManageError::Closed));
                return Done::StoreClosed;
            }
            let _ = answer.send(Ok(()));
            Done::Nothing
        }));
    }
}

/// Returns once it is durable, however long that takes. `false`: the store is closed.
async fn keep(store: &EventStore, name: &str, progress: Progress, definition: &Definition) -> bool {
    let mut pause = RETRY_MIN;
    loop {
        match store.put_subscription(name, SubscriptionMustBe::Known, body::encode(progress, definition)).await {
            Ok(Ok(())) => return true,
            Ok(Err(refusal)) => {
                // It was deleted meanwhile: its task is being closed.
                warn!(subscription = name, %refusal, "a checkpoint was not kept");
                return true;
            }
            Err(ProposeError::Closed) => return false,
            Err(error) => warn!(subscription = name, %error, "can't keep a checkpoint; trying again"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY_MAX);
    }
}
