use bytes::Bytes;
use daybook_types::{Offset, TimestampMs};
use proptest::prelude::*;

use crate::builder::tests::{any_compression, any_records, build};
use crate::{
    BatchBuilder, Compression, TimestampType, check, latest_record, offset_for_timestamp, records, verify,
    with_log_append_time, with_max_timestamp,
};

fn batch(compression: Compression) -> Bytes {
    let mut builder = BatchBuilder::new(compression).base_offset(Offset(10));
    for at in [50, 40, 60, 60] {
        builder.push(TimestampMs(at), None, Some(b"value"), &[]);
    }
    builder.build().unwrap()
}

#[test]
fn the_logs_own_time_replaces_that_of_all_records() {
    for compression in Compression::ALL {
        let before = batch(compression);
        let after = with_log_append_time(&before, TimestampMs(99));
        let (was, is) = (verify(&before).unwrap(), check(&after).unwrap());
        assert_eq!((is.timestamp_type(), is.max_timestamp), (TimestampType::LogAppendTime, TimestampMs(99)));
        assert_eq!((is.base_timestamp, is.compression()), (was.base_timestamp, compression));
        assert!(records(&after).unwrap().all(|record| record.unwrap().timestamp == TimestampMs(99)));
        assert_eq!(offset_for_timestamp(&after, TimestampMs(99), Offset(0)), Ok(Some((Offset(10), TimestampMs(99)))));
        assert_eq!(offset_for_timestamp(&after, TimestampMs(100), Offset(0)), Ok(None));
    }
}

#[test]
fn a_wrong_largest_timestamp_is_corrected() {
    let wrong = with_max_timestamp(&batch(Compression::Gzip), TimestampMs(-1));
    assert_eq!(check(&wrong).unwrap().max_timestamp, TimestampMs(-1));
    assert_eq!(with_max_timestamp(&wrong, TimestampMs(60)), batch(Compression::Gzip));
}

#[test]
fn what_is_no_batch_stays_as_it_is() {
    let bytes = Bytes::from_static(b"no batch");
    assert_eq!(with_log_append_time(&bytes, TimestampMs(1)), bytes);
}

#[test]
fn the_first_record_late_enough_is_found() {
    for compression in Compression::ALL {
        let find = |at, from| offset_for_timestamp(&batch(compression), TimestampMs(at), Offset(from)).unwrap();
        assert_eq!(find(0, 0), Some((Offset(10), TimestampMs(50))));
        assert_eq!(find(51, 0), Some((Offset(12), TimestampMs(60))));
        assert_eq!(find(0, 11), Some((Offset(11), TimestampMs(40))));
        assert_eq!(find(60, 13), Some((Offset(13), TimestampMs(60))));
        assert_eq!(find(61, 0), None);
        assert_eq!(latest_record(&batch(compression)), Ok(Some((Offset(12), TimestampMs(60)))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn look_ups_agree_with_reading_everything(of in any_records(), compression in any_compression(), at: i64, from in 0..12_i64) {
        let batch = build(compression, &of);
        let at = TimestampMs(at);
        let first = of.iter().find(|r| r.timestamp >= at && r.offset.0 >= from).map(|r| (r.offset, r.timestamp));
        prop_assert_eq!(offset_for_timestamp(&batch, at, Offset(from)).unwrap(), first);
        let latest = of.iter().map(|record| record.timestamp).max();
        let latest = of.iter().find(|record| Some(record.timestamp) == latest).map(|r| (r.offset, r.timestamp));
        prop_assert_eq!(latest_record(&batch).unwrap(), latest);
    }
}
