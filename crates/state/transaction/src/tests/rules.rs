//! The rules of each step, one by one.

use std::collections::BTreeSet;

use daybook_command::{
    AddToTransaction, EndTransaction, InitProducer, ProducerIdAllocated, SweepTransaction, TransactionRefusal,
    TransactionalProducer,
};
use daybook_types::{
    GroupId, PartitionId, PartitionIndex, ProducerEpoch, ProducerId, TimestampMs, TopicId, TransactionalId,
};

use crate::{Ending, Phase, Transactional, Transactions};

const TIMEOUT_MS: i32 = 1_000;

/// One transactional id, with a source of producer ids.
struct Bed {
    transactions: Transactions,
    next_id: i64,
}

fn id() -> TransactionalId {
    TransactionalId::new("t")
}

fn partition(index: i32) -> PartitionId {
    PartitionId { topic: TopicId::from_bytes([1; 16]), index: PartitionIndex(index) }
}

fn by(id_: i64, epoch: i16) -> TransactionalProducer {
    TransactionalProducer { transactional_id: id(), id: ProducerId(id_), epoch: ProducerEpoch(epoch) }
}

fn told(id: i64, epoch: i16) -> ProducerIdAllocated {
    ProducerIdAllocated { id: ProducerId(id), epoch: ProducerEpoch(epoch) }
}

fn fenced(epoch: i16, current: i16) -> TransactionRefusal {
    TransactionRefusal::Fenced { epoch: ProducerEpoch(epoch), current: ProducerEpoch(current) }
}

impl Bed {
    /// Producer 0 has epoch 0.
    fn new() -> Self {
        let mut bed = Self { transactions: Transactions::default(), next_id: 0 };
        assert_eq!(bed.init(None), Ok((told(0, 0), None)));
        bed
    }

    fn at_epoch(epoch: i16) -> Self {
        let mut bed = Self::new();
        let state = Transactional { epoch: ProducerEpoch(epoch), ..bed.state().clone() };
        bed.transactions.put(id(), state);
        bed
    }

    fn state(&self) -> &Transactional {
        self.transactions.get(&id()).unwrap()
    }

    fn init(
        &mut self,
        expected: Option<(i64, i16)>,
    ) -> Result<(ProducerIdAllocated, Option<Ending>), TransactionRefusal> {
        let expected = expected.map(|(id, epoch)| (ProducerId(id), ProducerEpoch(epoch)));
        let init = InitProducer { transactional_id: id(), timeout_ms: TIMEOUT_MS, expected };
        let next_id = &mut self.next_id;
        self.transactions.init(&init, TimestampMs(10), || {
            *next_id += 1;
            ProducerId(*next_id - 1)
        })
    }

    fn write(&mut self, producer: TransactionalProducer, joins: bool) -> Result<(), TransactionRefusal> {
        self.transactions.admit(&producer, partition(0), joins, TimestampMs(20))
    }

    fn end(
        &mut self,
        producer: TransactionalProducer,
        commits: bool,
        bumps_epoch: bool,
    ) -> Result<(ProducerIdAllocated, Option<Ending>), TransactionRefusal> {
        let end = EndTransaction { producer, commits, bumps_epoch };
        let next_id = &mut self.next_id;
        self.transactions.end(&end, TimestampMs(30), || {
            *next_id += 1;
            ProducerId(*next_id - 1)
        })
    }
}

fn ending(id: i64, epoch: i16, commits: bool) -> Option<Ending> {
    Some(Ending {
        producer: ProducerId(id),
        epoch: ProducerEpoch(epoch),
        commits,
        partitions: [partition(0)].into(),
        groups: BTreeSet::new(),
    })
}

