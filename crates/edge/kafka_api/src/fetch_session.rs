//! Incremental fetch sessions (KIP-227): the partitions a consumer follows are kept here between its requests, and an answer tells only
//! of those that have something new.
//!
//! A session belongs to nobody's connection: whoever knows its id and its epoch goes on with it. A request whose epoch isn't the
//! expected one is refused, so that of two answers lost and repeated none is taken for the other.

use std::collections::HashMap;

use indexmap::IndexMap;
use parking_lot::Mutex;

use crate::error_code::ErrorCode;
use crate::topic_ref::PartitionRef;

/// Epoch of a request that wants a new session.
const EPOCH_INITIAL: i32 = 0;
/// Epoch of a request that wants no session, or the end of one.
const EPOCH_FINAL: i32 = -1;
/// The id of no session.
pub(crate) const NO_SESSION: i32 = 0;
/// A session that was used within this time isn't evicted for another (Kafka's `MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`).
const EVICTION_MS_MIN: u64 = 120_000;
/// A consumer that follows more partitions fetches without a session.
const SESSION_PARTITIONS_MAX: usize = 16 * 1024;
/// Of all sessions together.
const PARTITIONS_MAX: usize = 512 * 1024;

/// What a consumer wants of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub fetch_offset: i64,
    pub bytes_max: i32,
    /// -1: not checked.
    pub current_leader_epoch: i32,
}

/// A fetch request, as far as sessions go.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub session_id: i32,
    pub epoch: i32,
    pub by_id: bool,
    pub wanted: Vec<(PartitionRef, Wanted)>,
    pub forgotten: Vec<PartitionRef>,
}

/// The partitions to answer for, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetching {
    kind: Kind,
    pub partitions: Vec<(PartitionRef, Wanted)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Answers for every partition, remembers nothing.
    Without,
    /// Answers for every partition and begins a session.
    Full { by_id: bool },
    /// Answers for what is new; `epoch` is what the session expects next.
    Incremental { session_id: i32, epoch: i32 },
}

/// What the answer has for a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub is_error: bool,
    pub bytes: usize,
    pub high_watermark: i64,
    pub log_start_offset: i64,
}

/// How to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub session_id: i32,
    /// For each partition of the `Fetching`, whether the answer tells of it.
    pub told: Vec<bool>,
}

/// All sessions of a node.
#[derive(Debug)]
pub(crate) struct FetchSessions {
    sessions: Mutex<Sessions>,
}

#[derive(Debug)]
struct Sessions {
    sessions_max: usize,
    partitions: usize,
    by_id: HashMap<i32, Session>,
}

#[derive(Debug)]
struct Session {
    /// The next request has to carry it.
    epoch: i32,
    by_id: bool,
    partitions: IndexMap<PartitionRef, Remembered>,
    /// Where the next answer begins, so that with little room every partition has its turn.
    first: usize,
    created_ms: u64,
    used_ms: u64,
}

#[derive(Debug)]
struct Remembered {
    wanted: Wanted,
    /// High watermark and log start offset as the consumer was last told; none if it has to be told again.
    told: Option<(i64, i64)>,
}

impl FetchSessions {
    pub fn new(sessions_max: usize) -> Self {
        Self { sessions: Mutex::new(Sessions { sessions_max, partitions: 0, by_id: HashMap::new() }) }
    }

    /// What a request asks for. `now_ms` is of a clock that doesn't go back.
    pub fn begin(&self, ask: Ask, now_ms: u64) -> Result<Fetching, ErrorCode> {
        self.sessions.lock().begin(ask, now_ms)
    }

    /// The session of an answer that tells of nothing.
    pub fn unchanged(&self, fetching: &Fetching) -> Result<i32, ErrorCode> {
        let Kind::Incremental { session_id, epoch } = fetching.kind else { return Ok(NO_SESSION) };
        match self.sessions.lock().by_id.get(&session_id) {
            Some(session) if session.epoch == epoch => Ok(session_id),
            Some(_) => Err(ErrorCode::InvalidFetchSessionEpoch),
            None => Err(ErrorCode::FetchSessionIdNotFound),
        }
    }

    /// What its answer tells. `found` has what was read for each partition of `fetching`.
    pub fn finish(
        &self,
        fetching: &Fetching,
        found: &[Found],
        now_ms: u64,
        new_id: impl FnMut() -> i32,
    ) -> Result<Reply, ErrorCode> {
        self.sessions.lock().finish(fetching, found, now_ms, new_id)
    }
}

