//! The power goes at any moment: what the last committed checkpoint noted is there, bit for bit.

use std::io::ErrorKind;
use std::sync::Arc;

use bytes::Bytes;
use daybook_segment::{FileEnds, PartitionStore};
use daybook_sim::fault_disk::{FaultDisk, FaultPoint};
use daybook_types::Offset;
use daybook_world::Disk;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::bed::{ROLL, open, partition, read_all, stamped, stored};

/// What a checkpoint does to one partition.
#[derive(Clone, Debug)]
struct Checkpoint {
    partition: i32,
    batches: usize,
    trims: bool,
}

/// How far it comes before the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaches {
    Append,
    Sync,
    Commit,
    Publish,
}

fn checkpoint() -> impl Strategy<Value = Checkpoint> {
    (0..3_i32, 1..25_usize, prop::bool::weighted(0.3)).prop_map(|(partition, batches, trims)| Checkpoint {
        partition,
        batches,
        trims,
    })
}

/// The index store's part: what was committed, for each partition.
type Committed = [(FileEnds, Vec<Bytes>); 3];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_committed_survives(
        rounds in vec((vec(checkpoint(), 0..6), checkpoint(), 0..4_usize, any::<u64>()), 1..4),
    ) {
        let mut disk = FaultDisk::new();
        let mut committed = Committed::default();
        for (whole, last, reaches, seed) in rounds {
            let store = restored(&disk, &committed)?;
            for checkpoint in &whole {
                run(&store, checkpoint, Reaches::Publish, &mut committed);
            }
            let reaches = [Reaches::Append, Reaches::Sync, Reaches::Commit, Reaches::Publish][reaches];
            run(&store, &last, reaches, &mut committed);
            disk = disk.power_cut(seed);
        }
        restored(&disk, &committed)?;
    }

    /// A disk that fails at some moment: the checkpoint is taken back and made again, and the power goes.
    #[test]
    fn a_checkpoint_that_failed_can_be_made_again(
        before in vec(checkpoint(), 0..4),
        failing in checkpoint(),
        point in prop::sample::select(vec![FaultPoint::Write, FaultPoint::Sync, FaultPoint::Name]),
        successes in 0..4_u64,
        seed in any::<u64>(),
    ) {
        let disk = FaultDisk::new();
        let mut committed = Committed::default();
        let store = restored(&disk, &committed)?;
        for checkpoint in &before {
            run(&store, checkpoint, Reaches::Publish, &mut committed);
        }
        disk.fail_after(point, successes, ErrorKind::StorageFull);
        let files = store.get_or_create(partition(failing.partition));
        let batches = batches(&committed, &failing);
        let given: Vec<_> = batches.iter().map(stamped).collect();
        if files.append(&given, ROLL).and_then(|()| files.sync()).is_err() {
            prop_assert_eq!(&read_all(&files, 2_000), &committed[failing.partition as usize].1);
            files.discard_unpublished().unwrap();
            prop_assert_eq!(&files.ends(), &committed[failing.partition as usize].0);
            files.append(&given, ROLL).unwrap();
            files.sync().unwrap();
        }
        let slot = &mut committed[failing.partition as usize];
        slot.0 = files.ends();
        slot.1.extend(batches);
        restored(&disk.power_cut(seed), &committed)?;
    }
}

fn batches(committed: &Committed, checkpoint: &Checkpoint) -> Vec<Bytes> {
    let from = committed[checkpoint.partition as usize].0.next_offset().map_or(0, |offset| offset.0);
    (0..checkpoint.batches as i64).map(|number| stored(from + number, 1, 90, from + number)).collect()
}

fn run(store: &PartitionStore, checkpoint: &Checkpoint, reaches: Reaches, committed: &mut Committed) {
    let files = store.get_or_create(partition(checkpoint.partition));
    let batches = batches(committed, checkpoint);
    let given: Vec<_> = batches.iter().map(stamped).collect();
    files.append(&given, ROLL).unwrap();
    if reaches == Reaches::Append {
        return;
    }
    files.sync().unwrap();
    if reaches == Reaches::Sync {
        return;
    }
    let (ends, records) = &mut committed[checkpoint.partition as usize];
    records.extend(batches);
    let all = files.ends();
    let middle = all.segments[all.segments.len() / 2].base_offset;
    let start = if checkpoint.trims { middle } else { Offset(0) };
    *ends = all.trimmed(start);
    let first = ends.segments[0].base_offset;
    records.retain(|batch| daybook_record::verify(batch).unwrap().base_offset >= first);
    if reaches == Reaches::Publish {
        files.publish();
        files.trim(start).unwrap();
    }
}

/// Recovers, and checks that exactly what was committed is there.
fn restored(disk: &FaultDisk, committed: &Committed) -> Result<PartitionStore, TestCaseError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let store = open(&disk);
    for (index, (ends, batches)) in committed.iter().enumerate() {
        if ends.segments.is_empty() {
            continue;
        }
        let files = store.restore(partition(index as i32), ends).unwrap();
        prop_assert_eq!(&read_all(&files, 2_000), batches);
        files.verify(|_| {}).unwrap();
    }
    store.sweep().unwrap();
    Ok(store)
}
