//! Keep and drop the offsets of consumer groups.

use daybook_types::{GroupId, Offset, PartitionId, TimestampMs};
use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitOffsets {
    pub group: GroupId,
    /// `consumer`, `connect`, …; empty for a commit without membership.
    pub protocol_type: String,
    pub offsets: Vec<OffsetToCommit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetToCommit {
    pub partition: PartitionId,
    pub offset: Offset,
    /// -1 where the client named none.
    pub leader_epoch: i32,
    pub metadata: String,
}

/// What a group has committed for a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    pub offset: Offset,
    /// -1 where the client named none.
    pub leader_epoch: i32,
    pub metadata: String,
    /// When the log took it.
    pub committed_at: TimestampMs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteGroup {
    pub group: GroupId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteOffsets {
    pub group: GroupId,
    pub partitions: Vec<PartitionId>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GroupRefusal {
    #[error("group {group} has committed nothing")]
    Unknown { group: GroupId },
}

impl OffsetToCommit {
    /// What is kept of it when the log takes it.
    pub fn committed_at(&self, time: TimestampMs) -> CommittedOffset {
        CommittedOffset {
            offset: self.offset,
            leader_epoch: self.leader_epoch,
            metadata: self.metadata.clone(),
            committed_at: time,
        }
    }
}

impl CommitOffsets {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(self.group.as_str());
        out.text(&self.protocol_type);
        out.count(self.offsets.len());
        for offset in &self.offsets {
            out.partition(offset.partition);
            out.i64(offset.offset.0);
            out.i32(offset.leader_epoch);
            out.text(&offset.metadata);
        }
    }

    /// About how many bytes it takes in an entry.
    pub(crate) fn bytes(&self) -> usize {
        self.offsets.iter().map(|offset| offset.metadata.len() + 40).sum()
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            group: GroupId::new(&from.text()?),
            protocol_type: from.text()?,
            offsets: from.list(|from| {
                Ok(OffsetToCommit {
                    partition: from.partition()?,
                    offset: Offset(from.i64()?),
                    leader_epoch: from.i32()?,
                    metadata: from.text()?,
                })
            })?,
        })
    }
}

impl DeleteGroup {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(self.group.as_str());
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self { group: GroupId::new(&from.text()?) })
    }
}

impl DeleteOffsets {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(self.group.as_str());
        out.count(self.partitions.len());
        for partition in &self.partitions {
            out.partition(*partition);
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self { group: GroupId::new(&from.text()?), partitions: from.list(Reader::partition)? })
    }
}
