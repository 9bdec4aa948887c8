use bytes::Bytes;
use daybook_types::{FaultKind, ProducerEpoch, ProducerId, TimestampMs};
use proptest::prelude::*;

use crate::builder::tests::{any_compression, any_records, build};
use crate::header::set_crc;
use crate::{
    BatchBuilder, BatchError, BatchHeader, Compression, CrcCheck, RECORDS_BYTES_MAX, RecordFault, batches, check,
    check_records, latest_record, offset_for_timestamp, records, verify,
};

fn builder() -> BatchBuilder {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(TimestampMs(5), Some(b"a"), Some(b"1"), &[]);
    builder.push(TimestampMs(7), Some(b"b"), Some(b"2"), &[]);
    builder
}

/// A sound batch with `to` written over it at `at`, and the CRC made to fit.
fn changed(at: usize, to: &[u8]) -> Vec<u8> {
    let mut bytes = builder().build().unwrap().to_vec();
    bytes[at..at + to.len()].copy_from_slice(to);
    set_crc(&mut bytes);
    bytes
}

#[test]
fn what_a_client_may_not_write_is_refused() {
    check(&changed(0, &[])).unwrap();
    let count = |count, last_offset_delta| Err(BatchError::RecordCount { count, last_offset_delta });
    assert_eq!(check(&changed(57, &0_i32.to_be_bytes())), count(0, 1));
    assert_eq!(check(&changed(57, &3_i32.to_be_bytes())), count(3, 1));
    assert_eq!(check(&changed(23, &i32::MAX.to_be_bytes())), count(2, i32::MAX));
    assert_eq!(check(&changed(22, &[0b10_0000])), Err(BatchError::Control));
    let timestamp = TimestampMs(-2);
    assert_eq!(check(&changed(27, &timestamp.0.to_be_bytes())), Err(BatchError::Timestamp { timestamp }));
    assert_eq!(check(&changed(35, &timestamp.0.to_be_bytes())), Err(BatchError::Timestamp { timestamp }));
    let batch = builder().producer(ProducerId(1), ProducerEpoch(0), -1).build().unwrap();
    assert_eq!(check(&batch), Err(BatchError::Sequence { base_sequence: -1 }));
}

/// Some clients leave the largest timestamp at -1.
#[test]
fn a_largest_timestamp_below_the_first_is_let_pass() {
    check(&changed(35, &(-1_i64).to_be_bytes())).unwrap();
}

#[test]
fn what_brokers_and_compaction_make_is_verified() {
    verify(&changed(22, &[0b10_0000])).unwrap();
    verify(&changed(57, &1_i32.to_be_bytes())).unwrap();
}

#[test]
fn a_batch_is_exactly_as_long_as_it_says() {
    let batch = builder().build().unwrap();
    let (have, need) = (batch.len() - 1, batch.len());
    assert_eq!(verify(&batch[..have]), Err(BatchError::Truncated { have, need }));
    let longer = [&batch[..], &[0]].concat();
    assert_eq!(verify(&longer), Err(BatchError::Trailing { bytes: 1 }));
}

#[test]
fn any_flipped_bit_that_the_checksum_covers_is_found() {
    let batch = builder().build().unwrap();
    for at in 17..batch.len() {
        for bit in 0..8 {
            let mut damaged = batch.to_vec();
            damaged[at] ^= 1 << bit;
            assert!(verify(&damaged).is_err(), "bit {bit} of byte {at}");
        }
    }
    let mut damaged = batch.to_vec();
    damaged[70] ^= 1;
    assert_eq!(verify(&damaged).unwrap_err().kind(), FaultKind::Corrupt);
}

#[test]
fn a_batch_in_parts_has_the_same_checksum() {
    let batch = builder().build().unwrap();
    for size in [1, 7, 21, 22, 1000] {
        let mut crc = CrcCheck::new(&verify(&batch).unwrap());
        batch.chunks(size).for_each(|part| crc.update(part));
        assert_eq!(crc.finish(), Ok(()));
    }
    let mut crc = CrcCheck::new(&verify(&batch).unwrap());
    crc.update(&batch[..batch.len() - 1]);
    assert!(crc.finish().is_err());
}

