//! Whatever was reported durable is there after a power cut; whatever wasn't is there in order or not at all.
//!
//! The model is the list of single steps (an entry, a truncation, a purge) since the beginning. After a cut the log
//! must look as after some number of them, and not fewer than were reported durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use daybook_sim::FaultDisk;
use daybook_types::{Lsn, Term};
use daybook_wal::{Failure, Options, Record, SyncPolicy, Wal};
use proptest::prelude::*;

use crate::fixture::{all, append, append_alone, append_durably, dir, open, open_without_spares, options, record};

#[derive(Clone, Debug)]
enum Action {
    Append(Vec<usize>),
    AppendDurably(Vec<usize>),
    AppendAlone(Vec<usize>),
    Truncate(prop::sample::Index),
    Purge(prop::sample::Index),
    Skip(u64),
    HardState(u8),
    Sync,
    Close,
}

#[derive(Clone, Debug)]
enum Step {
    Entry(Record),
    Truncate(Lsn),
    Purge(Lsn),
    Skip(Term, Lsn),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    purged: Option<(Term, Lsn)>,
    last: Option<(Term, Lsn)>,
    entries: Vec<Record>,
}

impl Model {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Entry(record) => {
                self.entries.push(record.clone());
                self.last = Some((record.term, record.lsn));
            }
            Step::Truncate(lsn) => {
                self.entries.retain(|record| record.lsn < *lsn);
                self.last = self.entries.last().map(|record| (record.term, record.lsn)).or(self.purged);
            }
            Step::Purge(lsn) => {
                let gone = self.entries.iter().rev().find(|record| record.lsn <= *lsn);
                self.purged = gone.map(|record| (record.term, record.lsn)).or(self.purged);
                self.entries.retain(|record| record.lsn > *lsn);
            }
            Step::Skip(term, lsn) => {
                self.entries.clear();
                self.purged = Some((*term, *lsn));
                self.last = self.purged;
            }
        }
    }

    fn next(&self) -> u64 {
        self.last.map_or(0, |(_, lsn)| lsn.0 + 1)
    }
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![4 => 0..200_usize, 2 => 200..1500_usize, 1 => 4000..9000_usize], 1..5)
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => lengths().prop_map(Action::Append),
        4 => lengths().prop_map(Action::AppendDurably),
        4 => lengths().prop_map(Action::AppendAlone),
        2 => any::<prop::sample::Index>().prop_map(Action::Truncate),
        2 => any::<prop::sample::Index>().prop_map(Action::Purge),
        1 => (1..50_u64).prop_map(Action::Skip),
        1 => any::<u8>().prop_map(Action::HardState),
        1 => Just(Action::Sync),
        1 => Just(Action::Close),
    ]
}

/// One life: actions, then the power goes. Returns the steps taken and how many of them are certain.
struct Life {
    model: Model,
    steps: Vec<Step>,
    certain: Arc<AtomicUsize>,
    hard_state: Option<u8>,
}

impl Life {
    fn run(&mut self, disk: &FaultDisk, mut wal: Wal, actions: &[Action], term: u64, policy: SyncPolicy) -> Wal {
        for action in actions {
            match action {
                Action::Append(lengths) | Action::AppendDurably(lengths) | Action::AppendAlone(lengths) => {
                    let first = self.model.next();
                    let records: Vec<_> =
                        lengths.iter().zip(first..).map(|(length, lsn)| record(term, lsn, *length)).collect();
                    for record in &records {
                        self.take(Step::Entry(record.clone()));
                    }
                    if matches!(action, Action::AppendDurably(_)) && policy == SyncPolicy::Always {
                        append_durably(&wal, &records);
                        self.all_certain();
                    } else {
                        let (certain, steps) = (self.certain.clone(), self.steps.len());
                        let on_durable = move |result: Result<(), Failure>| {
                            if result.is_ok() && policy == SyncPolicy::Always {
                                let before = certain.fetch_max(steps, Ordering::SeqCst);
                                assert!(before <= steps, "told of a later append first");
                            }
                        };
                        if matches!(action, Action::AppendAlone(_)) {
                            append_alone(&wal, &records, on_durable).unwrap();
                        } else {
                            append(&wal, &records, on_durable).unwrap();
                        }
                    }
                }
                Action::Truncate(at) => {
                    if let Some(lsn) = self.pick(at) {
                        self.take(Step::Truncate(lsn));
                        wal.truncate_from(lsn).unwrap();
                        self.all_certain();
                    }
                }
                Action::Purge(at) => {
                    if let Some(lsn) = self.pick(at) {
                        self.take(Step::Purge(lsn));
                        wal.purge_to(lsn).unwrap();
                    }
                }
                Action::Skip(ahead) => {
                    let to = (Term(term), Lsn(self.model.next() + ahead));
                    self.take(Step::Skip(to.0, to.1));
                    wal.skip_to(to.0, to.1).unwrap();
                    self.all_certain();
                }
                Action::HardState(byte) => {
                    wal.save_hard_state(&[*byte]).unwrap();
                    self.hard_state = Some(*byte);
                }
                Action::Sync => {
                    wal.sync().unwrap();
                    self.all_certain();
                }
                Action::Close => {
                    wal.close().unwrap();
                    self.all_certain();
                    wal = reopen(disk, policy);
                    assert_eq!(look(&wal), self.model);
                }
            }
            assert_eq!((wal.last(), wal.purged()), (self.model.last, self.model.purged));
        }
        wal
    }

