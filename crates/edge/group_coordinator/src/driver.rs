//! All groups of a node, driven: requests that wait hold no lock, answers go through oneshot channels, one timer task does
//! what is due.
//!
//! Groups lie in shards by the hash of their id; a shard's lock is held for one event of one group and never across an
//! await. A request whose connection is gone is answered into the void, as in Kafka: its member stays until its session
//! runs out.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use daybook_group_assignment::Topics;
use daybook_types::GroupId;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tracing::warn;
use uuid::Uuid;

use crate::answer::{GroupDescription, GroupKind, JoinRefused, Joined, Left, ListedGroup, Synced};
use crate::consumer::{CommitPermit, ConsumerDescription, ConsumerHeartbeat, HeartbeatAnswer};
use crate::core::{IdSource, WaiterId};
use crate::error::GroupError;
use crate::ident::{Generation, MemberId, MonotonicMs};
use crate::kind::AnyGroup;
use crate::request::{JoinRequest, Leaver, MemberClaim, SyncRequest};
use crate::settings::Settings;

mod shard;

use shard::{Shard, Waiter};

/// Enough that two cores seldom meet at one lock, few enough that the timer looks at all of them in microseconds.
const SHARDS: usize = 16;

/// The topics as they are when it is called. Consumer groups are assigned their partitions.
pub type TopicsNow = Arc<dyn Fn() -> Arc<dyn Topics + Send + Sync> + Send + Sync>;

/// Cheap to clone; all clones are one coordinator.
#[derive(Clone)]
pub struct Coordinator {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Arc<Settings>,
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    start: Instant,
    next_waiter: AtomicU64,
    /// Over all shards; what the limits are held against.
    held: Arc<Held>,
    closed: AtomicBool,
    /// When the timer task means to look again; `u64::MAX` while it looks.
    timer_wakes_at: AtomicU64,
    timer: Arc<Notify>,
}

#[derive(Default)]
struct Held {
    groups: AtomicUsize,
    bytes: AtomicUsize,
}

pub(crate) struct RandomIds;

impl IdSource for RandomIds {
    fn draw(&mut self) -> String {
        Uuid::new_v4().to_string()
    }
}

impl Coordinator {
    /// Needs a tokio runtime for its timer task, which ends with the last clone.
    pub fn start(settings: Settings, topics: TopicsNow) -> Self {
        let settings = Arc::new(settings);
        let held = Arc::new(Held::default());
        let timer = Arc::new(Notify::new());
        let inner = Arc::new(Inner {
            shards: (0..SHARDS)
                .map(|_| Mutex::new(Shard::new(settings.clone(), topics.clone(), held.clone())))
                .collect(),
            settings,
            hasher: RandomState::new(),
            start: Instant::now(),
            next_waiter: AtomicU64::new(0),
            held,
            closed: AtomicBool::new(false),
            timer_wakes_at: AtomicU64::new(u64::MAX),
            timer: timer.clone(),
        });
        tokio::spawn(keep_time(Arc::downgrade(&inner), timer));
        Self { inner }
    }

    /// Answered once the rebalance that it causes or takes part in has a generation.
    pub async fn join(&self, request: JoinRequest) -> Result<Joined, JoinRefused> {
        let refused = |error| JoinRefused { error, member: request.member.clone() };
        let answer = self.begin_join(&request).map_err(refused)?;
        answer.await.unwrap_or_else(|_| Err(refused(GroupError::CoordinatorNotAvailable)))
    }

    fn begin_join(&self, request: &JoinRequest) -> Result<oneshot::Receiver<Result<Joined, JoinRefused>>, GroupError> {
        self.check_group_id(&request.group)?;
        self.inner.settings.check_session_timeout(request.session_timeout_ms)?;
        if request.member.is_none() {
            // Who is in already isn't put out for the sake of the whole; its group's limit holds.
            self.check_bytes(request.bytes())?;
        }
        let (sender, answer) = oneshot::channel();
        let waiter = self.next_waiter();
        self.with_shard(&request.group, |shard, now| {
            if request.member.is_none() {
                shard.open(&request.group, GroupKind::Classic, now)?;
            }
            shard.await_answer(waiter, Waiter::Join(sender));
            let known = shard
                .event(&request.group, now, |group, scene| ((), group.join(request, waiter, scene)))
                .ok_or(GroupError::UnknownMemberId);
            if known.is_err() {
                shard.forget_waiter(waiter);
            }
            known
        })?;
        Ok(answer)
    }

    /// Answered once the leader has handed in the assignments.
    pub async fn sync(&self, request: SyncRequest) -> Result<Synced, GroupError> {
        let answer = self.begin_sync(&request)?;
        answer.await.unwrap_or(Err(GroupError::CoordinatorNotAvailable))
    }

    fn begin_sync(&self, request: &SyncRequest) -> Result<oneshot::Receiver<Result<Synced, GroupError>>, GroupError> {
        self.check_group_id(&request.group)?;
        self.check_bytes(request.bytes())?;
        let (sender, answer) = oneshot::channel();
        let waiter = self.next_waiter();
        self.with_shard(&request.group, |shard, now| {
            shard.await_answer(waiter, Waiter::Sync(sender));
            let known = shard
                .event(&request.group, now, |group, scene| ((), group.sync(request, waiter, scene)))
                .ok_or(GroupError::UnknownMemberId);
            if known.is_err() {
                shard.forget_waiter(waiter);
            }
            known
        })?;
        Ok(answer)
    }

