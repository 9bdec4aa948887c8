//! One group of competing consumers as a pure state machine. It reads no clock and knows nothing of what an item is: items are
//! numbers. What it wants done comes back as [`Effect`]s; [`Group::next_deadline`] says when to call [`Group::tick`].
//!
//! ```text
//!  offer ──▶ ready ──▶ held ──accept, skip──▶ finished
//!              ▲         │                       ▲
//!              │         ├─ retry, time over, ───┤ parked
//!              └─────────┤  consumer gone        │
//!                        └─ park, too often ──▶ parking
//! ```
//!
//! Invariants, at the end of every event:
//! - An item is in one of the three places or finished, and held by at most one consumer.
//! - A checkpoint is never ahead of an item that isn't finished, and never falls. What is finished above it is forgotten at a
//!   restart and delivered again.
//! - Nothing that could be delivered waits: either nothing is ready, or nobody who may have it has a free slot.
//! - With pinning, items of one affinity are with one consumer at a time.
//!
//! The books (`daybook_delivery`) are those of Kafka's share groups too: there *acquire* is a delivery, archived is finished, the
//! acquisition lock is `hold_ms`, and the share-partition start offset is the checkpoint.

use std::collections::BTreeSet;

mod effect;
mod ident;
mod ledger;
mod pins;
mod policy;
mod roster;

pub use effect::{AttachRefused, Effect, Figures, NotHeld, ParkCause, Phase, Verdict};
pub use ident::{ConsumerId, ItemId, Lane, MonotonicMs};
pub use policy::{Policy, Strategy};

use ledger::{Ledger, Place};
use pins::Pins;
use roster::Roster;

#[derive(Debug)]
pub struct Group {
    policy: Policy,
    phase: Phase,
    main: Ledger,
    replay: Ledger,
    ready: BTreeSet<ItemId>,
    parking: usize,
    deadlines: BTreeSet<(MonotonicMs, ItemId)>,
    roster: Roster,
    pins: Pins,
    effects: Vec<Effect>,
}

impl Group {
    /// `start`: the checkpoint as last kept; the first number that isn't finished.
    pub fn new(policy: Policy, start: u64, now: MonotonicMs) -> Self {
        Self {
            policy,
            phase: Phase::History,
            main: Ledger::new(start, now),
            replay: Ledger::new(0, now),
            ready: BTreeSet::new(),
            parking: 0,
            deadlines: BTreeSet::new(),
            roster: Roster::default(),
            pins: Pins::new(),
            effects: Vec::new(),
        }
    }

    /// How many items it takes now. The driver reads on only while this isn't 0.
    pub fn room(&self) -> usize {
        let waiting = self.ready.len() + self.parking;
        match self.phase {
            Phase::Live => self.policy.live_buffer_max.saturating_sub(waiting),
            Phase::History => {
                let room = self.policy.history_buffer_max.saturating_sub(waiting);
                if room >= self.policy.read_batch { room } else { 0 }
            }
        }
    }

    pub fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The lowest number of the lane that may be offered.
    pub fn next_number(&self, lane: Lane) -> u64 {
        self.ledger(lane).next()
    }

    /// Takes an item in. One that had its turn is ignored. Items of equal affinity are pinned together.
    pub fn offer(&mut self, item: ItemId, affinity: Option<u64>, now: MonotonicMs) -> Vec<Effect> {
        let affinity = affinity.filter(|_| self.policy.strategy == Strategy::Pinned);
        if self.ledger_mut(item.lane).open(item.number, affinity) {
            self.ready.insert(item);
        }
        self.settled(now)
    }

    /// Numbers below `next` that weren't offered are not to be: filtered out, or gone.
    pub fn pass(&mut self, lane: Lane, next: u64, now: MonotonicMs) -> Vec<Effect> {
        self.ledger_mut(lane).pass(next);
        self.settled(now)
    }

    /// Says that the lane of replayed items begins at `first`, unless items of it are still about.
    pub fn begin_replay_at(&mut self, first: u64, now: MonotonicMs) {
        if self.replay.is_idle() && !self.replay.is_keeping() && self.replay.next() < first {
            self.replay = Ledger::new(first, now);
        }
    }

    /// `slots`: how many items it may hold at a time.
    pub fn attach(&mut self, id: ConsumerId, slots: usize, now: MonotonicMs) -> Result<Vec<Effect>, AttachRefused> {
        if slots == 0 {
            return Err(AttachRefused::NoSlots);
        }
        if self.roster.contains(id) {
            return Err(AttachRefused::Known);
        }
        if self.roster.len() >= self.policy.consumers_max {
            return Err(AttachRefused::Full);
        }
        self.roster.add(id, slots);
        self.pins.add(id);
        Ok(self.settled(now))
    }

