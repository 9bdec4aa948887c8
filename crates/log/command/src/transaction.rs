//! Transactions: begin, add to, write in, end.
//!
//! Every command names the producer as it knows itself; whether it still is that, apply decides.

use bytes::Bytes;
use daybook_types::{GroupId, PartitionId, ProducerEpoch, ProducerId, TimestampMs, TransactionalId};
use thiserror::Error;

use crate::CommitOffsets;
use crate::encoding::{DecodeError, Reader, Writer};

/// A producer with a transactional id, as it calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionalProducer {
    pub transactional_id: TransactionalId,
    pub id: ProducerId,
    pub epoch: ProducerEpoch,
}

/// A record batch for the end of a partition, visible to readers of committed records only once its transaction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendToTransaction {
    pub transactional_id: TransactionalId,
    pub partition: PartitionId,
    /// Adds the partition to the transaction, which begins if none is open (KIP-890). Else it must have been added before.
    pub joins: bool,
    /// The whole batch as the client sent it. It names the producer's id and epoch.
    pub batch: Bytes,
}

/// Gives a transactional id its producer: the only one from now on. A transaction left open by the one before is aborted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitProducer {
    pub transactional_id: TransactionalId,
    pub timeout_ms: i32,
    /// Who the producer was, if it goes on after an error (KIP-360).
    pub expected: Option<(ProducerId, ProducerEpoch)>,
}

/// Adds partitions and groups to a transaction, which begins if none is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddToTransaction {
    pub producer: TransactionalProducer,
    pub partitions: Vec<PartitionId>,
    pub groups: Vec<GroupId>,
}

/// Keeps offsets for a group that count once the transaction is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitOffsetsInTransaction {
    pub producer: TransactionalProducer,
    /// Adds the group to the transaction, which begins if none is open. Else it must have been added before.
    pub joins: bool,
    pub commit: CommitOffsets,
}

/// Ends a transaction: all of it becomes visible, or nothing ever does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndTransaction {
    pub producer: TransactionalProducer,
    pub commits: bool,
    /// The producer takes a new epoch with every transaction (KIP-890), so that nothing late of this one gets into the next.
    pub bumps_epoch: bool,
}

/// What happens to transactions without their producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepTransaction {
    /// Aborts a transaction that took longer than its producer allowed; the producer is fenced.
    TimedOut { producer: TransactionalProducer, started: TimestampMs },
    /// Forgets a transactional id that nobody used for so long.
    Unused { transactional_id: TransactionalId, unused_ms: i64 },
    /// An administrator aborts what a producer has open in a partition. If it is known to be part of a transaction, all of that is
    /// aborted and its producer fenced.
    Hanging { partition: PartitionId, producer: ProducerId, epoch: ProducerEpoch },
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TransactionRefusal {
    #[error(
        "transactional id {transactional_id} is not known, or was not used for too long; the producer must be initialised"
    )]
    UnknownId { transactional_id: TransactionalId },
    #[error("transactional id {transactional_id} belongs to producer {current} now, not to {producer}")]
    OtherProducer { transactional_id: TransactionalId, producer: ProducerId, current: ProducerId },
    #[error("the producer was fenced: its epoch is {epoch}, the current one {current}")]
    Fenced { epoch: ProducerEpoch, current: ProducerEpoch },
    #[error("the transaction is {state}, so it can't be {wish}")]
    InvalidState { state: &'static str, wish: &'static str },
    #[error("partition {partition} was not added to an open transaction")]
    PartitionNotAdded { partition: PartitionId },
    #[error("group {group} was not added to an open transaction")]
    GroupNotAdded { group: GroupId },
    #[error("partition {partition} does not exist")]
    UnknownPartition { partition: PartitionId },
    #[error(
        "partition {partition} is of an event topic, which takes no transactions; append to several streams at once instead"
    )]
    EventTopic { partition: PartitionId },
    #[error("a transactional batch needs a transactional id in its request")]
    NoTransactionalId,
    #[error("there are {max} transactional ids, as many as may be; those unused go after transaction.id_expiration_ms")]
    TooManyIds { max: usize },
    #[error("a transaction commits offsets of {max} groups at most")]
    TooManyGroups { max: usize },
}

impl TransactionalProducer {
    fn write(&self, out: &mut Writer) {
        out.text(self.transactional_id.as_str());
        out.i64(self.id.0);
        out.i32(self.epoch.0.into());
    }

    fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: TransactionalId::new(&from.text()?),
            id: ProducerId(from.i64()?),
            epoch: epoch(from)?,
        })
    }

    fn bytes(&self) -> usize {
        self.transactional_id.as_str().len() + 16
    }
}

impl AppendToTransaction {
    /// The batch stays a part of its own, so the length before it is foretold.
    pub(crate) fn write_sized(&self, out: &mut Writer) {
        out.sized(self.head_bytes() + self.batch.len(), |out| {
            out.text(self.transactional_id.as_str());
            out.partition(self.partition);
            out.u8(self.joins.into());
            out.rest(self.batch.clone());
        });
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: TransactionalId::new(&from.text()?),
            partition: from.partition()?,
            joins: flag(from)?,
            batch: from.rest(),
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.head_bytes() + self.batch.len()
    }

    fn head_bytes(&self) -> usize {
        4 + self.transactional_id.as_str().len() + 20 + 1
    }
}

impl InitProducer {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(self.transactional_id.as_str());
        out.i32(self.timeout_ms);
        out.u8(self.expected.is_some().into());
        if let Some((id, epoch)) = self.expected {
            out.i64(id.0);
            out.i32(epoch.0.into());
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            transactional_id: TransactionalId::new(&from.text()?),
            timeout_ms: from.i32()?,
            expected: if flag(from)? { Some((ProducerId(from.i64()?), epoch(from)?)) } else { None },
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.transactional_id.as_str().len() + 24
    }
}

impl AddToTransaction {
    pub(crate) fn write(&self, out: &mut Writer) {
        self.producer.write(out);
        out.count(self.partitions.len());
        self.partitions.iter().for_each(|partition| out.partition(*partition));
        out.count(self.groups.len());
        self.groups.iter().for_each(|group| out.text(group.as_str()));
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            producer: TransactionalProducer::read(from)?,
            partitions: from.list(Reader::partition)?,
            groups: from.list(|from| Ok(GroupId::new(&from.text()?)))?,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        let groups: usize = self.groups.iter().map(|group| group.as_str().len() + 4).sum();
        self.producer.bytes() + self.partitions.len() * 20 + groups
    }
}

impl CommitOffsetsInTransaction {
    pub(crate) fn write(&self, out: &mut Writer) {
        self.producer.write(out);
        out.u8(self.joins.into());
        self.commit.write(out);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            producer: TransactionalProducer::read(from)?,
            joins: flag(from)?,
            commit: CommitOffsets::read(from)?,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.producer.bytes() + self.commit.bytes()
    }
}

impl EndTransaction {
    pub(crate) fn write(&self, out: &mut Writer) {
        self.producer.write(out);
        out.u8(self.commits.into());
        out.u8(self.bumps_epoch.into());
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self { producer: TransactionalProducer::read(from)?, commits: flag(from)?, bumps_epoch: flag(from)? })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.producer.bytes() + 2
    }
}

impl SweepTransaction {
    pub(crate) fn write(&self, out: &mut Writer) {
        match self {
            Self::TimedOut { producer, started } => {
                out.u8(0);
                producer.write(out);
                out.i64(started.0);
            }
            Self::Unused { transactional_id, unused_ms } => {
                out.u8(1);
                out.text(transactional_id.as_str());
                out.i64(*unused_ms);
            }
            Self::Hanging { partition, producer, epoch } => {
                out.u8(2);
                out.partition(*partition);
                out.i64(producer.0);
                out.i32(epoch.0.into());
            }
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        match from.u8()? {
            0 => Ok(Self::TimedOut { producer: TransactionalProducer::read(from)?, started: TimestampMs(from.i64()?) }),
            1 => Ok(Self::Unused { transactional_id: TransactionalId::new(&from.text()?), unused_ms: from.i64()? }),
            2 => Ok(Self::Hanging {
                partition: from.partition()?,
                producer: ProducerId(from.i64()?),
                epoch: epoch(from)?,
            }),
            _ => Err(DecodeError::Malformed),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::TimedOut { producer, .. } => producer.bytes() + 9,
            Self::Unused { transactional_id, .. } => transactional_id.as_str().len() + 13,
            Self::Hanging { .. } => 33,
        }
    }
}

fn epoch(from: &mut Reader) -> Result<ProducerEpoch, DecodeError> {
    Ok(ProducerEpoch(i16::try_from(from.i32()?).map_err(|_| DecodeError::Malformed)?))
}

fn flag(from: &mut Reader) -> Result<bool, DecodeError> {
    match from.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(DecodeError::Malformed),
    }
}