    pub fn heartbeat(&self, group: &GroupId, claim: &MemberClaim) -> Result<(), GroupError> {
        self.check_group_id(group)?;
        self.with_shard(group, |shard, now| {
            shard
                .event(group, now, |group, scene| (group.heartbeat(claim, scene), Vec::new()))
                .unwrap_or(Err(GroupError::UnknownMemberId))
        })
    }

    /// One outcome for each leaver, in order.
    pub fn leave(&self, group: &GroupId, leavers: &[Leaver]) -> Result<Vec<Left>, GroupError> {
        self.check_group_id(group)?;
        self.with_shard(group, |shard, now| {
            let left = shard.event(group, now, |group, _| group.leave(leavers, now));
            Ok(left.unwrap_or_else(|| leavers.iter().map(left_from_nowhere).collect()))
        })
    }

    /// A member of the new protocol (KIP-848) joins, stays or leaves.
    pub fn consumer_heartbeat(&self, request: &ConsumerHeartbeat) -> Result<HeartbeatAnswer, GroupError> {
        request.check()?;
        if request.is_joining() {
            self.check_bytes(request.bytes())?;
        }
        self.with_shard(&request.group, |shard, now| {
            if request.is_joining() {
                shard.open(&request.group, GroupKind::Consumer, now)?;
            }
            shard
                .event(&request.group, now, |group, scene| group.consumer_heartbeat(request, scene))
                .unwrap_or(Err(GroupError::UnknownMemberId))
        })
    }

    /// Of which partitions the claimant may commit offsets of the group. To be asked before the commit goes to the log.
    /// `knows_epochs`: the request is of a version made for consumer groups.
    pub fn check_commit(
        &self,
        group: &GroupId,
        claim: &MemberClaim,
        knows_epochs: bool,
    ) -> Result<CommitPermit, GroupError> {
        self.with_shard(group, |shard, now| {
            let outcome =
                shard.event(group, now, |group, _| (group.check_commit(claim, knows_epochs, now), Vec::new()));
            match outcome {
                Some(outcome) => outcome,
                // Offsets of a group that has no members, or a member from before a restart.
                None if claim.generation.is_none() => Ok(CommitPermit::Any),
                None => Err(GroupError::UnknownMemberId),
            }
        })
    }

    /// Whether a member of a consumer group, that says it is one, may see the group's offsets. Nobody else is asked who they
    /// are. `None` if the group isn't known here.
    pub fn check_fetch(&self, group: &GroupId, member: &MemberId, epoch: Generation) -> Result<Option<()>, GroupError> {
        self.with_shard(group, |shard, _| match shard.get(group) {
            Some(AnyGroup::Consumer(group)) => group.check_fetch(member, epoch).map(Some),
            Some(AnyGroup::Classic(_)) => Ok(Some(())),
            None => Ok(None),
        })
    }

    /// Which of `topics` a member reads, so that its offsets may not be deleted.
    pub fn subscribed(&self, group: &GroupId, topics: &[&str]) -> Result<Vec<bool>, GroupError> {
        self.with_shard(group, |shard, _| match shard.get(group) {
            Some(group) => {
                group.may_delete_offsets()?;
                Ok(topics.iter().map(|topic| group.is_subscribed_to(topic)).collect())
            }
            None => Ok(vec![false; topics.len()]),
        })
    }

    /// Whether the claimant may commit offsets of the group in a transaction (KIP-447). To be asked before the commit goes to the log.
    pub fn check_transactional_commit(&self, group: &GroupId, claim: &MemberClaim) -> Result<(), GroupError> {
        self.with_shard(group, |shard, now| {
            let outcome =
                shard.event(group, now, |group, _| (group.check_transactional_commit(claim, now), Vec::new()));
            match outcome {
                Some(outcome) => outcome,
                None if claim.generation.is_none() => Ok(()),
                None => Err(GroupError::UnknownMemberId),
            }
        })
    }

    /// `None` if no classic group of this id is known here; it may still have offsets.
    pub fn describe(&self, group: &GroupId) -> Result<Option<GroupDescription>, GroupError> {
        self.with_shard(group, |shard, _| match shard.get(group) {
            Some(AnyGroup::Classic(group)) => Ok(Some(group.describe())),
            Some(AnyGroup::Consumer(_)) | None => Ok(None),
        })
    }

    /// `None` if no consumer group (KIP-848) of this id is known here.
    pub fn describe_consumer(&self, group: &GroupId) -> Result<Option<ConsumerDescription>, GroupError> {
        self.with_shard(group, |shard, _| match shard.get(group) {
            Some(AnyGroup::Consumer(group)) => Ok(Some(group.describe())),
            Some(AnyGroup::Classic(_)) | None => Ok(None),
        })
    }

