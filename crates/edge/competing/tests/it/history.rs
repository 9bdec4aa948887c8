//! Random histories of a group, with restarts from whatever checkpoint was kept, and what must hold at every step and at the end.
//!
//! The source is a sequence with gaps. The model notes what every consumer holds and what is finished; the group must agree.

use std::collections::{BTreeMap, BTreeSet};

use daybook_competing::core::{
    ConsumerId, Effect, Group, ItemId, Lane, MonotonicMs, ParkCause, Phase, Policy, Strategy as Dispatch, Verdict,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

#[derive(Clone, Debug)]
enum Action {
    Attach(usize),
    Detach(prop::sample::Index),
    /// As many as there is room for, up to this.
    Read(usize),
    Settle(prop::sample::Index, Verdict),
    /// A verdict on what the consumer doesn't hold.
    Impostor(prop::sample::Index, u64),
    FinishParking(prop::sample::Index),
    FinishKeeping,
    Wait(u64),
    Live(bool),
    Replay,
    Restart,
}

fn action() -> impl Strategy<Value = Action> {
    let verdict = prop_oneof![
        6 => Just(Verdict::Accept),
        2 => Just(Verdict::Retry),
        1 => Just(Verdict::Park),
        1 => Just(Verdict::Skip),
        1 => Just(Verdict::Renew)
    ];
    prop_oneof![
        2 => (1usize..5).prop_map(Action::Attach),
        1 => any::<prop::sample::Index>().prop_map(Action::Detach),
        6 => (1usize..8).prop_map(Action::Read),
        14 => (any::<prop::sample::Index>(), verdict).prop_map(|(which, verdict)| Action::Settle(which, verdict)),
        1 => (any::<prop::sample::Index>(), 0u64..120).prop_map(|(who, what)| Action::Impostor(who, what)),
        2 => any::<prop::sample::Index>().prop_map(Action::FinishParking),
        3 => Just(Action::FinishKeeping),
        3 => (0u64..150).prop_map(Action::Wait),
        1 => any::<bool>().prop_map(Action::Live),
        1 => Just(Action::Replay),
        1 => Just(Action::Restart),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let strategy = prop_oneof![Just(Dispatch::RoundRobin), Just(Dispatch::DispatchToSingle), Just(Dispatch::Pinned)];
    let limits = (1usize..6, 1usize..8, 1usize..12, 0u32..4, any::<bool>());
    let checkpoints = (0u64..4, 0u64..6, prop::option::of(0u64..200));
    (strategy, prop::option::of(50u64..200), limits, checkpoints).prop_map(
        |(strategy, hold_ms, (live, history, flight, retries_max, departure_may_park), (min, max, after))| Policy {
            strategy,
            hold_ms,
            retries_max,
            departure_may_park,
            live_buffer_max: live,
            history_buffer_max: history,
            read_batch: history.div_ceil(2),
            in_flight_max: flight,
            consumers_max: 4,
            checkpoint_count_min: min,
            checkpoint_count_max: max,
            checkpoint_after_ms: after,
        },
    )
}

/// Numbers with gaps, each with its affinity.
fn source() -> Vec<(u64, u64)> {
    (0..120).filter(|number| number % 7 != 3 && !(40..55).contains(number)).map(|number| (number, number % 5)).collect()
}

struct Model {
    policy: Policy,
    group: Group,
    now: MonotonicMs,
    source: Vec<(u64, u64)>,
    next_consumer: u64,
    slots: BTreeMap<ConsumerId, usize>,
    held: BTreeMap<ItemId, ConsumerId>,
    parking: Vec<ItemId>,
    /// How far this incarnation was offered the source.
    read: usize,
    /// Accepted, skipped or parked, ever.
    finished: BTreeSet<u64>,
    delivered_since_restart: BTreeSet<u64>,
    /// Put aside, by number among the parked: which item it is.
    parked: Vec<u64>,
    replayed: usize,
    keeping: BTreeMap<u8, u64>,
    kept: u64,
    kept_parked: u64,
    deliveries: BTreeMap<ItemId, u32>,
}

impl Model {
    fn new(policy: Policy) -> Self {
        Self {
            group: Group::new(policy.clone(), 0, MonotonicMs(0)),
            policy,
            now: MonotonicMs(0),
            source: source(),
            next_consumer: 0,
            slots: BTreeMap::new(),
            held: BTreeMap::new(),
            parking: Vec::new(),
            read: 0,
            finished: BTreeSet::new(),
            delivered_since_restart: BTreeSet::new(),
            parked: Vec::new(),
            replayed: 0,
            keeping: BTreeMap::new(),
            kept: 0,
            kept_parked: 0,
            deliveries: BTreeMap::new(),
        }
    }

    fn perform(&mut self, action: &Action) {
        match action {
            Action::Attach(slots) => self.attach(*slots),
            Action::Detach(which) => {
                if let Some(id) = pick(self.slots.keys(), which) {
                    self.slots.remove(&id);
                    self.held.retain(|_, holder| *holder != id);
                    let effects = self.group.detach(id, self.now);
                    self.take(effects);
                }
            }
            Action::Read(count) => self.read(*count),
            Action::Settle(which, verdict) => {
                if let Some(item) = pick(self.held.keys(), which) {
                    let holder = self.held[&item];
                    let effects = self.group.settle(holder, item, *verdict, self.now).expect("it holds it");
                    if matches!(verdict, Verdict::Accept | Verdict::Skip) {
                        self.note_finished(item);
                    }
                    self.take(effects);
                }
            }
            Action::Impostor(which, number) => {
                if let Some(id) = pick(self.slots.keys(), which)
                    && self.held.get(&ItemId::main(*number)) != Some(&id)
                {
                    let refused = self.group.settle(id, ItemId::main(*number), Verdict::Accept, self.now);
                    assert!(refused.is_err());
                }
            }
            Action::FinishParking(which) => {
                if !self.parking.is_empty() {
                    let item = self.parking.remove(which.index(self.parking.len()));
                    self.parked.push(self.number_of(item));
                    self.note_finished(item);
                    let effects = self.group.parked(item, self.now);
                    self.take(effects);
                }
            }
            Action::FinishKeeping => self.finish_keeping(),
            Action::Wait(ms) => {
                let end = self.now.plus(*ms);
                while let Some(deadline) = self.group.next_deadline().filter(|deadline| *deadline <= end) {
                    self.now = self.now.max(deadline);
                    let effects = self.group.tick(self.now);
                    self.take(effects);
                    assert!(
                        self.group.next_deadline().is_none_or(|next| next > self.now),
                        "a tick does all that is due"
                    );
                }
                self.now = end;
            }
            Action::Live(live) => self.group.set_phase(if *live { Phase::Live } else { Phase::History }),
            Action::Replay => {
                let first = self.kept_parked;
                self.group.begin_replay_at(first, self.now);
                while self.replayed < self.parked.len() {
                    let item = ItemId::replay(self.replayed as u64);
                    self.replayed += 1;
                    let affinity = self.number_of(item) % 5;
                    let effects = self.group.offer(item, Some(affinity), self.now);
                    self.take(effects);
                }
            }
            Action::Restart => self.restart(),
        }
        self.check();
    }

    fn attach(&mut self, slots: usize) {
        let id = ConsumerId(self.next_consumer);
        self.next_consumer += 1;
        match self.group.attach(id, slots, self.now) {
            Ok(effects) => {
                self.slots.insert(id, slots);
                self.take(effects);
            }
            Err(_) => assert_eq!(self.slots.len(), self.policy.consumers_max),
        }
    }

    fn read(&mut self, count: usize) {
        for _ in 0..count {
            if self.group.room() == 0 {
                return;
            }
            let Some((number, affinity)) = self.source.get(self.read).copied() else {
                let effects = self.group.pass(Lane::Main, 120, self.now);
                return self.take(effects);
            };
            self.read += 1;
            let effects = self.group.offer(ItemId::main(number), Some(affinity), self.now);
            self.take(effects);
        }
    }

    fn finish_keeping(&mut self) {
        for (lane, checkpoint) in std::mem::take(&mut self.keeping) {
            let lane = if lane == 0 { Lane::Main } else { Lane::Replay };
            match lane {
                Lane::Main => self.kept = checkpoint,
                Lane::Replay => self.kept_parked = checkpoint,
            }
            let effects = self.group.kept(lane, self.now);
            self.take(effects);
        }
    }

    /// All that wasn't kept is lost; the source and the parked are not.
    fn restart(&mut self) {
        self.group = Group::new(self.policy.clone(), self.kept, self.now);
        self.slots.clear();
        self.held.clear();
        self.parking.clear();
        self.keeping.clear();
        self.delivered_since_restart.clear();
        self.deliveries.clear();
        self.read = self.source.partition_point(|(number, _)| *number < self.kept);
        self.replayed = self.kept_parked as usize;
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Deliver { consumer, item, retry } => {
                    assert!(self.slots.contains_key(&consumer), "only who is here gets items");
                    assert!(self.held.insert(item, consumer).is_none(), "{item} is with two consumers");
                    let deliveries = self.deliveries.entry(item).or_default();
                    assert_eq!(*deliveries, retry);
                    *deliveries += 1;
                    if item.lane == Lane::Main {
                        self.delivered_since_restart.insert(item.number);
                    }
                }
                Effect::Withdraw { consumer, item } => assert_eq!(self.held.remove(&item), Some(consumer)),
                Effect::Park { item, cause } => {
                    if cause == ParkCause::DeliveredTooOften {
                        assert!(self.deliveries[&item] > self.policy.retries_max);
                    }
                    self.parking.push(item);
                }
                Effect::Finish { item } => assert!(!self.held.contains_key(&item)),
                Effect::Keep { lane, checkpoint } => {
                    let lane_tag = u8::from(lane == Lane::Replay);
                    assert!(self.keeping.insert(lane_tag, checkpoint).is_none(), "one at a time");
                    let before = if lane == Lane::Main { self.kept } else { self.kept_parked };
                    assert!(checkpoint > before, "a checkpoint only grows");
                    if lane == Lane::Main {
                        self.check_checkpoint(checkpoint);
                    }
                }
            }
        }
    }

    fn check_checkpoint(&self, checkpoint: u64) {
        for (number, _) in self.source.iter().take_while(|(number, _)| *number < checkpoint) {
            assert!(self.finished.contains(number), "the checkpoint {checkpoint} is ahead of {number}");
        }
    }

    fn check(&self) {
        let mut counts: BTreeMap<ConsumerId, usize> = BTreeMap::new();
        for holder in self.held.values() {
            *counts.entry(*holder).or_default() += 1;
        }
        for (id, slots) in &self.slots {
            let count = counts.get(id).copied().unwrap_or_default();
            assert!(count <= *slots);
            assert_eq!(count, self.group.held_by(*id));
        }
        assert!(self.held.len() <= self.policy.in_flight_max);
        let figures = self.group.figures();
        assert_eq!(figures.held, self.held.len());
        assert_eq!(figures.parking, self.parking.len());
        self.check_checkpoint(figures.floor);
        let free = self.slots.values().sum::<usize>() - self.held.len();
        if self.policy.strategy == Dispatch::Pinned {
            let mut holders: BTreeMap<u64, ConsumerId> = BTreeMap::new();
            for (item, holder) in &self.held {
                let affinity = self.number_of(*item) % 5;
                assert_eq!(holders.entry(affinity).or_insert(*holder), holder, "one affinity is with two consumers");
            }
        } else if free > 0 && self.held.len() < self.policy.in_flight_max {
            assert_eq!(figures.fresh + figures.retrying, 0, "something waits though somebody has room");
        }
    }

    fn note_finished(&mut self, item: ItemId) {
        if item.lane == Lane::Main {
            self.finished.insert(item.number);
        }
    }

    fn number_of(&self, item: ItemId) -> u64 {
        match item.lane {
            Lane::Main => item.number,
            Lane::Replay => self.parked[item.number as usize],
        }
    }

    /// One willing consumer takes all that is left.
    fn drain(&mut self) {
        for id in self.slots.keys().copied().collect::<Vec<_>>() {
            self.slots.remove(&id);
            self.held.retain(|_, holder| *holder != id);
            let effects = self.group.detach(id, self.now);
            self.take(effects);
        }
        self.attach(3);
        for _ in 0..10_000 {
            self.perform(&Action::Read(5));
            self.perform(&Action::FinishKeeping);
            while !self.parking.is_empty() {
                self.perform(&Action::FinishParking(index()));
            }
            if self.held.is_empty() && self.read == self.source.len() {
                return;
            }
            if !self.held.is_empty() {
                self.perform(&Action::Settle(index(), Verdict::Accept));
            }
        }
        panic!("the group never comes to its end");
    }
}

fn pick<'a, T: Copy + 'a>(all: impl Iterator<Item = &'a T>, which: &prop::sample::Index) -> Option<T> {
    let all: Vec<T> = all.copied().collect();
    (!all.is_empty()).then(|| all[which.index(all.len())])
}

fn index() -> prop::sample::Index {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    any::<prop::sample::Index>().new_tree(&mut runner).unwrap().current()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_lost_or_given_twice(policy in policy(), actions in prop::collection::vec(action(), 0..250)) {
        let mut model = Model::new(policy);
        for action in &actions {
            model.perform(action);
        }
        // A restart at the end: whatever isn't below the checkpoint is delivered again.
        model.restart();
        let kept = model.kept;
        model.drain();
        for (number, _) in source() {
            prop_assert!(model.finished.contains(&number), "{number} was lost");
            prop_assert_eq!(model.delivered_since_restart.contains(&number), number >= kept);
        }
        prop_assert_eq!(model.group.figures().floor, 120);
    }
}
