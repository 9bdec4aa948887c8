use daybook_types::{ProducerEpoch, ProducerId, TimestampMs};

use super::{Marker, MarkerKind};
use crate::{BatchBuilder, BatchError, Compression, check, verify};

fn marker(kind: MarkerKind) -> Marker {
    Marker { kind, producer_id: ProducerId(9), producer_epoch: ProducerEpoch(4), coordinator_epoch: 7 }
}

#[test]
fn a_marker_is_read_as_it_was_written() {
    for kind in [MarkerKind::Abort, MarkerKind::Commit] {
        let batch = marker(kind).to_batch(TimestampMs(1_000));
        assert_eq!(Marker::read(&batch).unwrap(), Some(marker(kind)));
        let header = verify(&batch).unwrap();
        assert!(header.is_control() && header.is_transactional());
        assert_eq!((header.record_count, header.base_sequence, header.max_timestamp), (1, -1, TimestampMs(1_000)));
        // No client may write one.
        assert_eq!(check(&batch), Err(BatchError::Control));
    }
}

/// Made by Apache Kafka's `MemoryRecords.withEndTransactionMarker`: what its consumers take for a marker.
#[test]
fn the_bytes_are_kafkas() {
    let batch = marker(MarkerKind::Commit).to_batch(TimestampMs(1_000));
    assert_eq!(batch.len(), 78);
    // Attributes: transactional and control.
    assert_eq!(batch[21..23], [0, 0x30]);
    // Length 16, no attributes, deltas 0 and 0, key of 4, value of 6, no headers.
    assert_eq!(batch[61..], [32, 0, 0, 0, 8, 0, 0, 0, 1, 12, 0, 0, 0, 0, 0, 7, 0]);
}

#[test]
fn other_batches_are_no_markers() {
    let mut plain = BatchBuilder::new(Compression::None).transactional(true);
    plain.push(TimestampMs(1), Some(&[0, 0, 0, 1]), Some(b"value"), &[]);
    assert_eq!(Marker::read(&plain.build().unwrap()).unwrap(), None);
    let mut unknown = BatchBuilder::new(Compression::None).transactional(true).control(true);
    unknown.push(TimestampMs(1), Some(&[0, 0, 0, 5]), Some(b"value"), &[]);
    assert_eq!(Marker::read(&unknown.build().unwrap()).unwrap(), None);
    let mut short = BatchBuilder::new(Compression::None).transactional(true).control(true);
    short.push(TimestampMs(1), Some(&[0, 0, 0]), None, &[]);
    assert_eq!(Marker::read(&short.build().unwrap()).unwrap(), None);
}
