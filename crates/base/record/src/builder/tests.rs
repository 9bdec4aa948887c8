use bytes::Bytes;
use daybook_types::{Offset, ProducerEpoch, ProducerId, TimestampMs};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::{
    BatchBuilder, BatchError, Compression, RECORDS_BYTES_MAX, Record, RecordHeader, check, check_records, records,
};

fn piece() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        4 => vec(any::<u8>(), 0..40).prop_map(Bytes::from),
        // Compressible, and larger than a snappy block.
        1 => (any::<u8>(), 0..80_000_usize).prop_map(|(byte, count)| Bytes::from(vec![byte; count])),
    ]
}

fn header() -> impl Strategy<Value = RecordHeader> {
    (vec(any::<u8>(), 0..4).prop_map(Bytes::from), option::of(piece()))
}

pub(crate) fn any_records() -> impl Strategy<Value = Vec<Record>> {
    let timestamp = prop_oneof![4 => 0..2_000_000_000_000_i64, 1 => Just(-1), 1 => any::<i64>()].prop_map(TimestampMs);
    let record = (timestamp, option::of(piece()), option::of(piece()), vec(header(), 0..4));
    vec(record, 1..12).prop_map(|records| {
        let numbered = records.into_iter().zip(0..);
        numbered
            .map(|((timestamp, key, value, headers), offset)| Record {
                offset: Offset(offset),
                timestamp,
                key,
                value,
                headers,
            })
            .collect()
    })
}

pub(crate) fn any_compression() -> impl Strategy<Value = Compression> {
    prop::sample::select(Compression::ALL.to_vec())
}

pub(crate) fn build(compression: Compression, of: &[Record]) -> Bytes {
    let mut builder = BatchBuilder::new(compression);
    for record in of {
        builder.push_record(record);
    }
    builder.build().expect("small and not empty")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn records_survive_the_round_trip(expected in any_records(), compression in any_compression()) {
        let batch = build(compression, &expected);
        let found: Vec<_> = records(&batch).unwrap().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(&found, &expected);

        let checked = check_records(&batch, RECORDS_BYTES_MAX).unwrap();
        let without_key: Vec<_> = (0..).zip(&expected).filter(|(_, record)| record.key.is_none()).map(|at| at.0).collect();
        prop_assert_eq!(&checked.without_key, &without_key);
        prop_assert_eq!(checked.min_timestamp, expected.iter().map(|record| record.timestamp).min().unwrap());
        prop_assert_eq!(checked.max_timestamp, expected.iter().map(|record| record.timestamp).max().unwrap());
        prop_assert!(check_records(&batch, checked.records_bytes - 1).is_err());
        prop_assert_eq!(check_records(&batch, checked.records_bytes).unwrap(), checked);
    }
}

#[test]
fn what_was_set_is_in_the_header() {
    let mut builder = BatchBuilder::new(Compression::Zstd)
        .base_offset(Offset(7))
        .producer(ProducerId(5), ProducerEpoch(2), i32::MAX)
        .transactional(true);
    builder.push(TimestampMs(20), None, None, &[]).push(TimestampMs(10), None, None, &[]);
    let header = check(&builder.build().unwrap()).unwrap();
    assert_eq!((header.base_offset, header.last_offset(), header.next_offset()), (Offset(7), Offset(8), Offset(9)));
    assert_eq!((header.producer_id, header.producer_epoch), (ProducerId(5), ProducerEpoch(2)));
    assert_eq!((header.base_sequence, header.last_sequence()), (i32::MAX, 0));
    assert_eq!((header.base_timestamp, header.max_timestamp), (TimestampMs(20), TimestampMs(20)));
    assert_eq!(header.compression(), Compression::Zstd);
    assert!(header.is_transactional() && !header.is_control());
}

#[test]
fn a_batch_without_records_is_refused() {
    assert_eq!(BatchBuilder::new(Compression::None).build(), Err(BatchError::Empty));
}
