//! Transactions in one partition: what is stable, what was aborted, and what a checkpoint brings back.

use std::collections::BTreeMap;

use bytes::Bytes;
use daybook_command::{AppendRefusal, TransactionRefusal};
use daybook_record::{BatchBuilder, BatchHeader, Compression, Marker, MarkerKind};
use daybook_types::{Offset, PartitionId, ProducerEpoch, ProducerId, TimestampMs};
use proptest::prelude::*;

use super::{at, batch};
use crate::{AbortedIndex, AbortedTransaction, Fate, Partition, PartitionChanges, ProducerWindow, StoredPartition};

fn transactional(producer: i64, epoch: i16, sequence: i32, count: usize) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None)
        .producer(ProducerId(producer), ProducerEpoch(epoch), sequence)
        .transactional(true);
    for _ in 0..count {
        builder.push(TimestampMs(1_000), None, Some(b"value"), &[]);
    }
    builder.build().unwrap()
}

fn write(partition: &mut Partition, batch: &Bytes) -> Result<i64, AppendRefusal> {
    partition.append_in_transaction(batch, at(9)).map(|(answer, _)| answer.base_offset.0)
}

fn end(partition: &mut Partition, producer: i64, epoch: i16, commits: bool) -> i64 {
    partition.end_transaction(ProducerId(producer), ProducerEpoch(epoch), commits, at(9)).0
}

fn ends(partition: &Partition) -> (i64, i64) {
    partition.log().look(|tail| (tail.stable.0, tail.end.0))
}

/// (producer, first, last)
fn aborted(partition: &Partition, from: i64, to: i64) -> Vec<(i64, i64, i64)> {
    let told = |aborted: AbortedTransaction| (aborted.producer.0, aborted.first_offset.0, aborted.last_offset.0);
    partition.log().aborted(Offset(from)..Offset(to)).into_iter().map(told).collect()
}

fn restored(partition: &mut Partition) -> Partition {
    let PartitionChanges { stored, producers, aborted, .. } = partition.take_changes().unwrap();
    let windows: BTreeMap<_, _> =
        producers.into_iter().map(|(id, bytes)| (id, ProducerWindow::decode(bytes.unwrap()).unwrap())).collect();
    let aborted = aborted.into_iter().map(|(_, bytes)| AbortedTransaction::decode(bytes.unwrap()).unwrap());
    let stored = StoredPartition::decode(stored.encode()).unwrap();
    Partition::restore(PartitionId::default(), stored, windows, Default::default(), AbortedIndex::restore(aborted))
}

#[test]
fn the_oldest_open_transaction_holds_the_stable_offset() {
    let mut partition = Partition::create(PartitionId::default());
    partition.append(&batch(-1, 0, 0, 2), at(9)).unwrap();
    assert_eq!(ends(&partition), (2, 2));
    assert_eq!(write(&mut partition, &transactional(1, 0, 0, 3)), Ok(2));
    assert_eq!(write(&mut partition, &transactional(2, 0, 0, 1)), Ok(5));
    partition.append(&batch(-1, 0, 0, 1), at(9)).unwrap();
    assert_eq!(ends(&partition), (2, 7));
    assert_eq!(end(&mut partition, 2, 0, true), 7);
    assert_eq!(ends(&partition), (2, 8));
    assert_eq!(end(&mut partition, 1, 0, false), 8);
    assert_eq!(ends(&partition), (9, 9));
}

#[test]
fn a_marker_is_a_control_batch_of_the_producer() {
    let mut partition = Partition::create(PartitionId::default());
    write(&mut partition, &transactional(1, 0, 0, 1)).unwrap();
    end(&mut partition, 1, 3, false);
    partition.log().look(|tail| {
        let marker = Marker::read(&tail.batches[1].bytes).unwrap().unwrap();
        assert_eq!((marker.kind, marker.producer_id), (MarkerKind::Abort, ProducerId(1)));
        assert_eq!((marker.producer_epoch, marker.coordinator_epoch), (ProducerEpoch(3), 3));
        let header = BatchHeader::read(&tail.batches[1].bytes).unwrap();
        assert_eq!((tail.batches[1].max_timestamp, header.max_timestamp), (TimestampMs(5_009), TimestampMs(5_009)));
    });
}

