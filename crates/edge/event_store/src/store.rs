//! The handle through which everything goes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use daybook_command::{
    Command, DeleteSubscription, Door, Outcome, ProposeError, PutSubscription, SubscriptionMustBe, SubscriptionRefusal,
};
use daybook_read::Reader;
use daybook_types::{Lsn, ShardId};

use crate::scavenge::Scavenger;

/// The event store of one shard. Clones are cheap.
#[derive(Clone, Debug)]
pub struct EventStore {
    pub(crate) door: Door,
    pub(crate) reader: Reader,
    pub(crate) options: Options,
    pub(crate) scavenger: Arc<Scavenger>,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Partitions of an event topic that is made by an append.
    pub default_partitions: i32,
}

impl Default for Options {
    fn default() -> Self {
        Self { default_partitions: 1 }
    }
}

impl EventStore {
    pub fn new(door: Door, reader: Reader, options: Options) -> Self {
        Self { door, reader, options, scavenger: Arc::default() }
    }

    /// The way in for commands of other kinds.
    pub fn door(&self) -> &Door {
        &self.door
    }

    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

/// Names an LSN of a shard: every write returns one, a read that is given one waits until it is applied. Text `shard:lsn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub shard: ShardId,
    pub lsn: Lsn,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shard, self.lsn)
    }
}

impl FromStr for Token {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (shard, lsn) = text.split_once(':').ok_or(())?;
        Ok(Self { shard: ShardId(shard.parse().map_err(drop)?), lsn: Lsn(lsn.parse().map_err(drop)?) })
    }
}

impl EventStore {
    /// Keeps `body` under `name` in the log: a persistent subscription's settings, or how far it has come.
    pub async fn put_subscription(
        &self,
        name: &str,
        only_if: SubscriptionMustBe,
        body: Bytes,
    ) -> Result<Result<(), SubscriptionRefusal>, ProposeError> {
        let command = PutSubscription { name: name.to_owned(), only_if, body };
        match self.propose(Command::PutSubscription(command)).await? {
            Outcome::PutSubscription(result) => Ok(result),
            _ => Err(ProposeError::Unknown),
        }
    }

    pub async fn delete_subscription(&self, name: &str) -> Result<Result<(), SubscriptionRefusal>, ProposeError> {
        let command = DeleteSubscription { name: name.to_owned() };
        match self.propose(Command::DeleteSubscription(command)).await? {
            Outcome::DeleteSubscription(result) => Ok(result),
            _ => Err(ProposeError::Unknown),
        }
    }

    /// All subscriptions that were put, by name.
    pub fn subscriptions(&self) -> Vec<(String, Bytes)> {
        self.reader.subscriptions()
    }

    async fn propose(&self, command: Command) -> Result<Outcome, ProposeError> {
        let applied = self.door.propose(vec![command]).await?.await?;
        applied.outcomes.into_iter().next().ok_or(ProposeError::Unknown)
    }
}