#[test]
fn whoever_initialises_last_is_the_producer() {
    let mut bed = Bed::new();
    assert_eq!(bed.init(None), Ok((told(0, 1), None)));
    assert_eq!(bed.write(by(0, 0), true), Err(fenced(0, 1)));
    assert_eq!(bed.end(by(0, 0), true, false), Err(fenced(0, 1)));
    assert_eq!(bed.write(by(0, 1), true), Ok(()));
    assert!(matches!(bed.write(by(9, 1), true), Err(TransactionRefusal::OtherProducer { .. })));
    // A higher epoch than the current one was never given to anybody.
    assert_eq!(bed.write(by(0, 2), true), Err(fenced(2, 1)));
}

#[test]
fn initialising_aborts_what_is_open_and_its_marker_fences() {
    let mut bed = Bed::new();
    bed.write(by(0, 0), true).unwrap();
    assert_eq!(bed.init(None), Ok((told(0, 1), ending(0, 1, false))));
    assert_eq!(bed.state().phase, Phase::Empty);
    // The one before, which asks to go on, must not take it back.
    assert_eq!(bed.init(Some((0, 0))), Err(fenced(0, 1)));
    // Nor end what the new one has open.
    bed.write(by(0, 1), true).unwrap();
    assert_eq!(bed.init(Some((0, 0))), Err(fenced(0, 1)));
    assert!(bed.state().open().is_some());
}

#[test]
fn a_producer_goes_on_after_an_error_and_may_ask_twice() {
    let mut bed = Bed::new();
    assert_eq!(bed.init(Some((0, 0))), Ok((told(0, 1), None)));
    // The answer got lost.
    assert_eq!(bed.init(Some((0, 0))), Ok((told(0, 1), None)));
    assert_eq!(bed.init(Some((0, 1))), Ok((told(0, 2), None)));
    assert_eq!(bed.init(Some((0, 0))), Err(fenced(0, 2)));
    assert_eq!(bed.init(Some((5, 2))), Err(fenced(2, 2)));
    // Another process took over: who asks to go on is not let in.
    assert_eq!(bed.init(None), Ok((told(0, 3), None)));
    assert_eq!(bed.init(Some((0, 2))), Err(fenced(2, 3)));
}

#[test]
fn with_one_epoch_for_all_transactions_an_end_may_be_repeated() {
    let mut bed = Bed::new();
    for commits in [true, false] {
        assert!(matches!(bed.write(by(0, 0), false), Err(TransactionRefusal::PartitionNotAdded { .. })));
        let add = AddToTransaction { producer: by(0, 0), partitions: vec![partition(0)], groups: Vec::new() };
        bed.transactions.add(&add, TimestampMs(15)).unwrap();
        assert_eq!(bed.write(by(0, 0), false), Ok(()));
        assert_eq!(bed.end(by(0, 0), commits, false), Ok((told(0, 0), ending(0, 0, commits))));
        assert_eq!(bed.end(by(0, 0), commits, false), Ok((told(0, 0), None)));
        assert!(matches!(bed.end(by(0, 0), !commits, false), Err(TransactionRefusal::InvalidState { .. })));
    }
}

#[test]
fn nothing_to_end_is_an_error_without_bumps() {
    let mut bed = Bed::new();
    assert!(matches!(bed.end(by(0, 0), true, false), Err(TransactionRefusal::InvalidState { .. })));
    assert!(matches!(bed.end(by(0, 0), false, false), Err(TransactionRefusal::InvalidState { .. })));
}

#[test]
fn with_an_epoch_a_transaction_an_end_may_be_repeated_and_the_next_begins_at_once() {
    let mut bed = Bed::new();
    for epoch in 0..4 {
        let commits = epoch % 2 == 0;
        bed.write(by(0, epoch), true).unwrap();
        assert_eq!(bed.end(by(0, epoch), commits, true), Ok((told(0, epoch + 1), ending(0, epoch + 1, commits))));
        assert_eq!(bed.end(by(0, epoch), commits, true), Ok((told(0, epoch + 1), None)));
        assert!(matches!(bed.end(by(0, epoch), !commits, true), Err(TransactionRefusal::InvalidState { .. })));
        // A batch that was late.
        assert_eq!(bed.write(by(0, epoch), true), Err(fenced(epoch, epoch + 1)));
    }
    // Once the next is open, the end before can't be asked for again.
    bed.write(by(0, 4), true).unwrap();
    assert_eq!(bed.end(by(0, 3), false, true), Err(fenced(3, 4)));
}

