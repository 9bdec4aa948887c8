use bytes::Bytes;
use daybook_types::{Offset, TimestampMs};

use crate::{BatchBuilder, BatchError, Compression, HEADER_BYTES, RecordHeader, records};

fn bytes(text: &'static str) -> Bytes {
    Bytes::from(text)
}

#[test]
fn null_and_empty_are_different_and_headers_keep_order_and_duplicates() {
    let headers: Vec<RecordHeader> =
        vec![(bytes("a"), Some(bytes("1"))), (bytes("b"), None), (bytes("a"), Some(bytes(""))), (bytes(""), None)];
    for compression in Compression::ALL {
        let mut builder = BatchBuilder::new(compression).base_offset(Offset(100));
        builder.push(TimestampMs(1), None, Some(b""), &headers).push(TimestampMs(0), Some(b""), None, &[]);
        let batch = builder.build().unwrap();
        let found: Vec<_> = records(&batch).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!((found[0].offset, found[1].offset), (Offset(100), Offset(101)));
        assert_eq!((found[0].timestamp, found[1].timestamp), (TimestampMs(1), TimestampMs(0)));
        assert_eq!((found[0].key.as_deref(), found[0].value.as_deref()), (None, Some(&b""[..])));
        assert_eq!((found[1].key.as_deref(), found[1].value.as_deref()), (Some(&b""[..]), None));
        assert_eq!(found[0].headers, headers);
    }
}

#[test]
fn uncompressed_records_are_slices_of_their_batch() {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(TimestampMs(0), None, Some(b"a value"), &[]);
    let batch = builder.build().unwrap();
    let value = records(&batch).unwrap().next().unwrap().unwrap().value.unwrap();
    assert!(batch.as_ptr_range().contains(&value.as_ptr()));
}

#[test]
fn half_a_batch_is_no_records() {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(TimestampMs(0), None, Some(b"a value"), &[]);
    let batch = builder.build().unwrap();
    let (have, need) = (batch.len() - 1, batch.len());
    assert_eq!(records(&batch.slice(..have)).err(), Some(BatchError::Truncated { have, need }));
}

#[test]
fn skipping_comes_to_the_same_record_as_reading() {
    for compression in Compression::ALL {
        let mut builder = BatchBuilder::new(compression);
        for number in 0..50_usize {
            let value = vec![b'v'; number * 7];
            builder.push(TimestampMs(number as i64), Some(b"key"), Some(&value), &[(bytes("h"), Some(bytes("1")))]);
        }
        let batch = builder.build().unwrap();
        let all = || records(&batch).unwrap().based_at(Offset(1000));
        let read: Vec<_> = all().map(Result::unwrap).collect();
        for from in [0, 1, 25, 49] {
            let mut skipped = all();
            skipped.skip_to(Offset(1000 + from)).unwrap();
            let left: Vec<_> = skipped.map(Result::unwrap).collect();
            assert_eq!(left, read[from as usize..]);
        }
        let mut skipped = all();
        skipped.skip_to(Offset(1050)).unwrap();
        assert_eq!(skipped.next(), None);
    }
}

#[test]
fn skipping_over_damage_is_an_error_and_ends_the_records() {
    let mut builder = BatchBuilder::new(Compression::None);
    for _ in 0..3 {
        builder.push(TimestampMs(0), None, Some(b"a value"), &[]);
    }
    let batch = builder.build().unwrap();
    // A length of minus one, one of next to nothing, and one beyond the end.
    for length in [0x01, 0x02, 0x7e] {
        let mut damaged = batch.to_vec();
        damaged[HEADER_BYTES] = length;
        let mut skipped = records(&Bytes::from(damaged)).unwrap();
        assert!(matches!(skipped.skip_to(Offset(2)), Err(BatchError::Record { index: 0, .. })), "{length}");
        assert_eq!(skipped.next(), None);
    }
}
