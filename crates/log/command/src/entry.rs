//! What stands at one LSN: the commands that arrived together, and the time they were proposed.

use bytes::Bytes;
use daybook_types::{Offset, TimestampMs};

use crate::encoding::{DecodeError, Reader, Writer};
use crate::{
    AddToTransaction, AllocateProducerId, AlterConfigs, AlterGroupConfigs, AlterTopicConfigs, AppendBatch,
    AppendEvents, AppendRefusal, AppendToTransaction, Appended, CommitOffsets, CommitOffsetsInTransaction, CompactedTo,
    CompactionBounds, CompactionRefusal, ConfigsRefusal, CreatePartitions, CreateTopic, DeleteGroup, DeleteOffsets,
    DeleteShareState, DeleteSubscription, DeleteTopic, EndTransaction, EventsAppended, EventsRefusal,
    GroupConfigsRefusal, GroupRefusal, IndexRecords, InitProducer, ProducerIdAllocated, PutSharePartition,
    PutSubscription, ShareRefusal, SubscriptionRefusal, SweepTransaction, TopicRefusal, TransactionRefusal,
    TrimPartition, TrimRefusal,
};

const FORMAT_VERSION: u8 = 1;

/// Commands in the order in which they are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The proposer's clock: the only time that apply knows.
    pub time: TimestampMs,
    pub commands: Vec<Command>,
}

/// One request to change a shard's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    AppendBatch(AppendBatch),
    CreateTopic(CreateTopic),
    DeleteTopic(DeleteTopic),
    AlterTopicConfigs(AlterTopicConfigs),
    CreatePartitions(CreatePartitions),
    AllocateProducerId(AllocateProducerId),
    CommitOffsets(CommitOffsets),
    DeleteGroup(DeleteGroup),
    DeleteOffsets(DeleteOffsets),
    AppendEvents(AppendEvents),
    IndexRecords(IndexRecords),
    PutSubscription(PutSubscription),
    DeleteSubscription(DeleteSubscription),
    TrimPartition(TrimPartition),
    CompactedTo(CompactedTo),
    PutSharePartition(PutSharePartition),
    DeleteShareState(DeleteShareState),
    AlterGroupConfigs(AlterGroupConfigs),
    AlterConfigs(AlterConfigs),
    AppendToTransaction(AppendToTransaction),
    InitProducer(InitProducer),
    AddToTransaction(AddToTransaction),
    CommitOffsetsInTransaction(CommitOffsetsInTransaction),
    EndTransaction(EndTransaction),
    SweepTransaction(SweepTransaction),
}

/// What apply decided about a command: the same variant as the command's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    AppendBatch(Result<Appended, AppendRefusal>),
    CreateTopic(Result<(), TopicRefusal>),
    DeleteTopic(Result<(), TopicRefusal>),
    AlterTopicConfigs(Result<(), TopicRefusal>),
    CreatePartitions(Result<(), TopicRefusal>),
    AllocateProducerId(ProducerIdAllocated),
    CommitOffsets,
    DeleteGroup(Result<(), GroupRefusal>),
    DeleteOffsets(Result<(), GroupRefusal>),
    AppendEvents(Result<EventsAppended, EventsRefusal>),
    IndexRecords,
    PutSubscription(Result<(), SubscriptionRefusal>),
    DeleteSubscription(Result<(), SubscriptionRefusal>),
    /// The partition's start, as it is now.
    TrimPartition(Result<Offset, TrimRefusal>),
    /// As it is now; a partition that was compacted further already stays so.
    CompactedTo(Result<CompactionBounds, CompactionRefusal>),
    PutSharePartition(Result<(), ShareRefusal>),
    DeleteShareState(Result<(), ShareRefusal>),
    AlterGroupConfigs(Result<(), GroupConfigsRefusal>),
    AlterConfigs(Result<(), ConfigsRefusal>),
    AppendToTransaction(Result<Appended, AppendRefusal>),
    InitProducer(Result<ProducerIdAllocated, TransactionRefusal>),
    AddToTransaction(Result<(), TransactionRefusal>),
    CommitOffsetsInTransaction(Result<(), TransactionRefusal>),
    /// The producer's id and epoch from now on.
    EndTransaction(Result<ProducerIdAllocated, TransactionRefusal>),
    SweepTransaction(Result<(), TransactionRefusal>),
}