#[test]
fn aborting_nothing_bumps_since_a_batch_may_be_on_its_way() {
    let mut bed = Bed::new();
    assert!(matches!(bed.end(by(0, 0), true, true), Err(TransactionRefusal::InvalidState { .. })));
    assert_eq!(bed.end(by(0, 0), false, true), Ok((told(0, 1), None)));
    assert_eq!(bed.end(by(0, 1), false, true), Ok((told(0, 2), None)));
    assert!(matches!(bed.end(by(0, 2), true, true), Err(TransactionRefusal::InvalidState { .. })));
}

#[test]
fn used_up_epochs_give_a_new_producer_id() {
    let mut bed = Bed::at_epoch(i16::MAX - 1);
    bed.write(by(0, i16::MAX - 1), true).unwrap();
    // The marker has the last epoch there is, so that it fences.
    let ended = bed.end(by(0, i16::MAX - 1), true, true);
    assert_eq!(ended, Ok((told(1, 0), ending(0, i16::MAX, true))));
    assert_eq!(bed.end(by(0, i16::MAX - 1), true, true), Ok((told(1, 0), None)));
    assert!(bed.write(by(0, i16::MAX - 1), true).is_err());
    assert_eq!(bed.write(by(1, 0), true), Ok(()));

    let mut bed = Bed::at_epoch(i16::MAX - 1);
    assert_eq!(bed.init(Some((0, i16::MAX - 1))), Ok((told(1, 0), None)));
    assert_eq!(bed.init(Some((0, i16::MAX - 1))), Ok((told(1, 0), None)));
    let mut bed = Bed::at_epoch(i16::MAX - 1);
    assert_eq!(bed.init(None), Ok((told(1, 0), None)));
    assert_eq!(bed.init(Some((0, i16::MAX - 1))), Err(fenced(i16::MAX - 1, 0)));
    // Fenced at the end of its epochs.
    let mut bed = Bed::at_epoch(i16::MAX - 1);
    bed.write(by(0, i16::MAX - 1), true).unwrap();
    let timed_out = bed.transactions.time_out(&by(0, i16::MAX - 1), TimestampMs(20), TimestampMs(5_000));
    assert_eq!(timed_out.ok(), ending(0, i16::MAX, false));
    assert_eq!(bed.init(None), Ok((told(1, 0), None)));
}

#[test]
fn a_transaction_times_out_when_its_time_is_over_and_not_before() {
    let mut bed = Bed::new();
    assert!(bed.transactions.timed_out(TimestampMs(i64::MAX), 10).is_empty());
    bed.write(by(0, 0), true).unwrap();
    assert!(bed.transactions.timed_out(TimestampMs(1_019), 10).is_empty());
    let due = bed.transactions.timed_out(TimestampMs(1_020), 10);
    let started = TimestampMs(20);
    assert_eq!(due, [SweepTransaction::TimedOut { producer: by(0, 0), started }]);
    let mut out = |at| bed.transactions.time_out(&by(0, 0), started, TimestampMs(at));
    assert!(out(1_019).is_err());
    assert_eq!(out(1_020).ok(), ending(0, 1, false));
    assert_eq!(out(1_020), Err(fenced(0, 1)));
    assert_eq!(bed.state().phase, Phase::Aborted);
    assert!(bed.transactions.timed_out(TimestampMs(i64::MAX), 10).is_empty());
    // The producer learns of it, whatever it asks in the old way.
    assert_eq!(bed.end(by(0, 0), false, false), Err(fenced(0, 1)));
    assert_eq!(bed.init(Some((0, 0))), Err(fenced(0, 1)));
    // In the new way it may take the abort for its own, as in Kafka; never a commit.
    assert!(matches!(bed.end(by(0, 0), true, true), Err(TransactionRefusal::InvalidState { .. })));
    assert_eq!(bed.end(by(0, 0), false, true), Ok((told(0, 1), None)));
}

