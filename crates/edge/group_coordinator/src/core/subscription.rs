//! The one thing read out of members' metadata: which topics a consumer subscribes to.
//!
//! Format (Kafka's ConsumerProtocolSubscription, any version): `version: int16, topics: [string]`, lengths big-endian,
//! `int32` for the array and `int16` for a string; what follows depends on the version and holds what changes from join to
//! join without the subscription changing: owned partitions, generation, the assignor's own data.

use std::collections::BTreeSet;

const VERSION_BYTES: usize = 2;

/// Whether two subscriptions name the same topics, in any order. Metadata that can't be read compares as bytes.
pub(crate) fn same_topics(left: &[u8], right: &[u8]) -> bool {
    match (topics(left), topics(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

/// None for what can't be read.
pub(super) fn topics(metadata: &[u8]) -> Option<BTreeSet<&[u8]>> {
    let (count, mut rest) = metadata.get(VERSION_BYTES..)?.split_first_chunk::<4>()?;
    let count = u32::try_from(i32::from_be_bytes(*count)).ok()?;
    let mut topics = BTreeSet::new();
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<2>()?;
        let (topic, after) = after.split_at_checked(usize::try_from(i16::from_be_bytes(*length)).ok()?)?;
        topics.insert(topic);
        rest = after;
    }
    Some(topics)
}

#[cfg(test)]
mod tests;
