//! The handle through which everything goes.

use daybook_command::Door;
use daybook_read::Reader;
use daybook_types::{Lsn, ShardId};
use std::fmt;
use std::str::FromStr;

/// The event store of one shard. Clones are cheap.
#[derive(Clone, Debug)]
pub struct EventStore {
    pub(crate) door: Door,
    pub(crate) reader: Reader,
}

impl EventStore {
    pub fn new(door: Door, reader: Reader) -> Self {
        Self { door, reader }
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
