use daybook_types::{LeaderEpoch, Offset, TimestampMs};
use proptest::prelude::*;

use crate::{
    Attributes, BatchBuilder, BatchError, BatchHeader, Compression, HEADER_BYTES, NO_SEQUENCE, sequence_plus, stamp,
    verify,
};

fn batch() -> Vec<u8> {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(TimestampMs(5), Some(b"key"), Some(b"value"), &[]);
    builder.build().unwrap().to_vec()
}

/// The header of a batch that Kafka's own documentation would draw: one record, key and value, no producer id.
#[test]
fn the_bytes_are_kafkas() {
    let expected = [
        &[0, 0, 0, 0, 0, 0, 0, 0][..],                        // base offset
        &[0, 0, 0, 64],                                       // bytes from the leader epoch on
        &[0xff, 0xff, 0xff, 0xff],                            // leader epoch
        &[2],                                                 // magic
        &crc_fast::crc32_iscsi(&batch()[21..]).to_be_bytes(), // CRC from the attributes on
        &[0, 0],                                              // attributes
        &[0, 0, 0, 0],                                        // last offset delta
        &[0, 0, 0, 0, 0, 0, 0, 5],                            // base timestamp
        &[0, 0, 0, 0, 0, 0, 0, 5],                            // largest timestamp
        &[0xff; 8],                                           // producer id
        &[0xff; 2],                                           // producer epoch
        &[0xff; 4],                                           // base sequence
        &[0, 0, 0, 1],                                        // record count
        &[28, 0, 0, 0, 6], // length 14, attributes, timestamp and offset delta, key of 3
        b"key",
        &[10],
        b"value",
        &[0],
    ];
    assert_eq!(batch(), expected.concat());
}

/// CRC32C's check value, so that a change of library can't change the polynomial.
#[test]
fn the_checksum_is_crc32c() {
    assert_eq!(crc_fast::crc32_iscsi(b"123456789"), 0xe306_9283);
}

#[test]
fn a_stamp_changes_offset_and_epoch_and_nothing_else() {
    let mut bytes = batch();
    let before = verify(&bytes).unwrap();
    let stamp = stamp(Offset(42), LeaderEpoch(7), bytes.len());
    bytes[..16].copy_from_slice(&stamp);
    let after = verify(&bytes).unwrap();
    assert_eq!(after, BatchHeader { base_offset: Offset(42), leader_epoch: LeaderEpoch(7), ..before });
    assert_eq!(after.to_bytes(), bytes[..HEADER_BYTES]);
}

#[test]
fn what_is_no_header_is_refused() {
    let bytes = batch();
    let change = |at: usize, to: &[u8]| {
        let mut changed = bytes.clone();
        changed[at..at + to.len()].copy_from_slice(to);
        BatchHeader::read(&changed)
    };
    for short in 0..HEADER_BYTES {
        let expected = BatchError::Truncated { have: short, need: HEADER_BYTES };
        assert_eq!(BatchHeader::read(&bytes[..short]), Err(expected));
    }
    assert_eq!(change(16, &[1]), Err(BatchError::Magic { magic: 1 }));
    assert_eq!(change(8, &(-1_i32).to_be_bytes()), Err(BatchError::Length { length: -1 }));
    assert_eq!(change(8, &48_i32.to_be_bytes()), Err(BatchError::Length { length: 48 }));
    assert_eq!(change(21, &[0, 5]), Err(BatchError::UnknownCompression { code: 5 }));
    assert_eq!(change(23, &(-1_i32).to_be_bytes()), Err(BatchError::RecordCount { count: 1, last_offset_delta: -1 }));
    assert!(change(8, &49_i32.to_be_bytes()).is_ok());
}

/// A message of the old formats names its magic at the same place, however short it is.
#[test]
fn an_old_message_is_named_as_such() {
    let mut old = vec![0; 26];
    old[11] = 14;
    assert_eq!(BatchHeader::read(&old), Err(BatchError::Magic { magic: 0 }));
}

#[test]
fn sequences_wrap_to_zero() {
    assert_eq!(sequence_plus(i32::MAX, 1), 0);
    assert_eq!(sequence_plus(i32::MAX - 1, 4), 2);
    assert_eq!(sequence_plus(0, i32::MAX), i32::MAX);
    assert_eq!(BatchHeader::read(&batch()).unwrap().last_sequence(), NO_SEQUENCE);
}

proptest! {
    #[test]
    fn any_bytes_are_a_header_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(header) = BatchHeader::read(&bytes) {
            // None of these may overflow, whatever the fields.
            let _ = (header.next_offset(), header.last_sequence(), header.compression(), header.timestamp_type());
        }
    }

    #[test]
    fn a_header_round_trips(mut bytes in prop::collection::vec(any::<u8>(), HEADER_BYTES), length in 49..i32::MAX) {
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        bytes[16] = 2;
        bytes[22] &= 0b1111_1000 | 3;
        bytes[23] &= 0x7f;
        bytes[57] &= 0x7f;
        let header = BatchHeader::read(&bytes).unwrap();
        prop_assert_eq!(&header.to_bytes()[..], &bytes[..]);
        prop_assert_eq!(Attributes::from_wire(header.attributes.to_wire()), Ok(header.attributes));
    }
}
