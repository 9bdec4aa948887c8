//! The groups that share a lock: their deadlines, the requests that wait in them, what they take of the limits.
//!
//! Invariants: `due` holds exactly each group's next deadline; a waiter is here until its one answer is sent; `held` counts
//! all groups here with the bytes they had after their last event.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use daybook_types::GroupId;
use tokio::sync::oneshot;
use tracing::warn;

use super::{Held, RandomIds, TopicsNow};
use crate::answer::{GroupKind, JoinRefused, Joined, ListedGroup, Synced};
use crate::consumer::ConsumerGroup;
use crate::core::{Effect, Group, WaiterId};
use crate::error::GroupError;
use crate::ident::MonotonicMs;
use crate::kind::{AnyGroup, Scene};
use crate::settings::Settings;

pub(super) enum Waiter {
    Join(oneshot::Sender<Result<Joined, JoinRefused>>),
    Sync(oneshot::Sender<Result<Synced, GroupError>>),
}

pub(super) struct Shard {
    settings: Arc<Settings>,
    topics: TopicsNow,
    held: Arc<Held>,
    groups: HashMap<GroupId, Entry>,
    due: BTreeSet<(MonotonicMs, GroupId)>,
    waiters: HashMap<WaiterId, Waiter>,
}

struct Entry {
    group: AnyGroup,
    deadline: Option<MonotonicMs>,
    bytes: usize,
}

impl Shard {
    pub fn new(settings: Arc<Settings>, topics: TopicsNow, held: Arc<Held>) -> Self {
        Self { settings, topics, held, groups: HashMap::new(), due: BTreeSet::new(), waiters: HashMap::new() }
    }

    pub fn get(&self, id: &GroupId) -> Option<&AnyGroup> {
        self.groups.get(id).map(|entry| &entry.group)
    }

    pub fn listed(&self) -> Vec<ListedGroup> {
        self.groups.iter().map(|(id, entry)| entry.group.listed(id)).collect()
    }

    pub fn next_deadline(&self) -> Option<MonotonicMs> {
        self.due.first().map(|(deadline, _)| *deadline)
    }

    /// Makes the group if it isn't there.
    pub fn open(&mut self, id: &GroupId, kind: GroupKind, now: MonotonicMs) -> Result<(), GroupError> {
        if self.groups.contains_key(id) {
            return Ok(());
        }
        self.make_room()?;
        self.held.groups.fetch_add(1, Ordering::Relaxed);
        let group = match kind {
            GroupKind::Classic => AnyGroup::Classic(Group::new(id.clone(), self.settings.clone(), now)),
            GroupKind::Consumer => AnyGroup::Consumer(ConsumerGroup::new(id.clone(), self.settings.clone(), now)),
        };
        self.groups.insert(id.clone(), Entry { group, deadline: None, bytes: 0 });
        self.settle(id, Vec::new());
        Ok(())
    }

    /// Where all places are taken, a group that nobody is in gives way. Only this shard's are looked at: another's lock
    /// can't be waited for while holding this one.
    fn make_room(&mut self) -> Result<(), GroupError> {
        if self.held.groups.load(Ordering::Relaxed) < self.settings.groups_max {
            return Ok(());
        }
        match self.groups.iter().find(|(_, entry)| entry.group.is_vacant()).map(|(id, _)| id.clone()) {
            Some(id) => {
                self.close(&id);
                Ok(())
            }
            None => {
                warn!(limit = self.settings.groups_max, "as many groups as there may be; a new one is turned away");
                Err(GroupError::CoordinatorNotAvailable)
            }
        }
    }

    /// Lets one event happen to a group. `None` if the group isn't here.
    pub fn event<T>(
        &mut self,
        id: &GroupId,
        now: MonotonicMs,
        event: impl FnOnce(&mut AnyGroup, Scene<'_>) -> (T, Vec<Effect>),
    ) -> Option<T> {
        let group = &mut self.groups.get_mut(id)?.group;
        let topics = (self.topics)();
        let scene = Scene { id, settings: &self.settings, topics: &*topics, ids: &mut RandomIds, now };
        let (outcome, effects) = event(group, scene);
        if group.should_downgrade() {
            group.downgrade(&self.settings, &*topics, now);
        }
        self.settle(id, effects);
        Some(outcome)
    }

    pub fn tick(&mut self, now: MonotonicMs) {
        while let Some((deadline, id)) = self.due.first()
            && *deadline <= now
        {
            let id = id.clone();
            self.event(&id, now, |group, _| ((), group.tick(now)));
        }
    }

    pub fn await_answer(&mut self, id: WaiterId, waiter: Waiter) {
        self.waiters.insert(id, waiter);
    }

    pub fn forget_waiter(&mut self, id: WaiterId) {
        self.waiters.remove(&id);
    }

    pub fn close(&mut self, id: &GroupId) {
        if let Some(entry) = self.groups.get_mut(id) {
            let effects = entry.group.close(GroupError::CoordinatorNotAvailable);
            self.settle(id, effects);
        }
    }

    pub fn close_all(&mut self) {
        let ids: Vec<GroupId> = self.groups.keys().cloned().collect();
        for id in &ids {
            self.close(id);
        }
    }

    /// After every event: answers go out, and the books are brought up to date.
    fn settle(&mut self, id: &GroupId, effects: Vec<Effect>) {
        for effect in effects {
            self.answer(effect);
        }
        let Some(entry) = self.groups.get_mut(id) else { return };
        let is_dead = entry.group.is_dead();
        let deadline = entry.group.next_deadline();
        let bytes = if is_dead { 0 } else { entry.group.bytes() };
        if entry.deadline != deadline {
            if let Some(old) = entry.deadline {
                self.due.remove(&(old, id.clone()));
            }
            if let Some(new) = deadline {
                self.due.insert((new, id.clone()));
            }
            entry.deadline = deadline;
        }
        // Added before taken away: the sum is never too small, so it can't fall below nothing.
        self.held.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.held.bytes.fetch_sub(entry.bytes, Ordering::Relaxed);
        entry.bytes = bytes;
        if is_dead {
            self.groups.remove(id);
            self.held.groups.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn answer(&mut self, effect: Effect) {
        // A receiver that is gone is a connection that is gone: nobody is left to tell.
        match effect {
            Effect::AnswerJoin { waiter, answer } => {
                if let Some(Waiter::Join(sender)) = self.waiters.remove(&waiter) {
                    let _ = sender.send(answer);
                }
            }
            Effect::AnswerSync { waiter, answer } => {
                if let Some(Waiter::Sync(sender)) = self.waiters.remove(&waiter) {
                    let _ = sender.send(answer);
                }
            }
        }
    }
}
