//! All share groups of a node, driven.
//!
//! Locks are held for one event and never across an await. What must survive is written by one writer a share-partition
//! (`partition`); an answer goes out after that. One timer task gives back what was held too long and puts out silent members.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use daybook_command::Door;
use daybook_delivery::MonotonicMs;
use daybook_read::Reader;
use daybook_types::{GroupId, PartitionId, TopicId, TopicName};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::config::GroupSettings;
use crate::core::{ConnectionId, Group, GroupRules, Heartbeat, Heartbeaten, SessionKey, Sessions};
use crate::error::ShareError;
use crate::ident::MemberId;
use crate::settings::Settings;

mod acknowledge;
mod admin;
mod fetch;
mod partition;

pub use acknowledge::{AcknowledgeAsk, Taken};
pub use admin::{AlterOutcome, Described, GroupInfo, KeptOffset, MemberInfo};
pub use fetch::{FetchAsk, Fetched};

use partition::SharePartition;

/// Cheap to clone; all clones are one coordinator.
#[derive(Clone)]
pub struct ShareCoordinator {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    door: Door,
    reader: Reader,
    groups: Mutex<HashMap<GroupId, Group>>,
    sessions: Mutex<Sessions>,
    partitions: Mutex<BTreeMap<(GroupId, PartitionId), Arc<SharePartition>>>,
    /// Counts up whenever something of a group may be had that wasn't before. For groups that somebody fetches in.
    released: Mutex<HashMap<GroupId, watch::Sender<u64>>>,
    start: Instant,
    timer: Arc<Timer>,
}

#[derive(Default)]
struct Timer {
    notify: Notify,
    /// When it means to look again.
    wakes_at: Mutex<Option<MonotonicMs>>,
}

impl ShareCoordinator {
    /// Needs a tokio runtime for its timer task, which ends with the last clone.
    pub fn start(settings: Settings, door: Door, reader: Reader) -> Self {
        let timer = Arc::new(Timer::default());
        let inner = Arc::new(Inner {
            sessions: Mutex::new(Sessions::new(settings.sessions_max)),
            settings,
            door,
            reader,
            groups: Mutex::default(),
            partitions: Mutex::default(),
            released: Mutex::default(),
            start: Instant::now(),
            timer: Arc::clone(&timer),
        });
        tokio::spawn(keep_time(Arc::downgrade(&inner), timer));
        Self { inner }
    }

    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// What a group's configs come to.
    pub fn group_settings(&self, group: &GroupId) -> GroupSettings {
        self.inner.group_settings(group)
    }

    /// A member joins, stays or leaves.
    pub fn heartbeat(&self, group: &GroupId, beat: Heartbeat) -> Result<Heartbeaten, ShareError> {
        if group.as_str().is_empty() {
            return Err(ShareError::InvalidGroupId);
        }
        let inner = &*self.inner;
        let configs = inner.group_settings(group);
        let rules =
            GroupRules { members_max: inner.settings.members_max, session_timeout_ms: configs.session_timeout_ms };
        let member = beat.member.clone();
        let beaten = {
            let mut groups = inner.groups.lock();
            if !groups.contains_key(group) && groups.len() >= inner.settings.groups_max {
                return Err(ShareError::Full);
            }
            let entry = groups.entry(group.clone()).or_default();
            let beaten = entry.heartbeat(beat, &|name| inner.topic(name), &rules, inner.now());
            if entry.is_empty() {
                groups.remove(group);
            }
            beaten?
        };
        if beaten.has_left {
            self.inner.end_session(&SessionKey { group: group.clone(), member });
        } else {
            inner.wake_timer_for(inner.now().plus(rules.session_timeout_ms));
        }
        Ok(beaten)
    }

    /// A connection is gone: what was acquired through it is released.
    pub fn disconnected(&self, connection: ConnectionId) {
        let keys = {
            let mut sessions = self.inner.sessions.lock();
            if sessions.is_empty() {
                return;
            }
            sessions.disconnect(connection)
        };
        for key in keys {
            self.inner.release(&key);
        }
    }
}

