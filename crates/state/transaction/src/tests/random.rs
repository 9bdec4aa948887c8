//! Random histories of transactional ids: nobody who was fenced goes on.

use std::collections::{BTreeMap, BTreeSet};

use daybook_command::{EndTransaction, InitProducer, TransactionalProducer};
use daybook_types::{PartitionId, PartitionIndex, ProducerEpoch, ProducerId, TimestampMs, TransactionalId};
use proptest::prelude::*;

use crate::{Ending, Transactional, Transactions};

#[derive(Clone, Copy, Debug)]
enum Step {
    Init,
    GoOn { back: i16 },
    Write { back: i16, partition: i32 },
    End { back: i16, commits: bool, bumps: bool },
    TimeOut,
}

fn steps() -> impl Strategy<Value = Vec<(u8, Step)>> {
    let back = 0..3i16;
    let step = prop_oneof![
        1 => Just(Step::Init),
        1 => back.clone().prop_map(|back| Step::GoOn { back }),
        6 => (back.clone(), 0..3).prop_map(|(back, partition)| Step::Write { back, partition }),
        4 => (back, any::<bool>(), any::<bool>()).prop_map(|(back, commits, bumps)| Step::End { back, commits, bumps }),
        1 => Just(Step::TimeOut),
    ];
    proptest::collection::vec((0..3u8, step), 1..120)
}

proptest! {
    /// Whatever is asked by whomever: what was written ends exactly once, by the epoch that wrote it or a later one, and a zombie
    /// changes nothing.
    #[test]
    fn what_is_written_ends_once(steps in steps()) {
        let mut transactions = Transactions::default();
        let mut next_id = 0;
        let mut written: BTreeMap<ProducerId, BTreeSet<PartitionId>> = BTreeMap::new();
        for (time, (number, step)) in (1_000i64..).zip(steps) {
            let id = TransactionalId::new(&number.to_string());
            let before = transactions.get(&id).cloned();
            let (producer, epoch) = before.as_ref().map_or((0, 0), |state| (state.producer.0, state.epoch.0));
            let speaker = |back: i16| TransactionalProducer {
                transactional_id: id.clone(),
                id: ProducerId(producer),
                epoch: ProducerEpoch((epoch - back).max(0)),
            };
            let mut ids = || {
                next_id += 1;
                ProducerId(next_id - 1)
            };
            let time = TimestampMs(time);
            let init = |expected| InitProducer { transactional_id: id.clone(), timeout_ms: 5, expected };
            let ending: Option<Ending> = match step {
                Step::Init => transactions.init(&init(None), time, &mut ids).ok().and_then(|(_, ending)| ending),
                Step::GoOn { back } => {
                    let TransactionalProducer { id, epoch, .. } = speaker(back);
                    transactions.init(&init(Some((id, epoch))), time, &mut ids).ok().and_then(|(_, ending)| ending)
                }
                Step::Write { back, partition } => {
                    let partition = PartitionId { index: PartitionIndex(partition), ..PartitionId::default() };
                    if transactions.admit(&speaker(back), partition, true, time).is_ok() {
                        prop_assert_eq!(speaker(back).epoch.0, epoch, "a zombie wrote");
                        written.entry(ProducerId(producer)).or_default().insert(partition);
                    }
                    None
                }
                Step::End { back, commits, bumps } => {
                    let end = EndTransaction { producer: speaker(back), commits, bumps_epoch: bumps };
                    let ended = transactions.end(&end, time, &mut ids).ok().and_then(|(_, ending)| ending);
                    prop_assert!(ended.as_ref().is_none_or(|ended| ended.commits == commits && end.producer.epoch.0 == epoch));
                    ended
                }
                Step::TimeOut => {
                    let started = before.as_ref().and_then(Transactional::open).map_or(TimestampMs(0), |open| open.started);
                    transactions.time_out(&speaker(0), started, time).ok()
                }
            };
            if let Some(ending) = ending {
                prop_assert!(ending.epoch.0 >= epoch);
                prop_assert_eq!(Some(ending.partitions), written.remove(&ending.producer));
            }
            // What is looked up by agrees with what is kept.
            let open: BTreeSet<_> = transactions.all().filter(|(_, state)| state.open().is_some()).map(|(id, _)| id.clone()).collect();
            let known: BTreeSet<_> = transactions.open.iter().map(|(_, id)| id.clone()).collect();
            prop_assert_eq!(open, known);
            prop_assert_eq!(transactions.by_producer.len(), transactions.by_id.len());
            for (id, state) in transactions.all() {
                prop_assert_eq!(transactions.by_producer.get(&state.producer), Some(id));
                prop_assert_eq!(state.open().is_some(), written.contains_key(&state.producer));
            }
        }
    }
}
