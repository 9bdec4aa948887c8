//! The consumers of a group: their free slots, what they hold, whose turn it is.
//!
//! Invariants: no consumer holds more than it has slots; `free` is the sum of all free slots; `turn` has each consumer once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::ident::{ConsumerId, ItemId};

#[derive(Debug, Default)]
pub(super) struct Roster {
    seats: BTreeMap<ConsumerId, Seat>,
    turn: VecDeque<ConsumerId>,
    free: usize,
    held: usize,
}

#[derive(Debug)]
struct Seat {
    slots: usize,
    held: BTreeSet<ItemId>,
}

impl Roster {
    pub fn len(&self) -> usize {
        self.seats.len()
    }

    pub fn contains(&self, id: ConsumerId) -> bool {
        self.seats.contains_key(&id)
    }

    /// Free slots of all.
    pub fn free(&self) -> usize {
        self.free
    }

    /// Items held by all.
    pub fn held(&self) -> usize {
        self.held
    }

    pub fn held_by(&self, id: ConsumerId) -> usize {
        self.seats.get(&id).map_or(0, |seat| seat.held.len())
    }

    pub fn has_room(&self, id: ConsumerId) -> bool {
        self.seats.get(&id).is_some_and(|seat| seat.held.len() < seat.slots)
    }

    pub fn add(&mut self, id: ConsumerId, slots: usize) {
        self.seats.insert(id, Seat { slots, held: BTreeSet::new() });
        self.turn.push_back(id);
        self.free += slots;
    }

    /// Returns what it held.
    pub fn remove(&mut self, id: ConsumerId) -> BTreeSet<ItemId> {
        let Some(seat) = self.seats.remove(&id) else { return BTreeSet::new() };
        self.turn.retain(|other| *other != id);
        self.free -= seat.slots - seat.held.len();
        self.held -= seat.held.len();
        seat.held
    }

    pub fn give(&mut self, id: ConsumerId, item: ItemId) {
        let seat = self.seats.get_mut(&id).expect("a consumer is chosen from the roster");
        assert!(
            seat.held.len() < seat.slots && seat.held.insert(item),
            "only a free slot takes an item, and only once"
        );
        self.free -= 1;
        self.held += 1;
    }

    pub fn take(&mut self, id: ConsumerId, item: ItemId) {
        let seat = self.seats.get_mut(&id).expect("what a consumer holds is given back when it leaves");
        assert!(seat.held.remove(&item), "an item and its holder know each other");
        self.free += 1;
        self.held -= 1;
    }

    /// The first with a free slot in turn; with `moves_on`, the turn passes to the next one.
    pub fn next_with_room(&mut self, moves_on: bool) -> Option<ConsumerId> {
        let place = (0..self.turn.len()).find(|place| self.has_room(self.turn[*place]))?;
        self.turn.rotate_left(place);
        let chosen = self.turn[0];
        if moves_on {
            self.turn.rotate_left(1);
        }
        Some(chosen)
    }
}
