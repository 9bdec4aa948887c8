//! What is kept of one transactional id.

use std::collections::BTreeSet;

use daybook_types::{GroupId, PartitionId, ProducerEpoch, ProducerId, TimestampMs};

/// A transactional id's producer, and what it is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transactional {
    pub producer: ProducerId,
    pub epoch: ProducerEpoch,
    /// Whose id it had before its epochs ran out; `NONE` if they never did.
    pub(crate) previous_producer: ProducerId,
    /// The epoch before the current one, where the one who has it may ask again for the current one (KIP-360).
    pub(crate) previous_epoch: ProducerEpoch,
    pub timeout_ms: i32,
    pub phase: Phase,
    /// When anything last happened to it.
    pub updated: TimestampMs,
}

/// Between its transactions, or in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Initialised, and no transaction since.
    Empty,
    Ongoing(Open),
    Committed,
    Aborted,
}

/// An open transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    pub started: TimestampMs,
    pub partitions: BTreeSet<PartitionId>,
    pub groups: BTreeSet<GroupId>,
}

impl Transactional {
    pub fn open(&self) -> Option<&Open> {
        match &self.phase {
            Phase::Ongoing(open) => Some(open),
            Phase::Empty | Phase::Committed | Phase::Aborted => None,
        }
    }

    /// From when on the open transaction may be aborted without its producer.
    pub fn deadline(&self) -> Option<TimestampMs> {
        self.open().map(|open| TimestampMs(open.started.0.saturating_add(self.timeout_ms.into())))
    }

    /// The last epochs are for markers, as in Kafka: a producer's own ends two before the largest number.
    pub(crate) fn is_exhausted(&self) -> bool {
        is_exhausted(self.epoch)
    }
}

pub(crate) fn is_exhausted(epoch: ProducerEpoch) -> bool {
    epoch.0 >= i16::MAX - 1
}

impl Phase {
    /// Kafka's word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing(_) => "Ongoing",
            Self::Committed => "CompleteCommit",
            Self::Aborted => "CompleteAbort",
        }
    }
}

impl Open {
    pub(crate) fn at(time: TimestampMs) -> Self {
        Self { started: time, partitions: BTreeSet::new(), groups: BTreeSet::new() }
    }
}
