use proptest::prelude::*;

use super::*;

fn log_id() -> impl Strategy<Value = Option<LogId>> {
    prop::option::of((any::<u64>(), 0..u64::MAX).prop_map(|(term, lsn)| (Term(term), Lsn(lsn))))
}

prop_compose! {
    fn segment_header()(
        capacity in 112_u32..,
        seqs in (1..u64::MAX).prop_flat_map(|first| (Just(first), 0..first)),
        before in log_id(),
        first_lsn in any::<u64>(),
        prev in any::<u32>(),
    ) -> SegmentHeader {
        SegmentHeader {
            capacity, first_seq: Seq(seqs.0), synced: Seq(seqs.1), before, first_lsn: Lsn(first_lsn), prev,
        }
    }
}

prop_compose! {
    fn record_header()(
        what in prop::sample::select(vec![What::Entry, What::Truncate, What::Purge, What::Mark]),
        kind in any::<u8>(),
        prev in any::<u32>(),
        seq in any::<u64>(),
        synced in any::<u64>(),
        log_id in log_id(),
    ) -> RecordHeader {
        RecordHeader { crc: 0, payload_bytes: 0, prev, what, kind, seq: Seq(seq), synced: Seq(synced), log_id }
    }
}

proptest! {
    #[test]
    fn segment_headers_round_trip(header in segment_header()) {
        let (bytes, seed) = header.encode();
        let (decoded, decoded_seed) = SegmentHeader::decode(&bytes).unwrap();
        prop_assert_eq!(decoded, header);
        prop_assert_eq!(finish(&decoded_seed.digest()), finish(&seed.digest()));
    }

    #[test]
    fn a_flipped_bit_spoils_a_segment_header(header in segment_header(), bit in 0..64 * 8_usize) {
        let (mut bytes, _) = header.encode();
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(SegmentHeader::decode(&bytes).unwrap_err(), HeaderFault::Damaged);
    }

    #[test]
    fn records_round_trip_and_a_flipped_bit_spoils_them(
        segment in segment_header(),
        mut header in record_header(),
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..4),
        place in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let (_, seed) = segment.encode();
        let parts: Vec<Bytes> = parts.into_iter().map(Bytes::from).collect();
        header.payload_bytes = parts.iter().map(|part| part.len() as u32).sum();
        let mut bytes = header.encode(&seed, &parts).to_vec();
        for part in &parts {
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(padding(header.payload_bytes));
        prop_assert_eq!(bytes.len() as u64, header.record_bytes());
        prop_assert_eq!(bytes.len() % 8, 0);
        prop_assert_eq!(crate::reader::whole_record(&bytes, &seed), Some(header));

        let at = place.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert_eq!(crate::reader::whole_record(&bytes, &seed), None);
    }

    #[test]
    fn a_record_of_one_segment_is_none_in_another(
        one in segment_header(), other in segment_header(), mut header in record_header(),
    ) {
        prop_assume!(one != other);
        let bytes = header.encode(&one.encode().1, &[]);
        prop_assert_eq!(crate::reader::whole_record(&bytes, &other.encode().1), None);
    }
}

/// The first bytes of a log as version 1 writes them: what is on users' disks.
#[test]
fn version_1_stays_as_it_is() {
    let segment = SegmentHeader {
        capacity: 4096,
        first_seq: Seq(8),
        synced: Seq(6),
        before: Some((Term(3), Lsn(41))),
        first_lsn: Lsn(42),
        prev: 0x0102_0304,
    };
    let (bytes, seed) = segment.encode();
    assert_eq!(
        hex(&bytes[..60]),
        "646179626b57414c010000000010000008000000000000000600000000000000030000000000000029000000000000002a0000000000000004030201"
    );
    let crc = crc_fast::crc32_iscsi(&bytes[..60]);
    assert_eq!(bytes[60..], crc.to_le_bytes());

    let mut header = RecordHeader {
        crc: 0,
        payload_bytes: 3,
        prev: 0x0102_0304,
        what: What::Entry,
        kind: 9,
        seq: Seq(8),
        synced: Seq(7),
        log_id: Some((Term(3), Lsn(42))),
    };
    let record = header.encode(&seed, &[Bytes::from_static(b"abc")]);
    assert_eq!(
        hex(&record[4..]),
        "03000000040302010109000008000000000000000700000000000000".to_owned() + "03000000000000002a00000000000000"
    );
    let covered = [&crc.to_le_bytes()[..], &record[4..], b"abc", &[0; 5]].concat();
    assert_eq!(record[..4], crc_fast::crc32_iscsi(&covered).to_le_bytes());

    let mut none = RecordHeader { what: What::Truncate, kind: 0, payload_bytes: 0, log_id: None, ..header };
    assert_eq!(none.encode(&seed, &[])[12], 2);
    assert_eq!(hex(&none.encode(&seed, &[])[32..]), "0000000000000000ffffffffffffffff");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
