//! What a shard asks of that which is posted from its log.

use std::fmt;

use daybook_command::{Entry, Outcome};
use daybook_consensus::At;
use daybook_kv::{KvError, Op, Store};
use daybook_segment::{Roll, StampedBatch};
use daybook_types::{Offset, PartitionId};

/// State posted from the log. Called on the shard's thread only; a pure function of what it is told.
pub trait Posting: Send + Sync + 'static {
    /// One outcome a command, in the commands' order.
    /// An error means that posted state can't be read: the shard takes no more entries.
    fn apply(&mut self, at: At, entry: &Entry) -> Result<Vec<Outcome>, KvError>;
    /// An entry without commands went by.
    fn pass(&mut self, at: At);
    /// Everything that changed since the last call, as of the last entry.
    fn take_content(&mut self) -> Content;
}

/// Changes of the index store that are made when it is their turn.
pub type MoreOps = Box<dyn FnOnce(&Store) -> Result<Vec<Op>, KvError> + Send + Sync>;

/// What a checkpoint writes.
pub struct Content {
    /// Records for partition files, in offset order.
    pub appends: Vec<PartitionAppend>,
    /// Changes of the index store.
    pub ops: Vec<Op>,
    /// Makes further changes, on the checkpoint's thread: what takes long to write down.
    pub more_ops: MoreOps,
    /// Partitions that exist no more.
    pub removed: Vec<PartitionId>,
    /// Partitions that begin later than before, and where: files wholly below are removed.
    pub trims: Vec<(PartitionId, Offset)>,
    /// Called when files and index store hold all this and readers can find it there.
    pub published: Box<dyn FnOnce() + Send + Sync>,
}

/// New batches of one partition.
#[derive(Debug)]
pub struct PartitionAppend {
    pub partition: PartitionId,
    pub batches: Vec<StampedBatch>,
    pub roll: Roll,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content")
            .field("appends", &self.appends.len())
            .field("ops", &self.ops.len())
            .field("removed", &self.removed.len())
            .finish_non_exhaustive()
    }
}