    /// What it held is delivered to others.
    pub fn detach(&mut self, id: ConsumerId, now: MonotonicMs) -> Vec<Effect> {
        let held = self.roster.remove(id);
        self.pins.remove(id);
        for item in held {
            let (_, until) = self.held(item).expect("an item and its holder know each other");
            self.forget_deadline(item, until);
            let may_park = self.policy.departure_may_park;
            self.give_back(item, may_park);
        }
        self.settled(now)
    }

    pub fn settle(
        &mut self,
        id: ConsumerId,
        item: ItemId,
        verdict: Verdict,
        now: MonotonicMs,
    ) -> Result<Vec<Effect>, NotHeld> {
        let until = self.held(item).filter(|(by, _)| *by == id).ok_or(NotHeld)?.1;
        match verdict {
            Verdict::Renew => self.renew(id, item, until, now),
            Verdict::Accept | Verdict::Skip => {
                self.let_go(id, item, until);
                self.finish(item);
            }
            Verdict::Retry => {
                self.let_go(id, item, until);
                self.give_back(item, true);
            }
            Verdict::Park => {
                self.let_go(id, item, until);
                self.park(item, ParkCause::Asked);
            }
        }
        Ok(self.settled(now))
    }

    /// It is put aside durably.
    pub fn parked(&mut self, item: ItemId, now: MonotonicMs) -> Vec<Effect> {
        if self.ledger(item.lane).get(item.number).is_some_and(|found| found.place == Place::Parking) {
            self.parking -= 1;
            self.finish(item);
        }
        self.settled(now)
    }

    /// The checkpoint last asked for is safe.
    pub fn kept(&mut self, lane: Lane, now: MonotonicMs) -> Vec<Effect> {
        self.ledger_mut(lane).end_keeping();
        self.settled(now)
    }

    /// When `tick` has something to do, unless an event comes before.
    pub fn next_deadline(&self) -> Option<MonotonicMs> {
        let hold = self.deadlines.first().map(|(deadline, _)| *deadline);
        let keep = [Lane::Main, Lane::Replay].into_iter().filter_map(|lane| self.keep_deadline(self.ledger(lane)));
        hold.into_iter().chain(keep).min()
    }

    /// Does all that is due.
    pub fn tick(&mut self, now: MonotonicMs) -> Vec<Effect> {
        while let Some((deadline, item)) = self.deadlines.first().copied()
            && deadline <= now
        {
            let (by, until) = self.held(item).expect("a deadline is that of a held item");
            self.let_go(by, item, until);
            self.give_back(item, true);
        }
        self.settled(now)
    }

    /// What is to be kept at the end, if anything came since the last checkpoint.
    pub fn last_checkpoint(&self) -> Option<u64> {
        (self.main.progress() > 0).then(|| self.main.floor())
    }

    pub fn consumers(&self) -> usize {
        self.roster.len()
    }

    pub fn held_by(&self, id: ConsumerId) -> usize {
        self.roster.held_by(id)
    }

    pub fn figures(&self) -> Figures {
        let is_fresh = |item: &&ItemId| {
            item.lane == Lane::Main && self.main.get(item.number).is_some_and(|found| found.deliveries == 0)
        };
        let fresh = self.ready.iter().filter(is_fresh).count();
        Figures {
            fresh,
            retrying: self.ready.len() - fresh,
            held: self.roster.held(),
            parking: self.parking,
            floor: self.main.floor(),
            checkpoint: self.main.kept(),
        }
    }

    /// After every event: whoever can have something gets it, and what was reached is kept when it is time.
    fn settled(&mut self, now: MonotonicMs) -> Vec<Effect> {
        self.dispatch(now);
        self.consider_keeping(Lane::Main, now);
        self.consider_keeping(Lane::Replay, now);
        std::mem::take(&mut self.effects)
    }

    fn dispatch(&mut self, now: MonotonicMs) {
        let mut after = None;
        while self.roster.free() > 0 && self.roster.held() < self.policy.in_flight_max {
            let mut rest = match after {
                None => self.ready.range(..),
                Some(after) => self.ready.range((std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded)),
            };
            let Some(item) = rest.next().copied() else { break };
            after = Some(item);
            let affinity = self.ledger(item.lane).get(item.number).and_then(|found| found.affinity);
            if let Some(consumer) = self.choose(affinity) {
                self.deliver(consumer, item, affinity, now);
            }
        }
    }

    fn choose(&mut self, affinity: Option<u64>) -> Option<ConsumerId> {
        match (self.policy.strategy, affinity) {
            (Strategy::Pinned, Some(affinity)) => {
                self.pins.owner_of(affinity).filter(|owner| self.roster.has_room(*owner))
            }
            (Strategy::RoundRobin | Strategy::Pinned, _) => self.roster.next_with_room(true),
            (Strategy::DispatchToSingle, _) => self.roster.next_with_room(false),
        }
    }