impl Command {
    fn tag(&self) -> u8 {
        match self {
            Self::AppendBatch(_) => 1,
            Self::CreateTopic(_) => 2,
            Self::DeleteTopic(_) => 3,
            Self::AlterTopicConfigs(_) => 4,
            Self::CreatePartitions(_) => 5,
            Self::AllocateProducerId(_) => 6,
            Self::CommitOffsets(_) => 7,
            Self::DeleteGroup(_) => 8,
            Self::DeleteOffsets(_) => 9,
            Self::AppendEvents(_) => 10,
            Self::IndexRecords(_) => 11,
            Self::PutSubscription(_) => 12,
            Self::DeleteSubscription(_) => 13,
            Self::TrimPartition(_) => 20,
            Self::CompactedTo(_) => 21,
            Self::PutSharePartition(_) => 27,
            Self::DeleteShareState(_) => 28,
            Self::AlterGroupConfigs(_) => 29,
            Self::AlterConfigs(_) => 30,
            Self::AppendToTransaction(_) => 14,
            Self::InitProducer(_) => 15,
            Self::AddToTransaction(_) => 16,
            Self::CommitOffsetsInTransaction(_) => 17,
            Self::EndTransaction(_) => 18,
            Self::SweepTransaction(_) => 19,
        }
    }

