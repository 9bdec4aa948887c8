//! What the end of a transaction asks of partitions and groups.

use std::collections::BTreeSet;

use daybook_types::{GroupId, PartitionId, ProducerEpoch, ProducerId};

/// To be done in the apply that ended the transaction, or it would be half ended.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub producer: ProducerId,
    /// The epoch of the markers: older ones are fenced by them.
    pub epoch: ProducerEpoch,
    pub commits: bool,
    /// Each gets a marker, whether it has records of the transaction or not.
    pub partitions: BTreeSet<PartitionId>,
    /// Each may have offsets that wait for this end.
    pub groups: BTreeSet<GroupId>,
}