#[test]
fn a_marker_of_a_later_epoch_begins_it() {
    let mut partition = Partition::create(PartitionId::default());
    write(&mut partition, &transactional(1, 0, 0, 2)).unwrap();
    end(&mut partition, 1, 1, true);
    assert_eq!(
        write(&mut partition, &transactional(1, 0, 2, 1)),
        Err(AppendRefusal::ProducerFenced { epoch: 0, current: 1 })
    );
    assert_eq!(
        write(&mut partition, &transactional(1, 1, 2, 1)),
        Err(AppendRefusal::OutOfOrderSequence { sequence: 2, last: -1 })
    );
    assert_eq!(write(&mut partition, &transactional(1, 1, 0, 1)), Ok(3));
    assert_eq!(partition.producer(ProducerId(1)), Some((ProducerEpoch(1), true)));
}

#[test]
fn a_marker_of_the_same_epoch_lets_the_sequence_go_on() {
    let mut partition = Partition::create(PartitionId::default());
    write(&mut partition, &transactional(1, 0, 0, 2)).unwrap();
    end(&mut partition, 1, 0, true);
    assert_eq!(write(&mut partition, &transactional(1, 0, 2, 1)), Ok(3));
    // What was written before is known, also across the marker.
    assert_eq!(write(&mut partition, &transactional(1, 0, 0, 2)), Ok(0));
}

/// A producer that was idle through markers of others, and was never here, may still begin.
#[test]
fn a_marker_without_records_leaves_no_trace_but_itself() {
    let mut partition = Partition::create(PartitionId::default());
    assert_eq!(end(&mut partition, 1, 4, false), 0);
    assert_eq!(ends(&partition), (1, 1));
    assert_eq!(partition.producer(ProducerId(1)), None);
    assert!(aborted(&partition, 0, 1).is_empty());
    assert_eq!(write(&mut partition, &transactional(1, 4, 17, 1)), Ok(1));
}

#[test]
fn plain_and_transactional_batches_dont_mix() {
    let mut partition = Partition::create(PartitionId::default());
    let no_id = Err(AppendRefusal::Transaction(TransactionRefusal::NoTransactionalId));
    assert_eq!(partition.append(&transactional(1, 0, 0, 1), at(9)).map(drop), no_id);
    assert_eq!(partition.append_in_transaction(&batch(1, 0, 0, 1), at(9)).map(drop), no_id);
    write(&mut partition, &transactional(1, 0, 0, 1)).unwrap();
    assert_eq!(partition.append(&batch(1, 0, 1, 1), at(9)).map(drop), Err(AppendRefusal::NotTransactional));
    end(&mut partition, 1, 0, true);
    assert_eq!(partition.append(&batch(1, 0, 1, 1), at(9)).map(|(answer, _)| answer.base_offset), Ok(Offset(2)));
}

#[test]
fn aborted_transactions_are_listed_where_they_matter() {
    let mut partition = Partition::create(PartitionId::default());
    // 0..2 of 1, 2 of 2, marker of 1 at 3, 4 of 1, marker of 2 at 5, marker of 1 (commit) at 6.
    write(&mut partition, &transactional(1, 0, 0, 2)).unwrap();
    write(&mut partition, &transactional(2, 0, 0, 1)).unwrap();
    end(&mut partition, 1, 0, false);
    write(&mut partition, &transactional(1, 0, 2, 1)).unwrap();
    end(&mut partition, 2, 0, false);
    end(&mut partition, 1, 0, true);
    let (first, second) = ((1, 0, 3), (2, 2, 5));
    assert_eq!(aborted(&partition, 0, 7), [first, second]);
    assert_eq!(aborted(&partition, 0, 2), [first]);
    // In the middle of a batch, and at the marker.
    assert_eq!(aborted(&partition, 1, 2), [first]);
    assert_eq!(aborted(&partition, 3, 4), [first, second]);
    // From here on producer 1's records are of a committed one: the list must not say otherwise.
    assert_eq!(aborted(&partition, 4, 7), [second]);
    assert_eq!(aborted(&partition, 6, 7), []);
    let fate = |producer, offset| partition.log().fate(ProducerId(producer), Offset(offset));
    assert_eq!(
        [fate(1, 0), fate(1, 1), fate(2, 2), fate(1, 4)],
        [Fate::Aborted, Fate::Aborted, Fate::Aborted, Fate::Committed]
    );
}

#[test]
fn an_open_transaction_and_the_aborted_survive_a_checkpoint() {
    let mut partition = Partition::create(PartitionId::default());
    write(&mut partition, &transactional(1, 0, 0, 2)).unwrap();
    end(&mut partition, 1, 0, false);
    write(&mut partition, &transactional(1, 0, 2, 1)).unwrap();
    write(&mut partition, &transactional(2, 5, 0, 1)).unwrap();
    let mut restored = restored(&mut partition);
    assert_eq!(ends(&restored), (3, 5));
    assert_eq!(aborted(&restored, 0, 5), [(1, 0, 2)]);
    assert_eq!(restored.log().fate(ProducerId(2), Offset(4)), Fate::Open);
    end(&mut restored, 1, 0, true);
    assert_eq!(ends(&restored), (4, 6));
    end(&mut restored, 2, 6, false);
    assert_eq!(ends(&restored), (7, 7));
    assert_eq!(aborted(&restored, 0, 7), [(1, 0, 2), (2, 4, 6)]);
}

