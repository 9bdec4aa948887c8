//! Give an idempotent producer its id.

use daybook_types::{ProducerEpoch, ProducerId};

/// A producer id never given before, epoch 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocateProducerId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdAllocated {
    pub id: ProducerId,
    pub epoch: ProducerEpoch,
}
