//! Values of the index store.

use std::fmt::Debug;

use bytes::Bytes;
use daybook_catalog::Topic;
use daybook_consumer_group::{decode_offset, encode_offset};
use daybook_partition::{ProducerWindow, StoredPartition};
use daybook_segment::FileEnds;
use daybook_types::TopicId;

use crate::Verdict;

/// Which value: the first byte of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StoredKind {
    Topic = 0,
    Partition = 1,
    ProducerWindow = 2,
    CommittedOffset = 3,
    FileEnds = 4,
}

/// What was decoded is decoded again from what it is encoded to.
pub fn stored(bytes: &[u8]) -> Verdict {
    let Some((&kind, value)) = bytes.split_first() else { return Verdict::Refused };
    let value = Bytes::copy_from_slice(value);
    match kind {
        0 => round_trip(value, |value| Topic::decode(TopicId::default(), value), Topic::encode),
        1 => round_trip(value, StoredPartition::decode, StoredPartition::encode),
        2 => round_trip(value, ProducerWindow::decode, ProducerWindow::encode),
        3 => round_trip(value, decode_offset, |(offset, protocol_type)| encode_offset(offset, protocol_type)),
        4 => round_trip(value, |value| FileEnds::decode(&value), |ends| ends.encode().into()),
        _ => Verdict::Refused,
    }
}

fn round_trip<T, E>(value: Bytes, decode: impl Fn(Bytes) -> Result<T, E>, encode: impl Fn(&T) -> Bytes) -> Verdict
where
    T: Debug + PartialEq,
    E: Debug,
{
    let decoded = decode(value);
    if let Ok(decoded) = &decoded {
        let again = decode(encode(decoded)).expect("what was encoded here can be decoded");
        assert_eq!(&again, decoded, "a value survives encoding");
    }
    Verdict::of(&decoded)
}
