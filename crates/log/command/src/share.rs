//! What a share group (KIP-932) has kept of each partition, and the configs of groups.

use daybook_types::{GroupId, Offset, PartitionId};
use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};

/// Keeps how far a share group has come in a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutSharePartition {
    pub group: GroupId,
    pub partition: PartitionId,
    /// The state epoch that must be kept now; none: nothing may be kept yet.
    pub only_if: Option<i32>,
    pub state: SharePartitionState,
}

/// A share-partition as it survives: everything below `start` is done with; of what follows, only what differs from
/// "never delivered" is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharePartitionState {
    /// Counts up when an administrator sets the start; within one epoch the start never falls.
    pub epoch: i32,
    pub start: Offset,
    /// Ascending, not overlapping, not below `start`.
    pub runs: Vec<ShareRun>,
}

/// Consecutive records, both ends included, that are in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareRun {
    pub first: Offset,
    pub last: Offset,
    /// Accepted, rejected, delivered too often, or gone: nobody gets it any more.
    pub is_done: bool,
    /// How often it was delivered.
    pub deliveries: u16,
}

/// Forgets what a share group has kept: of some partitions, or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteShareState {
    pub group: GroupId,
    /// None: all.
    pub partitions: Option<Vec<PartitionId>>,
}

/// Sets configs of a group, of whatever kind it is or will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterGroupConfigs {
    pub group: GroupId,
    /// By name: the new value, or none to return to the default.
    pub changes: Vec<(String, Option<String>)>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ShareRefusal {
    #[error("partition {partition} does not exist")]
    UnknownPartition { partition: PartitionId },
    #[error("share group {group} has state epoch {kept:?} for the partition, not {expected:?}; look again")]
    Fenced { group: GroupId, expected: Option<i32>, kept: Option<i32> },
    #[error("share group {group} is at offset {kept} of the partition and can't go back to {asked} in one state epoch")]
    Backwards { group: GroupId, kept: Offset, asked: Offset },
    #[error("share group {group} has kept nothing")]
    UnknownGroup { group: GroupId },
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum GroupConfigsRefusal {
    #[error("{max} groups have configs already, which is as many as may; return some to their defaults first")]
    TooManyGroups { max: usize },
}

impl PutSharePartition {
    const HEAD_BYTES: usize = 60;
    const RUN_BYTES: usize = 19;

    pub(crate) fn bytes(&self) -> usize {
        Self::HEAD_BYTES + self.group.as_str().len() + self.state.runs.len() * Self::RUN_BYTES
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(self.group.as_str());
        out.partition(self.partition);
        out.u8(self.only_if.is_some().into());
        out.i32(self.only_if.unwrap_or_default());
        out.i32(self.state.epoch);
        out.i64(self.state.start.0);
        out.count(self.state.runs.len());
        for run in &self.state.runs {
            out.i64(run.first.0);
            out.i64(run.last.0);
            out.u8(run.is_done.into());
            out.u32(run.deliveries.into());
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        let group = GroupId::new(&from.text()?);
        let partition = from.partition()?;
        let is_expected = flag(from)?;
        let epoch = from.i32()?;
        let only_if = is_expected.then_some(epoch);
        let (epoch, start) = (from.i32()?, Offset(from.i64()?));
        let runs = from.list(|from| {
            Ok(ShareRun {
                first: Offset(from.i64()?),
                last: Offset(from.i64()?),
                is_done: flag(from)?,
                deliveries: u16::try_from(from.u32()?).map_err(|_| DecodeError::Malformed)?,
            })
        })?;
        Ok(Self { group, partition, only_if, state: SharePartitionState { epoch, start, runs } })
    }
}

impl DeleteShareState {
    pub(crate) fn bytes(&self) -> usize {
        self.group.as_str().len() + self.partitions.as_ref().map_or(0, Vec::len) * 20
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(self.group.as_str());
        out.u8(self.partitions.is_some().into());
        let partitions = self.partitions.as_deref().unwrap_or_default();
        out.count(partitions.len());
        partitions.iter().for_each(|partition| out.partition(*partition));
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        let group = GroupId::new(&from.text()?);
        let names_some = flag(from)?;
        let partitions = from.list(Reader::partition)?;
        match (names_some, partitions.is_empty()) {
            (true, _) => Ok(Self { group, partitions: Some(partitions) }),
            (false, true) => Ok(Self { group, partitions: None }),
            (false, false) => Err(DecodeError::Malformed),
        }
    }
}

impl AlterGroupConfigs {
    pub(crate) fn bytes(&self) -> usize {
        let change = |(name, value): &(String, Option<String>)| name.len() + value.as_ref().map_or(0, String::len);
        self.group.as_str().len() + self.changes.iter().map(change).sum::<usize>()
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(self.group.as_str());
        out.count(self.changes.len());
        for (name, value) in &self.changes {
            out.text(name);
            out.optional_text(value.as_deref());
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        let group = GroupId::new(&from.text()?);
        let changes = from.list(|from| Ok((from.text()?, from.optional_text()?)))?;
        Ok(Self { group, changes })
    }
}

fn flag(from: &mut Reader) -> Result<bool, DecodeError> {
    match from.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(DecodeError::Malformed),
    }
}
