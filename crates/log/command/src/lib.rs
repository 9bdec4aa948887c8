//! What may be asked of a shard: every command, its answer, the entry that carries commands through the log, and the
//! `Door`, the one way in.
//!
//! A command's tag and layout are disk format (`docs/formats/entry.md`): tags are never reused, layouts only gain new tags.
//! Whatever can be refused is refused in apply, so a refusal is part of the answer and not of proposing.

mod append;
mod compaction;
mod config;
mod door;
mod encoding;
mod entry;
mod events;
mod offsets;
mod producer;
mod share;
mod subscription;
mod topic;
mod transaction;
mod trim;

pub use append::{AppendBatch, AppendRefusal, Appended};
pub use compaction::{CompactedTo, CompactionBounds, CompactionRefusal};
pub use config::{AlterConfigs, ConfigResource, ConfigsRefusal, ResourceKind};
pub use door::{Applied, Door, Inbox, Pending, Proposal, ProposeError, Stage, Waiter};
pub use encoding::DecodeError;
pub use entry::{Command, Entry, Outcome};
pub use events::{
    ActualVersion, AppendCondition, AppendEvents, EventBatch, EventsAppended, EventsRefusal, ExpectedVersion,
    IndexRecords, StreamCheck, StreamConflict, StreamSpan, TermQuery,
};
pub use offsets::{CommitOffsets, CommittedOffset, DeleteGroup, DeleteOffsets, GroupRefusal, OffsetToCommit};
pub use producer::{AllocateProducerId, ProducerIdAllocated};
pub use share::{
    AlterGroupConfigs, DeleteShareState, GroupConfigsRefusal, PutSharePartition, SharePartitionState, ShareRefusal,
    ShareRun,
};
pub use subscription::{DeleteSubscription, PutSubscription, SubscriptionMustBe, SubscriptionRefusal};
pub use topic::{AlterTopicConfigs, CreatePartitions, CreateTopic, DeleteTopic, TopicRefusal};
pub use transaction::{
    AddToTransaction, AppendToTransaction, CommitOffsetsInTransaction, EndTransaction, InitProducer, SweepTransaction,
    TransactionRefusal, TransactionalProducer,
};
pub use trim::{TrimPartition, TrimRefusal};