    fn take(&mut self, step: Step) {
        self.model.apply(&step);
        self.steps.push(step);
    }

    fn all_certain(&self) {
        self.certain.fetch_max(self.steps.len(), Ordering::SeqCst);
    }

    fn pick(&self, at: &prop::sample::Index) -> Option<Lsn> {
        (!self.model.entries.is_empty()).then(|| at.get(&self.model.entries).lsn)
    }
}

fn reopen(disk: &FaultDisk, policy: SyncPolicy) -> Wal {
    Wal::open(Arc::new(disk.clone()), dir(), Options { sync: policy, ..options() }).unwrap().0
}

fn look(wal: &Wal) -> Model {
    Model { purged: wal.purged(), last: wal.last(), entries: all(wal) }
}

fn survives(lives: Vec<(Vec<Action>, u64)>, policy: SyncPolicy) {
    let mut disk = FaultDisk::new();
    let mut start = Model::default();
    let mut hard_state = None;
    for (number, (actions, seed)) in lives.into_iter().enumerate() {
        let wal = reopen(&disk, policy);
        assert_eq!(look(&wal), start, "opening twice finds the same");
        let mut life =
            Life { model: start.clone(), steps: Vec::new(), certain: Arc::new(AtomicUsize::new(0)), hard_state };
        let wal = life.run(&disk, wal, &actions, number as u64 + 1, policy);
        let next_disk = disk.power_cut(seed);
        // Joins the threads, so that every callback has run. Any success they report comes from before the cut.
        drop(wal);
        disk = next_disk;
        let certain = life.certain.load(Ordering::SeqCst);

        let wal = reopen(&disk, policy);
        let found = look(&wal);
        assert_eq!(wal.hard_state().map(|bytes| bytes[0]), life.hard_state);
        let began = (start.purged, start.last);
        let mut expected = start;
        let mut matches = certain == 0 && found == expected;
        for (number, step) in life.steps.iter().enumerate() {
            expected.apply(step);
            matches |= number + 1 >= certain && found == expected;
        }
        assert!(
            matches,
            "life {number}: it began with {:?} to {:?}; after {certain} certain of {} steps the log has {:?} to {:?}",
            began.0,
            began.1,
            life.steps.len(),
            found.purged,
            found.last,
        );
        start = found;
        hard_state = life.hard_state;
        // Another cut right after opening changes nothing: what was found counts as durable.
        disk = disk.power_cut(seed.wrapping_add(1));
        drop(wal);
    }
}

fn lives() -> impl Strategy<Value = Vec<(Vec<Action>, u64)>> {
    prop::collection::vec((prop::collection::vec(action(), 0..25), any::<u64>()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_was_durable_survives_power_cuts(lives in lives()) {
        survives(lives, SyncPolicy::Always);
    }

    #[test]
    fn what_the_system_had_is_there_in_order_or_not_at_all(lives in lives()) {
        survives(lives, SyncPolicy::Os);
    }
}

#[test]
fn what_a_failed_sync_left_in_memory_is_not_taken_for_durable() {
    for seed in 0..50 {
        let disk = FaultDisk::new().power_cut(seed);
        let wal = open_without_spares(&disk);
        append_durably(&wal, &[record(1, 0, 100)]);
        disk.fail_after(daybook_sim::FaultPoint::Sync, 0, std::io::ErrorKind::Other);
        let (done, result) = std::sync::mpsc::channel();
        append(&wal, &[record(1, 1, 800), record(1, 2, 800)], move |result| done.send(result).unwrap()).unwrap();
        assert!(result.recv().unwrap().is_err());
        drop(wal);
        // The next start reads it from memory, and must bring it to the disk before it says it is there.
        let (wal, _) = open(&disk);
        assert_eq!(wal.durable(), Some(Lsn(2)));
        let disk = disk.power_cut(seed);
        drop(wal);
        assert_eq!(open(&disk).0.last(), Some((Term(1), Lsn(2))));
    }
}