    /// Name for logs and `daybook log dump`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AppendBatch(_) => "append_batch",
            Self::CreateTopic(_) => "create_topic",
            Self::DeleteTopic(_) => "delete_topic",
            Self::AlterTopicConfigs(_) => "alter_topic_configs",
            Self::CreatePartitions(_) => "create_partitions",
            Self::AllocateProducerId(_) => "allocate_producer_id",
            Self::CommitOffsets(_) => "commit_offsets",
            Self::DeleteGroup(_) => "delete_group",
            Self::DeleteOffsets(_) => "delete_offsets",
            Self::AppendEvents(_) => "append_events",
            Self::IndexRecords(_) => "index_records",
            Self::PutSubscription(_) => "put_subscription",
            Self::DeleteSubscription(_) => "delete_subscription",
            Self::TrimPartition(_) => "trim_partition",
            Self::CompactedTo(_) => "compacted_to",
            Self::PutSharePartition(_) => "put_share_partition",
            Self::DeleteShareState(_) => "delete_share_state",
            Self::AlterGroupConfigs(_) => "alter_group_configs",
            Self::AlterConfigs(_) => "alter_configs",
            Self::AppendToTransaction(_) => "append_to_transaction",
            Self::InitProducer(_) => "init_producer",
            Self::AddToTransaction(_) => "add_to_transaction",
            Self::CommitOffsetsInTransaction(_) => "commit_offsets_in_transaction",
            Self::EndTransaction(_) => "end_transaction",
            Self::SweepTransaction(_) => "sweep_transaction",
        }
    }

    /// About how many bytes the command takes in an entry and in memory.
    pub fn bytes(&self) -> usize {
        const HEAD_BYTES: usize = 25;
        HEAD_BYTES
            + match self {
                Self::AppendBatch(append) => append.batch.len(),
                Self::CreateTopic(create) => {
                    create.configs.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() + 300
                }
                Self::AlterTopicConfigs(alter) => alter
                    .changes
                    .iter()
                    .map(|(name, value)| name.len() + value.as_ref().map_or(0, String::len))
                    .sum::<usize>(),
                Self::CommitOffsets(commit) => commit.bytes(),
                Self::DeleteOffsets(delete) => delete.partitions.len() * 20,
                Self::AppendEvents(append) => append.bytes(),
                Self::IndexRecords(index) => index.batch.len() + IndexRecords::HEAD_BYTES,
                Self::PutSubscription(put) => put.name.len() + put.body.len(),
                Self::DeleteSubscription(delete) => delete.name.len(),
                Self::PutSharePartition(put) => put.bytes(),
                Self::DeleteShareState(delete) => delete.bytes(),
                Self::AlterGroupConfigs(alter) => alter.bytes(),
                Self::AlterConfigs(alter) => alter.bytes(),
                Self::AppendToTransaction(command) => command.bytes(),
                Self::InitProducer(command) => command.bytes(),
                Self::AddToTransaction(command) => command.bytes(),
                Self::CommitOffsetsInTransaction(command) => command.bytes(),
                Self::EndTransaction(command) => command.bytes(),
                Self::SweepTransaction(command) => command.bytes(),
                Self::DeleteTopic(_)
                | Self::CreatePartitions(_)
                | Self::AllocateProducerId(_)
                | Self::DeleteGroup(_)
                | Self::TrimPartition(_)
                | Self::CompactedTo(_) => 0,
            }
    }

    fn write(&self, out: &mut Writer) {
        out.u8(self.tag());
        // Written straight through: batches must stay parts of their own.
        match self {
            Self::AppendBatch(append) => {
                return out.sized(AppendBatch::HEAD_BYTES + append.batch.len(), |out| append.write(out));
            }
            Self::AppendEvents(append) => return append.write_sized(out),
            Self::IndexRecords(index) => {
                return out.sized(IndexRecords::HEAD_BYTES + index.batch.len(), |out| index.write(out));
            }
            Self::AppendToTransaction(append) => return append.write_sized(out),
            _ => {}
        }
        let mut body = Writer::default();
        match self {
            Self::AppendBatch(_)
            | Self::AppendToTransaction(_)
            | Self::AppendEvents(_)
            | Self::IndexRecords(_)
            | Self::AllocateProducerId(_) => {}
            Self::CreateTopic(command) => command.write(&mut body),
            Self::DeleteTopic(command) => command.write(&mut body),
            Self::AlterTopicConfigs(command) => command.write(&mut body),
            Self::CreatePartitions(command) => command.write(&mut body),
            Self::CommitOffsets(command) => command.write(&mut body),
            Self::DeleteGroup(command) => command.write(&mut body),
            Self::DeleteOffsets(command) => command.write(&mut body),
            Self::PutSubscription(command) => command.write(&mut body),
            Self::DeleteSubscription(command) => command.write(&mut body),
            Self::TrimPartition(command) => command.write(&mut body),
            Self::CompactedTo(command) => command.write(&mut body),
            Self::PutSharePartition(command) => command.write(&mut body),
            Self::DeleteShareState(command) => command.write(&mut body),
            Self::AlterGroupConfigs(command) => command.write(&mut body),
            Self::AlterConfigs(command) => command.write(&mut body),
            Self::InitProducer(command) => command.write(&mut body),
            Self::AddToTransaction(command) => command.write(&mut body),
            Self::CommitOffsetsInTransaction(command) => command.write(&mut body),
            Self::EndTransaction(command) => command.write(&mut body),
            Self::SweepTransaction(command) => command.write(&mut body),
        }
        out.sized(body.len(), |out| body.finish().iter().for_each(|part| out.raw(part)));
    }

    fn read(tag: u8, body: Bytes) -> Result<Self, DecodeError> {
        let from = &mut Reader::new(body);
        let command = match tag {
            1 => Self::AppendBatch(AppendBatch::read(from)?),
            2 => Self::CreateTopic(CreateTopic::read(from)?),
            3 => Self::DeleteTopic(DeleteTopic::read(from)?),
            4 => Self::AlterTopicConfigs(AlterTopicConfigs::read(from)?),
            5 => Self::CreatePartitions(CreatePartitions::read(from)?),
            6 => Self::AllocateProducerId(AllocateProducerId),
            7 => Self::CommitOffsets(CommitOffsets::read(from)?),
            8 => Self::DeleteGroup(DeleteGroup::read(from)?),
            9 => Self::DeleteOffsets(DeleteOffsets::read(from)?),
            10 => Self::AppendEvents(AppendEvents::read(from)?),
            11 => Self::IndexRecords(IndexRecords::read(from)?),
            12 => Self::PutSubscription(PutSubscription::read(from)?),
            13 => Self::DeleteSubscription(DeleteSubscription::read(from)?),
            20 => Self::TrimPartition(TrimPartition::read(from)?),
            21 => Self::CompactedTo(CompactedTo::read(from)?),
            27 => Self::PutSharePartition(PutSharePartition::read(from)?),
            28 => Self::DeleteShareState(DeleteShareState::read(from)?),
            29 => Self::AlterGroupConfigs(AlterGroupConfigs::read(from)?),
            30 => Self::AlterConfigs(AlterConfigs::read(from)?),
            14 => Self::AppendToTransaction(AppendToTransaction::read(from)?),
            15 => Self::InitProducer(InitProducer::read(from)?),
            16 => Self::AddToTransaction(AddToTransaction::read(from)?),
            17 => Self::CommitOffsetsInTransaction(CommitOffsetsInTransaction::read(from)?),
            18 => Self::EndTransaction(EndTransaction::read(from)?),
            19 => Self::SweepTransaction(SweepTransaction::read(from)?),
            _ => return Err(DecodeError::UnknownTag { tag }),
        };
        if from.is_at_end() { Ok(command) } else { Err(DecodeError::Malformed) }
    }
}

impl Entry {
    /// The entry's bytes in parts to be written one after the other; record batches are parts of their own, not copied.
    pub fn encode(&self) -> Vec<Bytes> {
        let mut out = Writer::default();
        out.u8(FORMAT_VERSION);
        out.i64(self.time.0);
        out.count(self.commands.len());
        for command in &self.commands {
            command.write(&mut out);
        }
        out.finish()
    }

    /// Reads what `encode` wrote. Record batches are slices of `bytes`.
    pub fn decode(bytes: Bytes) -> Result<Self, DecodeError> {
        let from = &mut Reader::new(bytes);
        let version = from.u8()?;
        if version > FORMAT_VERSION {
            return Err(DecodeError::NewerFormat { found: version, known: FORMAT_VERSION });
        }
        let time = TimestampMs(from.i64()?);
        let commands = from.list(|from| Command::read(from.u8()?, from.slice()?))?;
        if from.is_at_end() { Ok(Self { time, commands }) } else { Err(DecodeError::Malformed) }
    }
}