#[test]
fn records_that_dont_add_up_are_refused() {
    let first = 61;
    let fault = |index, fault| Err(BatchError::Record { index, fault });
    let checked = |bytes: &[u8]| check_records(bytes, RECORDS_BYTES_MAX);
    // Each record is 10 bytes: length, attributes, two deltas, key length and key, value length and value, header count.
    assert_eq!(checked(&changed(first + 3, &[4])), fault(0, RecordFault::OffsetDelta { delta: 2 }));
    assert_eq!(checked(&changed(first, &[0x01])), fault(0, RecordFault::Length));
    assert_eq!(checked(&changed(first + 8, &[20])), fault(0, RecordFault::HeaderCount { count: 10 }));
    assert_eq!(checked(&changed(first + 8, &[1])), fault(0, RecordFault::HeaderCount { count: -1 }));
    assert_eq!(checked(&changed(first + 4, &[40])), fault(0, RecordFault::Length));
    assert_eq!(checked(&changed(57, &1_i32.to_be_bytes())), fault(1, RecordFault::Trailing));
    assert_eq!(checked(&changed(57, &3_i32.to_be_bytes())), fault(2, RecordFault::Truncated));
    assert_eq!(checked(&changed(first + 2, &[0x80; 16])), fault(0, RecordFault::Varint));
}

#[test]
fn a_zip_bomb_is_stopped_at_the_limit() {
    let zeros = vec![0; 40 * 1024 * 1024];
    for compression in [Compression::Gzip, Compression::Lz4, Compression::Zstd, Compression::Snappy] {
        let mut builder = BatchBuilder::new(compression);
        builder.push(TimestampMs(0), None, Some(&zeros), &[]);
        let bomb = builder.build().unwrap();
        assert!(bomb.len() < zeros.len() / 10, "{compression}: {}", bomb.len());
        let bytes_max = 1024 * 1024;
        assert_eq!(check_records(&bomb, bytes_max), Err(BatchError::TooLarge { bytes_max }), "{compression}");
        check_records(&bomb, RECORDS_BYTES_MAX).unwrap();
    }
}

#[test]
fn batches_are_split_where_they_end() {
    let one = builder().build().unwrap();
    let other = builder().producer(ProducerId(9), ProducerEpoch(0), 0).build().unwrap();
    let field = Bytes::from([&one[..], &other[..], &one[..one.len() - 1]].concat());
    let found: Vec<_> = batches(field.clone()).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].as_ref().unwrap().1, one);
    assert_eq!(found[1].as_ref().unwrap(), &(verify(&other).unwrap(), other));
    assert_eq!(found[2], Err(BatchError::Truncated { have: one.len() - 1, need: one.len() }));
    // No copy was made.
    assert_eq!(found[0].as_ref().unwrap().1.as_ptr(), field.as_ptr());
}

/// Reads a batch in every way there is; nothing may panic.
fn use_all(bytes: &Bytes) {
    let _ = verify(bytes);
    let _ = check(bytes);
    let _ = check_records(bytes, 1 << 20);
    let _ = offset_for_timestamp(bytes, TimestampMs(100), daybook_types::Offset(3));
    let _ = latest_record(bytes);
    let _ = batches(bytes.clone()).count();
    let _ = crate::with_log_append_time(bytes, TimestampMs(3));
    if let Ok(records) = records(bytes) {
        let _ = records.count();
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        use_all(&bytes.into());
    }

    /// A plausible header before arbitrary records reaches the codecs.
    #[test]
    fn no_records_make_a_panic(body in prop::collection::vec(any::<u8>(), 0..300), compression in any_compression(), count in 0..5_i32) {
        let mut bytes = vec![0; 61];
        bytes.extend(&body);
        let attributes = crate::Attributes::default().with_compression(compression);
        let header = BatchHeader { batch_bytes: bytes.len(), attributes, record_count: count, ..BatchHeader::read(&changed(0, &[])).unwrap() };
        bytes[..61].copy_from_slice(&header.to_bytes());
        set_crc(&mut bytes);
        use_all(&bytes.into());
    }

    #[test]
    fn no_damaged_batch_makes_a_panic(
        of in any_records(),
        compression in any_compression(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        cuts: bool,
    ) {
        let mut bytes = build(compression, &of).to_vec();
        for (at, byte) in damage {
            // Past the CRC, so that it can be made to fit.
            let at = 21 + at.index(bytes.len() - 21);
            bytes[at] = byte;
        }
        if cuts {
            bytes.truncate(61 + cut.index(bytes.len() - 60));
            let length = bytes.len() as i32 - 12;
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
        }
        set_crc(&mut bytes);
        use_all(&bytes.into());
    }
}