    fn deliver(&mut self, consumer: ConsumerId, item: ItemId, affinity: Option<u64>, now: MonotonicMs) {
        let until = self.policy.hold_ms.map(|hold_ms| now.plus(hold_ms));
        self.ready.remove(&item);
        self.roster.give(consumer, item);
        if let Some(affinity) = affinity {
            self.pins.give(affinity, consumer);
        }
        self.deadlines.extend(until.map(|until| (until, item)));
        let found = self.ledger_mut(item.lane).get_mut(item.number).expect("what is ready is open");
        let retry = found.deliveries;
        found.deliveries = retry.saturating_add(1);
        found.place = Place::Held { by: consumer, until };
        self.effects.push(Effect::Deliver { consumer, item, retry });
    }

    fn renew(&mut self, by: ConsumerId, item: ItemId, until: Option<MonotonicMs>, now: MonotonicMs) {
        let Some(hold_ms) = self.policy.hold_ms else { return };
        self.forget_deadline(item, until);
        let until = now.plus(hold_ms);
        self.deadlines.insert((until, item));
        self.set_place(item, Place::Held { by, until: Some(until) });
    }

    /// Out of the hands of a consumer that stays.
    fn let_go(&mut self, consumer: ConsumerId, item: ItemId, until: Option<MonotonicMs>) {
        self.forget_deadline(item, until);
        self.roster.take(consumer, item);
        if let Some(affinity) = self.ledger(item.lane).get(item.number).and_then(|found| found.affinity) {
            self.pins.take(affinity);
        }
        self.effects.push(Effect::Withdraw { consumer, item });
    }

    fn give_back(&mut self, item: ItemId, may_park: bool) {
        let deliveries = self.ledger(item.lane).get(item.number).map_or(0, |found| found.deliveries);
        if may_park && deliveries > self.policy.retries_max {
            self.park(item, ParkCause::DeliveredTooOften);
        } else {
            self.set_place(item, Place::Ready);
            self.ready.insert(item);
        }
    }

    fn park(&mut self, item: ItemId, cause: ParkCause) {
        self.set_place(item, Place::Parking);
        self.parking += 1;
        self.effects.push(Effect::Park { item, cause });
    }

    fn finish(&mut self, item: ItemId) {
        self.ledger_mut(item.lane).finish(item.number);
        self.effects.push(Effect::Finish { item });
    }

    fn consider_keeping(&mut self, lane: Lane, now: MonotonicMs) {
        let count_max = self.policy.checkpoint_count_max.max(1);
        let is_due = self.keep_deadline(self.ledger(lane)).is_some_and(|deadline| deadline <= now);
        let ledger = self.ledger_mut(lane);
        // The parked are cut at once when all that were replayed are finished: nobody waits for the clock to see them gone.
        let is_over = lane == Lane::Replay && ledger.is_idle() && ledger.progress() > 0;
        if !ledger.is_keeping() && (ledger.progress() >= count_max || is_due || is_over) {
            let checkpoint = ledger.begin_keeping(now);
            self.effects.push(Effect::Keep { lane, checkpoint });
        }
    }

    fn keep_deadline(&self, ledger: &Ledger) -> Option<MonotonicMs> {
        let is_worth_it = !ledger.is_keeping() && ledger.progress() >= self.policy.checkpoint_count_min.max(1);
        self.policy.checkpoint_after_ms.filter(|_| is_worth_it).map(|after| ledger.last_keep().plus(after))
    }

    fn held(&self, item: ItemId) -> Option<(ConsumerId, Option<MonotonicMs>)> {
        match self.ledger(item.lane).get(item.number)?.place {
            Place::Held { by, until } => Some((by, until)),
            Place::Ready | Place::Parking => None,
        }
    }

    fn set_place(&mut self, item: ItemId, place: Place) {
        self.ledger_mut(item.lane).get_mut(item.number).expect("only an open item has a place").place = place;
    }

    fn forget_deadline(&mut self, item: ItemId, until: Option<MonotonicMs>) {
        if let Some(until) = until {
            self.deadlines.remove(&(until, item));
        }
    }

    fn ledger(&self, lane: Lane) -> &Ledger {
        match lane {
            Lane::Main => &self.main,
            Lane::Replay => &self.replay,
        }
    }

    fn ledger_mut(&mut self, lane: Lane) -> &mut Ledger {
        match lane {
            Lane::Main => &mut self.main,
            Lane::Replay => &mut self.replay,
        }
    }
}