impl Inner {
    fn now(&self) -> MonotonicMs {
        MonotonicMs(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn group_settings(&self, group: &GroupId) -> GroupSettings {
        GroupSettings::of(&self.reader.group_configs(group), &self.settings)
    }

    fn topic(&self, name: &str) -> Option<(TopicId, i32)> {
        let name = TopicName::new(name).ok()?;
        self.reader.catalog().topic(name.as_str()).map(|topic| (topic.id, topic.partitions))
    }

    fn end_session(self: &Arc<Self>, key: &SessionKey) {
        self.sessions.lock().close(key);
        self.release(key);
    }

    /// Gives back what a member has acquired, in all partitions.
    fn release(self: &Arc<Self>, key: &SessionKey) {
        let rules = self.group_settings(&key.group).rules;
        let mut any = false;
        for partition in self.partitions_of(&key.group) {
            if partition.change(|window| window.release(&key.member, &rules)) {
                any = true;
                self.keep_later(partition);
            }
        }
        if any {
            self.wake_fetches(&key.group);
        }
    }

    fn partitions_of(&self, group: &GroupId) -> Vec<Arc<SharePartition>> {
        let from = (group.clone(), PartitionId::default());
        let partitions = self.partitions.lock();
        partitions
            .range(from..)
            .take_while(|((of, _), _)| of == group)
            .map(|(_, partition)| partition.clone())
            .collect()
    }

    /// Keeps in the background what nobody waits for.
    fn keep_later(self: &Arc<Self>, partition: Arc<SharePartition>) {
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            // What isn't kept now is kept with the next change; a record is then delivered once more than was counted.
            let _ = partition.keep(&inner).await;
        });
    }

    fn wake_fetches(&self, group: &GroupId) {
        if let Some(released) = self.released.lock().get(group) {
            released.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    fn wake_timer_for(&self, deadline: MonotonicMs) {
        let is_earlier = self.timer.wakes_at.lock().is_none_or(|wakes_at| deadline < wakes_at);
        if is_earlier {
            self.timer.notify.notify_one();
        }
    }

    /// Does all that is due; returns when to look again.
    fn tick(self: &Arc<Self>) -> Option<MonotonicMs> {
        let now = self.now();
        let mut gone = Vec::new();
        let mut next = self.expire_members(now, &mut gone);
        for key in gone {
            self.end_session(&key);
        }
        let partitions: Vec<_> = self.partitions.lock().values().cloned().collect();
        for partition in partitions {
            let rules = self.group_settings(&partition.group).rules;
            if partition.change(|window| window.expire(&rules, now)) {
                self.wake_fetches(&partition.group);
                self.keep_later(Arc::clone(&partition));
            }
            next = next.into_iter().chain(partition.next_deadline()).min();
        }
        *self.timer.wakes_at.lock() = next;
        next
    }

    fn expire_members(&self, now: MonotonicMs, gone: &mut Vec<SessionKey>) -> Option<MonotonicMs> {
        let mut groups = self.groups.lock();
        for (id, group) in groups.iter_mut() {
            let expired = group.expire(&|name| self.topic(name), now);
            gone.extend(expired.into_iter().map(|member: MemberId| SessionKey { group: id.clone(), member }));
        }
        groups.retain(|_, group| !group.is_empty());
        groups.values().filter_map(Group::next_deadline).min()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.timer.notify.notify_one();
    }
}

async fn keep_time(inner: Weak<Inner>, timer: Arc<Timer>) {
    loop {
        let (next_deadline, start) = {
            let Some(inner) = inner.upgrade() else { return };
            (inner.tick(), inner.start)
        };
        // A deadline too far for the clock is as good as none.
        let wakes_at = next_deadline.and_then(|deadline| start.checked_add(Duration::from_millis(deadline.0)));
        match wakes_at {
            // Which of the two came first makes no difference: everything is looked at again.
            Some(at) => drop(tokio::time::timeout_at(at, timer.notify.notified()).await),
            None => timer.notify.notified().await,
        }
    }
}