impl Sessions {
    fn begin(&mut self, ask: Ask, now_ms: u64) -> Result<Fetching, ErrorCode> {
        let Ask { session_id, epoch, by_id, wanted, forgotten } = ask;
        if epoch == EPOCH_INITIAL || epoch == EPOCH_FINAL {
            self.remove(session_id);
            let kind = if epoch == EPOCH_FINAL { Kind::Without } else { Kind::Full { by_id } };
            return Ok(Fetching { kind, partitions: wanted });
        }
        let session = self.by_id.get_mut(&session_id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.epoch != epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.by_id != by_id {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        let before = session.partitions.len();
        session.update(wanted, &forgotten);
        let after = session.partitions.len();
        self.partitions = self.partitions - before + after;
        if after == 0 {
            self.remove(session_id);
            return Ok(Fetching { kind: Kind::Without, partitions: Vec::new() });
        }
        if after > SESSION_PARTITIONS_MAX || self.partitions > PARTITIONS_MAX {
            // The consumer begins anew with a full request, which then gets no session.
            self.remove(session_id);
            return Err(ErrorCode::FetchSessionIdNotFound);
        }
        session.used_ms = now_ms;
        session.epoch = next_epoch(epoch);
        let kind = Kind::Incremental { session_id, epoch: session.epoch };
        Ok(Fetching { kind, partitions: session.in_turn() })
    }

    fn finish(
        &mut self,
        fetching: &Fetching,
        found: &[Found],
        now_ms: u64,
        new_id: impl FnMut() -> i32,
    ) -> Result<Reply, ErrorCode> {
        let all = vec![true; fetching.partitions.len()];
        match fetching.kind {
            Kind::Without => Ok(Reply { session_id: NO_SESSION, told: all }),
            Kind::Full { by_id } => {
                let session_id = self.create(by_id, &fetching.partitions, found, now_ms, new_id);
                Ok(Reply { session_id, told: all })
            }
            Kind::Incremental { session_id, epoch } => {
                let session = self.by_id.get_mut(&session_id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
                // Another request went on with the session while this one waited for records.
                if session.epoch != epoch {
                    return Err(ErrorCode::InvalidFetchSessionEpoch);
                }
                let told = fetching.partitions.iter().zip(found).map(|((at, _), found)| session.tell(at, found));
                Ok(Reply { session_id, told: told.collect() })
            }
        }
    }

    /// The new session's id, or that of none if there is no room for it.
    fn create(
        &mut self,
        by_id: bool,
        partitions: &[(PartitionRef, Wanted)],
        found: &[Found],
        now_ms: u64,
        mut new_id: impl FnMut() -> i32,
    ) -> i32 {
        let count = partitions.len();
        if count == 0 || count > SESSION_PARTITIONS_MAX || self.partitions + count > PARTITIONS_MAX {
            return NO_SESSION;
        }
        if self.by_id.len() >= self.sessions_max && !self.evict(count, now_ms) {
            return NO_SESSION;
        }
        let id = loop {
            let id = new_id();
            if id > NO_SESSION && !self.by_id.contains_key(&id) {
                break id;
            }
        };
        let remembered = partitions
            .iter()
            .zip(found)
            .map(|((at, wanted), found)| (at.clone(), Remembered { wanted: *wanted, told: found.to_remember() }))
            .collect::<IndexMap<_, _>>();
        self.partitions += remembered.len();
        let epoch = next_epoch(EPOCH_INITIAL);
        let session = Session { epoch, by_id, partitions: remembered, first: 0, created_ms: now_ms, used_ms: now_ms };
        self.by_id.insert(id, session);
        id
    }

    /// Makes room for a session of `partitions`: one that nobody used for long goes, or one that is smaller and has stood for long.
    fn evict(&mut self, partitions: usize, now_ms: u64) -> bool {
        let age = |since: u64| now_ms.saturating_sub(since);
        let idlest = self.by_id.iter().min_by_key(|(id, session)| (session.used_ms, **id));
        let victim = idlest.filter(|(_, session)| age(session.used_ms) > EVICTION_MS_MIN).or_else(|| {
            let standing = self.by_id.iter().filter(|(_, session)| age(session.created_ms) > EVICTION_MS_MIN);
            let smallest = standing.min_by_key(|(id, session)| (session.partitions.len(), session.used_ms, **id));
            smallest.filter(|(_, session)| session.partitions.len() < partitions)
        });
        match victim.map(|(id, _)| *id) {
            Some(id) => {
                self.remove(id);
                true
            }
            None => false,
        }
    }

    fn remove(&mut self, id: i32) {
        if let Some(session) = self.by_id.remove(&id) {
            self.partitions -= session.partitions.len();
        }
    }
}

impl Session {
    fn update(&mut self, wanted: Vec<(PartitionRef, Wanted)>, forgotten: &[PartitionRef]) {
        for (at, wanted) in wanted {
            match self.partitions.get_mut(&at) {
                Some(remembered) => remembered.wanted = wanted,
                None => {
                    self.partitions.insert(at, Remembered { wanted, told: None });
                }
            }
        }
        for at in forgotten {
            self.partitions.swap_remove(at);
        }
    }

    fn in_turn(&self) -> Vec<(PartitionRef, Wanted)> {
        let count = self.partitions.len();
        let first = if self.first < count { self.first } else { 0 };
        let of = |index: usize| {
            let (at, remembered) = self.partitions.get_index(index)?;
            Some((at.clone(), remembered.wanted))
        };
        (first..count).chain(0..first).filter_map(of).collect()
    }

    /// Whether the consumer has to be told of a partition; remembers what it is told.
    fn tell(&mut self, at: &PartitionRef, found: &Found) -> bool {
        let Some((index, _, remembered)) = self.partitions.get_full_mut(at) else { return true };
        let now = found.to_remember();
        let told = found.bytes > 0 || now.is_none() || remembered.told != now;
        remembered.told = now;
        if found.bytes > 0 {
            self.first = index + 1;
        }
        told
    }
}

impl Found {
    /// An error is told every time.
    fn to_remember(self) -> Option<(i64, i64)> {
        (!self.is_error).then_some((self.high_watermark, self.log_start_offset))
    }
}

/// The epoch of the request after; past the last comes 1, since 0 means something else.
fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

#[cfg(test)]
mod tests;
