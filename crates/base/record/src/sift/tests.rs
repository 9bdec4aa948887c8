use bytes::Bytes;
use daybook_types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs};
use proptest::collection::vec;
use proptest::prelude::*;

use super::sift;
use crate::{BatchBuilder, BatchError, Compression, Record, TimestampType, records, verify, with_log_append_time};

fn all(batch: &Bytes) -> Vec<Record> {
    records(batch).unwrap().collect::<Result<_, _>>().unwrap()
}

fn codec() -> impl Strategy<Value = Compression> {
    prop::sample::select(Compression::ALL.to_vec())
}

proptest! {
    /// Whatever goes, what stays is as it was, and the batch stands where it stood.
    #[test]
    fn what_stays_is_unchanged(
        codec in codec(),
        rows in vec((any::<bool>(), vec(any::<u8>(), 0..80), 0..1000_i64), 1..30),
        is_log_time in any::<bool>(),
    ) {
        let mut builder = BatchBuilder::new(codec)
            .base_offset(Offset(77))
            .leader_epoch(LeaderEpoch(4))
            .producer(ProducerId(9), ProducerEpoch(2), 100);
        for (number, (_, value, timestamp)) in rows.iter().enumerate() {
            let key = [number as u8];
            let headers = [(Bytes::from_static(b"h"), Some(Bytes::copy_from_slice(&key)))];
            builder.push(TimestampMs(*timestamp), Some(&key), Some(value), &headers);
        }
        let mut batch = builder.build().unwrap();
        if is_log_time {
            batch = with_log_append_time(&batch, TimestampMs(5000));
        }
        let before = verify(&batch).unwrap();
        let expected: Vec<Record> =
            all(&batch).into_iter().zip(&rows).filter(|(_, row)| row.0).map(|(record, _)| record).collect();
        let mut asked = 0;
        let sifted = sift(&batch, |record| {
            assert_eq!(record.offset, Offset(77 + asked));
            asked += 1;
            Ok::<_, BatchError>(rows[asked as usize - 1].0)
        }).unwrap();
        prop_assert_eq!(asked as usize, rows.len());
        prop_assert_eq!(sifted.kept_records() as usize, expected.len());
        prop_assert_eq!(sifted.removed_records() as usize, rows.len() - expected.len());
        if expected.is_empty() {
            prop_assert_eq!(sifted.bytes_about(), 0);
            prop_assert_eq!(sifted.build(), Err(BatchError::Empty));
            return Ok(());
        }
        let left = sifted.build().unwrap();
        if codec == Compression::None {
            prop_assert_eq!(sifted.bytes_about(), left.len());
        }
        let after = verify(&left).unwrap();
        prop_assert_eq!(all(&left), expected.clone());
        let max_timestamp = match after.timestamp_type() {
            TimestampType::CreateTime => expected.iter().map(|record| record.timestamp).max().unwrap(),
            TimestampType::LogAppendTime => before.max_timestamp,
        };
        prop_assert_eq!(
            after,
            crate::BatchHeader {
                batch_bytes: left.len(),
                crc: after.crc,
                record_count: expected.len() as i32,
                max_timestamp,
                ..before
            }
        );
        // What went through once goes through again.
        let again = sift(&left, |_| Ok::<_, BatchError>(true)).unwrap();
        prop_assert_eq!(all(&again.build().unwrap()), expected);
    }

    #[test]
    fn any_bytes_are_sifted_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        let _ = sift(&Bytes::from(bytes), |_| Ok::<_, BatchError>(false));
    }
}

#[test]
fn an_error_of_the_judge_ends_it() {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(TimestampMs(1), None, Some(b"a"), &[]);
    let error = sift(&builder.build().unwrap(), |_| Err(BatchError::Empty)).unwrap_err();
    assert_eq!(error, BatchError::Empty);
}