#[test]
fn what_ended_before_the_start_is_forgotten() {
    let mut partition = Partition::create(PartitionId::default());
    for sequence in 0..3 {
        write(&mut partition, &transactional(1, 0, sequence, 1)).unwrap();
        end(&mut partition, 1, 0, false);
    }
    partition.take_changes().unwrap();
    partition.forget_aborted_below(Offset(3));
    assert_eq!(aborted(&partition, 0, 6), [(1, 2, 3), (1, 4, 5)]);
    assert_eq!(partition.take_changes().unwrap().aborted, [(Offset(1), None)]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write { producer: i64, count: usize },
    End { producer: i64, commits: bool },
    Plain,
    Checkpoint,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..4i64, 1..4usize).prop_map(|(producer, count)| Step::Write { producer, count }),
        3 => (0..4i64, any::<bool>()).prop_map(|(producer, commits)| Step::End { producer, commits }),
        1 => Just(Step::Plain),
        1 => Just(Step::Checkpoint),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    /// Against a plain list of who wrote what: stable offset, fate of every record, and what a reader of committed records makes of
    /// the list it is told for every range.
    #[test]
    fn readers_of_committed_records_see_just_those(steps in steps()) {
        let mut partition = Partition::create(PartitionId::default());
        // Each offset: its producer, and what became of it; none for plain records and markers.
        let mut records: Vec<Option<(i64, Fate)>> = Vec::new();
        let mut markers: BTreeMap<usize, i64> = BTreeMap::new();
        let mut sequences = [0; 4];
        for step in steps {
            match step {
                Step::Write { producer, count } => {
                    let sequence = &mut sequences[producer as usize];
                    write(&mut partition, &transactional(producer, 0, *sequence, count)).unwrap();
                    *sequence += count as i32;
                    records.extend(std::iter::repeat_n(Some((producer, Fate::Open)), count));
                }
                Step::End { producer, commits } => {
                    end(&mut partition, producer, 0, commits);
                    let fate = if commits { Fate::Committed } else { Fate::Aborted };
                    let open = records.iter_mut().flatten().filter(|record| **record == (producer, Fate::Open));
                    open.for_each(|record| record.1 = fate);
                    if !commits {
                        markers.insert(records.len(), producer);
                    }
                    records.push(None);
                }
                Step::Plain => {
                    partition.append(&batch(-1, 0, 0, 1), at(9)).unwrap();
                    records.push(None);
                }
                Step::Checkpoint => {
                    // Only what changed is told, so all must have changed: a checkpoint of everything.
                    let windows = partition.producers().into_iter().collect();
                    let index = partition.log().look(|tail| tail.aborted.clone());
                    partition = Partition::restore(PartitionId::default(), partition.stored(), windows, Default::default(), index);
                }
            }
        }
        let open = |record: &Option<(i64, Fate)>| matches!(record, Some((_, Fate::Open)));
        let stable = records.iter().position(open).unwrap_or(records.len());
        prop_assert_eq!(ends(&partition), (stable as i64, records.len() as i64));
        for (offset, record) in records.iter().enumerate() {
            if let Some((producer, fate)) = record {
                prop_assert_eq!(partition.log().fate(ProducerId(*producer), Offset(offset as i64)), *fate);
            }
        }
        for from in 0..stable {
            for to in from + 1..=stable {
                // Kafka's consumer: a producer is aborted from its first offset in the list until its marker.
                let listed = aborted(&partition, from as i64, to as i64);
                let mut hidden: Vec<i64> = Vec::new();
                let mut left = listed.clone();
                for (offset, record) in records.iter().enumerate().take(to).skip(from) {
                    left.retain(|(producer, first, _)| {
                        let begins = *first <= offset as i64;
                        if begins {
                            hidden.push(*producer);
                        }
                        !begins
                    });
                    if let Some(producer) = markers.get(&offset) {
                        hidden.retain(|hidden| hidden != producer);
                    }
                    if let Some((producer, fate)) = record {
                        prop_assert_eq!(hidden.contains(producer), *fate == Fate::Aborted, "offset {} of {}..{}", offset, from, to);
                    }
                }
            }
        }
    }
}
