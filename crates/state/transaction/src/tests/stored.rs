//! What a checkpoint keeps comes back, and damage is an error.

use bytes::Bytes;
use daybook_types::{GroupId, PartitionId, ProducerEpoch, ProducerId, TimestampMs};
use proptest::prelude::*;

use crate::{Open, Phase, StoredTransactionError, Transactional};

fn phases() -> impl Strategy<Value = Phase> {
    let open = (any::<i64>(), 0..3usize, proptest::collection::vec("[a-z]{0,5}", 0..3)).prop_map(
        |(started, partitions, groups)| {
            let partition =
                |index| PartitionId { index: daybook_types::PartitionIndex(index as i32), ..PartitionId::default() };
            Phase::Ongoing(Open {
                started: TimestampMs(started),
                partitions: (0..partitions).map(partition).collect(),
                groups: groups.iter().map(|name| GroupId::new(name)).collect(),
            })
        },
    );
    prop_oneof![Just(Phase::Empty), Just(Phase::Committed), Just(Phase::Aborted), open]
}

proptest! {
    #[test]
    fn what_is_encoded_comes_back(ids in any::<[i64; 3]>(), epochs in any::<[i16; 2]>(), timeout_ms in any::<i32>(), phase in phases()) {
        let kept = Transactional {
            producer: ProducerId(ids[0]),
            epoch: ProducerEpoch(epochs[0]),
            previous_producer: ProducerId(ids[1]),
            previous_epoch: ProducerEpoch(epochs[1]),
            timeout_ms,
            phase,
            updated: TimestampMs(ids[2]),
        };
        prop_assert_eq!(Transactional::decode(kept.encode()), Ok(kept.clone()));
        let whole = kept.encode();
        prop_assert_eq!(
            Transactional::decode(whole.slice(..whole.len() - 1)),
            Err(StoredTransactionError::Malformed)
        );
    }

    #[test]
    fn arbitrary_bytes_are_an_error_or_a_state(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = Transactional::decode(Bytes::from(bytes));
    }
}