    /// State and protocol type alone, for what asks on every commit. `None` if the group isn't known here.
    pub fn listed(&self, group: &GroupId) -> Result<Option<ListedGroup>, GroupError> {
        self.with_shard(group, |shard, _| Ok(shard.get(group).map(|known| known.listed(group))))
    }

    /// The groups known here, in no order; others may have offsets.
    pub fn list(&self) -> Result<Vec<ListedGroup>, GroupError> {
        self.check_open()?;
        Ok(self.inner.shards.iter().flat_map(|shard| shard.lock().listed()).collect())
    }

    /// Whether the group, here or not, is free of members. Somebody may join before the deletion is through: `remove` then
    /// says so.
    pub fn may_delete(&self, group: &GroupId) -> Result<(), GroupError> {
        self.with_shard(group, |shard, _| shard.get(group).map_or(Ok(()), |group| group.may_delete()))
    }

    /// Forgets a group that has no members.
    pub fn remove(&self, group: &GroupId) -> Result<(), GroupError> {
        self.with_shard(group, |shard, _| {
            shard.get(group).map_or(Ok(()), |group| group.may_delete())?;
            shard.close(group);
            Ok(())
        })
    }

    /// Answers whoever waits with `CoordinatorNotAvailable`, and everything from now on.
    pub fn close(&self) {
        self.inner.closed.store(true, Ordering::SeqCst);
        for shard in &self.inner.shards {
            shard.lock().close_all();
        }
        self.inner.timer.notify_one();
    }

    fn with_shard<T>(
        &self,
        group: &GroupId,
        event: impl FnOnce(&mut Shard, MonotonicMs) -> Result<T, GroupError>,
    ) -> Result<T, GroupError> {
        let inner = &*self.inner;
        let mut shard = inner.shard(group).lock();
        // Under the lock: `close` sets the flag before it takes it, so that no event slips in behind its back.
        self.check_open()?;
        let outcome = event(&mut shard, inner.now());
        let next_deadline = shard.next_deadline();
        drop(shard);
        if next_deadline.is_some_and(|deadline| deadline.0 < inner.timer_wakes_at.load(Ordering::SeqCst)) {
            inner.timer.notify_one();
        }
        outcome
    }

    fn check_open(&self) -> Result<(), GroupError> {
        if self.inner.closed.load(Ordering::SeqCst) { Err(GroupError::CoordinatorNotAvailable) } else { Ok(()) }
    }

    fn check_group_id(&self, group: &GroupId) -> Result<(), GroupError> {
        if group.as_str().is_empty() { Err(GroupError::InvalidGroupId) } else { Ok(()) }
    }

    /// Requests that come at once may exceed the limit together by what they carry; connections are limited elsewhere.
    fn check_bytes(&self, bytes: usize) -> Result<(), GroupError> {
        if self.inner.held.bytes.load(Ordering::Relaxed).saturating_add(bytes) > self.inner.settings.total_bytes_max {
            warn!(bytes, limit = self.inner.settings.total_bytes_max, "groups take as much memory as they may");
            return Err(GroupError::CoordinatorNotAvailable);
        }
        Ok(())
    }

    fn next_waiter(&self) -> WaiterId {
        WaiterId(self.inner.next_waiter.fetch_add(1, Ordering::Relaxed))
    }
}

impl Inner {
    fn shard(&self, group: &GroupId) -> &Mutex<Shard> {
        let hash = self.hasher.hash_one(group.as_str());
        &self.shards[usize::try_from(hash % SHARDS as u64).expect("a number below SHARDS")]
    }

    fn now(&self) -> MonotonicMs {
        MonotonicMs(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Does all that is due; returns when to look again.
    fn tick(&self) -> Option<MonotonicMs> {
        // First of all, so that a deadline set in a shard already looked at wakes the timer again.
        self.timer_wakes_at.store(u64::MAX, Ordering::SeqCst);
        let now = self.now();
        let next_deadline = self
            .shards
            .iter()
            .filter_map(|shard| {
                let mut shard = shard.lock();
                shard.tick(now);
                shard.next_deadline()
            })
            .min();
        self.timer_wakes_at.store(next_deadline.map_or(u64::MAX, |deadline| deadline.0), Ordering::SeqCst);
        next_deadline
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.timer.notify_one();
    }
}

async fn keep_time(inner: Weak<Inner>, notify: Arc<Notify>) {
    loop {
        let (next_deadline, start) = {
            let Some(inner) = inner.upgrade() else { return };
            if inner.closed.load(Ordering::SeqCst) {
                return;
            }
            (inner.tick(), inner.start)
        };
        // A deadline too far for the clock is as good as none.
        let wakes_at = next_deadline.and_then(|deadline| start.checked_add(Duration::from_millis(deadline.0)));
        match wakes_at {
            // Which of the two came first makes no difference: everything is looked at again.
            Some(at) => drop(tokio::time::timeout_at(at, notify.notified()).await),
            None => notify.notified().await,
        }
    }
}

fn left_from_nowhere(leaver: &Leaver) -> Left {
    Left { member: leaver.member.clone(), instance: leaver.instance.clone(), outcome: Err(GroupError::UnknownMemberId) }
}
