//! Record batches, as a produce request or a segment file holds them.

use bytes::Bytes;
use daybook_record::{
    BatchHeader, batches, check, check_records, latest_record, offset_for_timestamp, records, verify,
    with_log_append_time, with_max_timestamp,
};
use daybook_types::{Offset, TimestampMs};

use crate::Verdict;

/// Keeps a compressed batch from costing seconds.
const DECOMPRESSED_BYTES_MAX: usize = 1024 * 1024;
const CRC_AT: usize = 17;
const CRC_FROM: usize = 21;

/// The same batches, read by the stream and read in memory, are the same records; a batch that is whole stays so when it is given a time.
pub fn record_batch(bytes: &[u8]) -> Verdict {
    let verdict = look(&Bytes::copy_from_slice(bytes));
    look(&sealed(bytes));
    verdict
}

/// The bytes with the right checksum in each batch.
fn sealed(bytes: &[u8]) -> Bytes {
    let mut sealed = bytes.to_vec();
    let mut at = 0;
    while let Ok(header) = BatchHeader::read(&sealed[at..]) {
        let Some(batch) = sealed.get_mut(at..at + header.batch_bytes) else { break };
        let crc = crc_fast::crc32_iscsi(&batch[CRC_FROM..]);
        batch[CRC_AT..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
        at += header.batch_bytes;
    }
    sealed.into()
}

fn look(bytes: &Bytes) -> Verdict {
    let mut verdict = Verdict::Refused;
    for batch in batches(bytes.clone()) {
        let Ok((header, batch)) = batch else { return Verdict::Refused };
        verdict = look_at(&header, &batch);
        if verdict == Verdict::Refused {
            return verdict;
        }
    }
    verdict
}

fn look_at(header: &BatchHeader, batch: &Bytes) -> Verdict {
    let is_whole = verify(batch).is_ok();
    let checked = check(batch);
    assert!(is_whole || checked.is_err(), "what may be written is whole");

    let walked = check_records(batch, DECOMPRESSED_BYTES_MAX);
    if let Ok(walked) = &walked {
        let read: Vec<_> = records(batch).expect("what was walked can be read").collect();
        assert_eq!(read.len(), header.record_count.unsigned_abs() as usize, "as many records as were walked");
        let timestamps: Vec<TimestampMs> =
            read.iter().map(|record| record.as_ref().expect("each record was walked").timestamp).collect();
        if let (Some(min), Some(max)) = (timestamps.iter().min(), timestamps.iter().max()) {
            assert_eq!((*min, *max), (walked.min_timestamp, walked.max_timestamp), "the same timestamps");
            let latest = latest_record(batch).expect("the records were walked");
            assert_eq!(latest.map(|(_, timestamp)| timestamp), Some(*max), "the latest is the largest");
            let found = offset_for_timestamp(batch, *max, Offset(i64::MIN)).expect("the records were walked");
            assert_eq!(found, latest, "the first of the latest is found by its time");
        }
    }
    for stamped in [with_log_append_time(batch, TimestampMs(1)), with_max_timestamp(batch, TimestampMs(2))] {
        assert_eq!(stamped.len(), batch.len(), "a time takes no room");
        assert!(!is_whole || verify(&stamped).is_ok(), "a whole batch stays whole");
    }
    if checked.is_ok() { Verdict::of(&walked) } else { Verdict::Refused }
}