#[test]
fn a_begun_and_empty_transaction_times_out_too() {
    let mut bed = Bed::new();
    let add = AddToTransaction { producer: by(0, 0), partitions: Vec::new(), groups: vec![GroupId::new("g")] };
    bed.transactions.add(&add, TimestampMs(15)).unwrap();
    assert_eq!(bed.transactions.timed_out(TimestampMs(1_015), 10).len(), 1);
    let out = bed.transactions.time_out(&by(0, 0), TimestampMs(15), TimestampMs(1_015)).unwrap();
    assert_eq!((out.partitions.len(), out.groups.len()), (0, 1));
}

#[test]
fn a_sweep_that_comes_late_meets_another_transaction_and_leaves_it() {
    let mut bed = Bed::new();
    bed.write(by(0, 0), true).unwrap();
    let _ = bed.end(by(0, 0), true, false).unwrap();
    let add = AddToTransaction { producer: by(0, 0), partitions: vec![partition(0)], groups: Vec::new() };
    bed.transactions.add(&add, TimestampMs(900)).unwrap();
    assert!(bed.transactions.time_out(&by(0, 0), TimestampMs(20), TimestampMs(1_020)).is_err());
    assert!(bed.state().open().is_some());
}

#[test]
fn an_administrator_aborts_all_of_a_transaction() {
    let mut bed = Bed::new();
    bed.write(by(0, 0), true).unwrap();
    assert_eq!(bed.transactions.abort_hanging(partition(1), ProducerId(0), TimestampMs(40)), None);
    assert_eq!(bed.transactions.abort_hanging(partition(0), ProducerId(8), TimestampMs(40)), None);
    let aborted = bed.transactions.abort_hanging(partition(0), ProducerId(0), TimestampMs(40));
    assert_eq!(aborted, ending(0, 1, false));
    assert_eq!(bed.transactions.abort_hanging(partition(0), ProducerId(0), TimestampMs(40)), None);
}

#[test]
fn an_id_is_forgotten_when_it_was_not_used_and_has_nothing_open() {
    let mut bed = Bed::new();
    bed.write(by(0, 0), true).unwrap();
    let all = |bed: &Bed, now| bed.transactions.unused(TimestampMs(now), 100, None, 10).0;
    assert!(all(&bed, 10_000).is_empty());
    assert!(bed.transactions.forget_unused(&id(), 100, TimestampMs(10_000)).is_err());
    let _ = bed.end(by(0, 0), true, false).unwrap();
    assert!(all(&bed, 129).is_empty());
    assert_eq!(all(&bed, 130).len(), 1);
    assert!(bed.transactions.forget_unused(&id(), 100, TimestampMs(129)).is_err());
    bed.transactions.forget_unused(&id(), 100, TimestampMs(130)).unwrap();
    assert!(matches!(bed.write(by(0, 0), true), Err(TransactionRefusal::UnknownId { .. })));
    assert_eq!(bed.transactions.take_changes(), [(id(), None)]);
    // Whoever comes back gets another producer id, so nothing of the old one can be mistaken for its.
    assert_eq!(bed.init(None), Ok((told(1, 0), None)));
}

#[test]
fn unused_ids_are_looked_for_a_few_at_a_time() {
    let mut transactions = Transactions::default();
    for number in 0..5 {
        let transactional_id = TransactionalId::new(&format!("t{number}"));
        let init = InitProducer { transactional_id, timeout_ms: 1, expected: None };
        let _ = transactions.init(&init, TimestampMs(0), || ProducerId(number)).unwrap();
    }
    let (found, to) = transactions.unused(TimestampMs(100), 50, None, 3);
    assert_eq!((found.len(), to.clone()), (3, Some(TransactionalId::new("t2"))));
    let (found, to) = transactions.unused(TimestampMs(100), 50, to.as_ref(), 3);
    assert_eq!((found.len(), to), (2, None));
}
