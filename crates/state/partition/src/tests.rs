use std::collections::BTreeMap;

use bytes::Bytes;
use daybook_command::{AppendRefusal, CompactedTo, CompactionRefusal, TrimRefusal};
use daybook_record::{BatchBuilder, BatchHeader, Compression};
use daybook_types::{LeaderEpoch, Offset, PartitionId, ProducerEpoch, ProducerId, TimestampMs};
use proptest::prelude::*;

use crate::{
    AbortedIndex, Appearance, Circumstances, Compaction, Partition, PartitionChanges, ProducerWindow, StoredPartition,
};

mod transactions;

pub fn batch(producer: i64, epoch: i16, sequence: i32, count: usize) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None);
    if producer >= 0 {
        builder = builder.producer(ProducerId(producer), ProducerEpoch(epoch), sequence);
    }
    for number in 0..count {
        builder.push(TimestampMs(1_000 + number as i64), None, Some(b"value"), &[]);
    }
    builder.build().unwrap()
}

pub fn at(moment: u64) -> Circumstances {
    Circumstances { leader_epoch: LeaderEpoch(3), time: TimestampMs(5_000 + moment as i64), log_append_time: false }
}

fn append(partition: &mut Partition, batch: &Bytes) -> Result<i64, AppendRefusal> {
    partition.append(batch, at(9)).map(|(answer, _)| answer.base_offset.0)
}

#[test]
fn offsets_have_no_gaps() {
    let mut partition = Partition::create(PartitionId::default());
    assert_eq!(append(&mut partition, &batch(-1, 0, 0, 3)), Ok(0));
    assert_eq!(append(&mut partition, &batch(-1, 0, 0, 1)), Ok(3));
    assert_eq!(append(&mut partition, &batch(-1, 0, 0, 2)), Ok(4));
    partition.log().look(|tail| {
        assert_eq!((tail.start, tail.end), (Offset(0), Offset(6)));
        assert_eq!(tail.batch_at(Offset(3)), 1);
        assert_eq!(tail.batch_at(Offset(5)), 2);
        assert_eq!(tail.batch_at(Offset(6)), 3);
        let mut stored = tail.batches[1].bytes.to_vec();
        stored[..16].copy_from_slice(&tail.batches[1].head());
        let header = daybook_record::check(&stored).unwrap();
        assert_eq!((header.base_offset, header.leader_epoch), (Offset(3), LeaderEpoch(3)));
    });
}

#[test]
fn a_repeat_gets_the_first_answer_and_adds_nothing() {
    let mut partition = Partition::create(PartitionId::default());
    for sequence in 0..5 {
        assert_eq!(append(&mut partition, &batch(7, 0, sequence * 2, 2)), Ok(i64::from(sequence) * 2));
    }
    for sequence in 0..5 {
        assert_eq!(append(&mut partition, &batch(7, 0, sequence * 2, 2)), Ok(i64::from(sequence) * 2));
    }
    assert_eq!(partition.stored().end, Offset(10));
    assert_eq!(append(&mut partition, &batch(7, 0, 10, 1)), Ok(10));
    // Six batches ago is beyond the window.
    assert_eq!(
        append(&mut partition, &batch(7, 0, 0, 2)),
        Err(AppendRefusal::OutOfOrderSequence { sequence: 0, last: 10 })
    );
}

#[test]
fn a_gap_and_an_old_epoch_are_refused_and_a_new_epoch_begins_at_zero() {
    let mut partition = Partition::create(PartitionId::default());
    append(&mut partition, &batch(7, 1, 0, 2)).unwrap();
    assert_eq!(
        append(&mut partition, &batch(7, 1, 3, 1)),
        Err(AppendRefusal::OutOfOrderSequence { sequence: 3, last: 1 })
    );
    assert_eq!(append(&mut partition, &batch(7, 0, 2, 1)), Err(AppendRefusal::ProducerFenced { epoch: 0, current: 1 }));
    assert_eq!(
        append(&mut partition, &batch(7, 2, 2, 1)),
        Err(AppendRefusal::OutOfOrderSequence { sequence: 2, last: 1 })
    );
    assert_eq!(append(&mut partition, &batch(7, 2, 0, 1)), Ok(2));
    assert_eq!(append(&mut partition, &batch(7, 2, 1, 1)), Ok(3));
}

#[test]
fn an_unknown_producer_may_begin_anywhere_as_in_kafka() {
    let mut partition = Partition::create(PartitionId::default());
    assert_eq!(append(&mut partition, &batch(7, 4, 40, 1)), Ok(0));
    assert_eq!(append(&mut partition, &batch(7, 4, 41, 1)), Ok(1));
}

#[test]
fn sequence_numbers_go_round() {
    let mut partition = Partition::create(PartitionId::default());
    append(&mut partition, &batch(7, 0, i32::MAX - 1, 2)).unwrap();
    assert_eq!(append(&mut partition, &batch(7, 0, 0, 1)), Ok(2));
}

