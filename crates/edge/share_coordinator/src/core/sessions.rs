//! Share sessions: which partitions a member fetches, kept between its requests, and the epoch that its next request must carry.
//!
//! A session ends with its member, with its connection, or when the member closes it; what it had acquired is then released.

use std::collections::HashMap;

use daybook_types::{GroupId, PartitionId};
use indexmap::IndexSet;
use thiserror::Error;

use crate::ident::MemberId;

const EPOCH_INITIAL: i32 = 0;
const EPOCH_FINAL: i32 = -1;
/// Partitions of one session.
const SESSION_PARTITIONS_MAX: usize = 16 * 1024;

/// A connection, as its door numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub u64);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionKey {
    pub group: GroupId,
    pub member: MemberId,
}

#[derive(Clone, Debug)]
pub struct SessionAsk {
    pub epoch: i32,
    pub connection: ConnectionId,
    pub wanted: Vec<PartitionId>,
    pub forgotten: Vec<PartitionId>,
    pub has_acknowledgements: bool,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SessionError {
    #[error("no share session of this member is known; it must open one with epoch 0")]
    NotFound,
    #[error("the share session is at another epoch")]
    WrongEpoch,
    #[error("there are as many share sessions as there may be")]
    LimitReached,
    #[error(
        "a request that opens a share session can't carry acknowledgements, nor can it follow more than {SESSION_PARTITIONS_MAX} partitions"
    )]
    Invalid,
}

#[derive(Debug)]
pub struct Sessions {
    sessions_max: usize,
    by_key: HashMap<SessionKey, Session>,
}

#[derive(Debug)]
struct Session {
    epoch: i32,
    connection: ConnectionId,
    partitions: IndexSet<PartitionId>,
    /// Where the next fetch begins, so that every partition has its turn.
    first: usize,
}

impl Sessions {
    pub fn new(sessions_max: usize) -> Self {
        Self { sessions_max, by_key: HashMap::new() }
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The partitions that a fetch is to look at, in turn; none when it closes the session, which `close` then does.
    pub fn fetch(&mut self, key: &SessionKey, ask: SessionAsk) -> Result<Vec<PartitionId>, SessionError> {
        match ask.epoch {
            EPOCH_FINAL => self.by_key.get(key).map(|_| Vec::new()).ok_or(SessionError::NotFound),
            EPOCH_INITIAL => {
                if ask.has_acknowledgements || ask.wanted.len() > SESSION_PARTITIONS_MAX {
                    return Err(SessionError::Invalid);
                }
                if !self.by_key.contains_key(key) && self.by_key.len() >= self.sessions_max {
                    return Err(SessionError::LimitReached);
                }
                let partitions: IndexSet<PartitionId> = ask.wanted.into_iter().collect();
                let in_turn = partitions.iter().copied().collect();
                let session = Session { epoch: 1, connection: ask.connection, partitions, first: 1 };
                self.by_key.insert(key.clone(), session);
                Ok(in_turn)
            }
            epoch => {
                let session = self.go_on(key, epoch)?;
                session.connection = ask.connection;
                session.partitions.extend(ask.wanted);
                for partition in &ask.forgotten {
                    session.partitions.swap_remove(partition);
                }
                if session.partitions.len() > SESSION_PARTITIONS_MAX {
                    self.by_key.remove(key);
                    return Err(SessionError::Invalid);
                }
                Ok(session.in_turn())
            }
        }
    }

    /// Whether a request that only acknowledges may.
    pub fn acknowledge(&mut self, key: &SessionKey, epoch: i32) -> Result<(), SessionError> {
        match epoch {
            EPOCH_INITIAL => Err(SessionError::WrongEpoch),
            EPOCH_FINAL => self.by_key.get(key).map(drop).ok_or(SessionError::NotFound),
            epoch => self.go_on(key, epoch).map(drop),
        }
    }

    pub fn close(&mut self, key: &SessionKey) -> bool {
        self.by_key.remove(key).is_some()
    }

    /// Ends the sessions of a connection that is gone.
    pub fn disconnect(&mut self, connection: ConnectionId) -> Vec<SessionKey> {
        let is_its = |(_, session): &(&SessionKey, &Session)| session.connection == connection;
        let keys: Vec<SessionKey> = self.by_key.iter().filter(is_its).map(|(key, _)| key.clone()).collect();
        for key in &keys {
            self.by_key.remove(key);
        }
        keys
    }

    fn go_on(&mut self, key: &SessionKey, epoch: i32) -> Result<&mut Session, SessionError> {
        let session = self.by_key.get_mut(key).ok_or(SessionError::NotFound)?;
        if session.epoch != epoch {
            return Err(SessionError::WrongEpoch);
        }
        session.epoch = epoch.checked_add(1).unwrap_or(1);
        Ok(session)
    }
}

impl Session {
    fn in_turn(&mut self) -> Vec<PartitionId> {
        let count = self.partitions.len();
        let first = self.first.checked_rem(count).unwrap_or(0);
        self.first = first + 1;
        (first..count).chain(0..first).filter_map(|at| self.partitions.get_index(at).copied()).collect()
    }
}