#[test]
fn the_window_survives_a_checkpoint() {
    let mut partition = Partition::create(PartitionId::default());
    for sequence in 0..7 {
        append(&mut partition, &batch(7, 0, sequence, 1)).unwrap();
    }
    let PartitionChanges { stored, producers, .. } = partition.take_changes().unwrap();
    assert!(partition.take_changes().is_none());
    let producers: BTreeMap<ProducerId, ProducerWindow> =
        producers.into_iter().map(|(id, bytes)| (id, ProducerWindow::decode(bytes.unwrap()).unwrap())).collect();
    let stored = StoredPartition::decode(stored.encode()).unwrap();
    let mut restored =
        Partition::restore(PartitionId::default(), stored, producers, Default::default(), Default::default());
    assert_eq!(append(&mut restored, &batch(7, 0, 4, 1)), Ok(4));
    assert_eq!(append(&mut restored, &batch(7, 0, 7, 1)), Ok(7));
    append(&mut partition, &batch(7, 0, 7, 1)).unwrap();
    assert_eq!(restored.stored(), partition.stored());
}

#[test]
fn log_append_time_is_the_entrys() {
    let mut partition = Partition::create(PartitionId::default());
    let circumstances = Circumstances { log_append_time: true, ..at(1) };
    let (answer, count) = partition.append(&batch(-1, 0, 0, 2), circumstances).unwrap();
    assert_eq!((answer.log_append_time, count), (TimestampMs(5_001), 2));
    partition.log().look(|tail| {
        let header = BatchHeader::read(&tail.batches[0].bytes).unwrap();
        assert_eq!(header.max_timestamp, TimestampMs(5_001));
        assert_eq!(tail.max_timestamp, Some((TimestampMs(5_001), Offset(0))));
    });
}

#[test]
fn what_files_hold_leaves_memory() {
    let mut partition = Partition::create(PartitionId::default());
    for _ in 0..4 {
        append(&mut partition, &batch(-1, 0, 0, 2)).unwrap();
    }
    partition.log().forget_below(Offset(4));
    partition.log().look(|tail| {
        assert_eq!(tail.memory_start, Offset(4));
        assert_eq!(tail.batches.len(), 2);
        assert_eq!(tail.end, Offset(8));
    });
}

#[test]
fn the_start_only_moves_forward_and_not_past_the_end() {
    let id = PartitionId::default();
    let mut partition = Partition::create(id);
    append(&mut partition, &batch(-1, 0, 0, 5)).unwrap();
    partition.take_changes().unwrap();
    assert_eq!(partition.trim(Some(Offset(0))), Ok(Offset(0)));
    assert!(partition.take_changes().is_none());
    assert_eq!(partition.trim(Some(Offset(3))), Ok(Offset(3)));
    assert_eq!(partition.trim(Some(Offset(2))), Ok(Offset(3)));
    let changes = partition.take_changes().unwrap();
    assert_eq!((changes.stored.start, changes.is_trimmed), (Offset(3), true));
    let asked = Offset(6);
    assert_eq!(partition.trim(Some(asked)), Err(TrimRefusal::OutOfRange { partition: id, asked, end: Offset(5) }));
    assert_eq!(partition.trim(None), Ok(Offset(5)));
    assert_eq!(append(&mut partition, &batch(-1, 0, 0, 1)), Ok(5));
}

#[test]
fn a_compaction_is_kept_and_not_past_the_end() {
    let id = PartitionId::default();
    let mut partition = Partition::create(id);
    append(&mut partition, &batch(-1, 0, 0, 5)).unwrap();
    let to = |to| CompactedTo { partition: id, to: Offset(to), done_to: Offset(0) };
    let refusal = CompactionRefusal::OutOfRange { partition: id, asked: Offset(6), end: Offset(5) };
    assert_eq!(partition.compact(&to(6), TimestampMs(1), 0), Err(refusal));
    assert_eq!(partition.compact(&to(4), TimestampMs(1), 0).unwrap().to, Offset(4));
    let changes = partition.take_changes().unwrap();
    let compaction = Compaction::decode(changes.compaction.unwrap()).unwrap();
    let restored = Partition::restore(id, changes.stored, BTreeMap::new(), compaction, AbortedIndex::default());
    assert_eq!(restored.compaction(), partition.compaction());
    assert_eq!(restored.log().look(|tail| tail.compaction.to), Offset(4));
}

#[tokio::test]
async fn an_append_between_watch_and_wait_is_not_missed() {
    let mut partition = Partition::create(PartitionId::default());
    let appearance = Appearance::default();
    partition.log().watch(&appearance);
    append(&mut partition, &batch(-1, 0, 0, 1)).unwrap();
    partition.log().wake();
    appearance.appeared().await;
}

proptest! {
    /// Whatever is resent, in whatever order, each sequence number is stored once and in order.
    #[test]
    fn resending_never_doubles_or_reorders(attempts in proptest::collection::vec(0..12i32, 1..80)) {
        let mut partition = Partition::create(PartitionId::default());
        let mut stored = Vec::new();
        for sequence in attempts {
            if let Ok((answer, 1)) = partition.append(&batch(7, 0, sequence, 1), at(0)) {
                stored.push(sequence);
                prop_assert_eq!(answer.base_offset.0 as usize, stored.len() - 1);
            }
        }
        prop_assert!(stored.windows(2).all(|pair| pair[1] == pair[0] + 1));
    }

    #[test]
    fn arbitrary_stored_bytes_are_an_error_or_a_state(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = StoredPartition::decode(bytes.clone().into());
        let _ = ProducerWindow::decode(bytes.into());
    }
}
