//! The power goes while segments are written anew, or between the steps after it: what the last committed checkpoint noted is there,
//! the old segment or the new one, whole, and nothing beside it.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use daybook_record::Record;
use daybook_segment::{FileEnds, PartitionFiles, PartitionStore, RewriteError};
use daybook_sim::fault_disk::{FaultDisk, FaultPoint};
use daybook_types::Offset;
use daybook_world::Disk;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::bed::{ROLL, open, partition, read_all, stamped, stored};
use crate::model::base_offset;
use crate::rewrite::{By, left_of};

/// One checkpoint with what was rewritten before it.
#[derive(Clone, Debug)]
struct Round {
    appended: usize,
    /// Segments at these parts of 100, each with the share of records that stays, and how many become one.
    rewrites: Vec<(usize, i64, usize)>,
}

fn round() -> impl Strategy<Value = Round> {
    (0..30_usize, vec((0..100_usize, 1..5_i64, 1..4_usize), 0..4))
        .prop_map(|(appended, rewrites)| Round { appended, rewrites })
}

/// How far the last round comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reaches {
    Rewrite,
    Adopt,
    Append,
    Sync,
    Commit,
    Publish,
}

const ALL: [Reaches; 6] =
    [Reaches::Rewrite, Reaches::Adopt, Reaches::Append, Reaches::Sync, Reaches::Commit, Reaches::Publish];

/// The index store's part.
#[derive(Default)]
struct Committed {
    ends: FileEnds,
    batches: Vec<Bytes>,
}

impl Committed {
    /// Opens the partition as a start does and checks that exactly what was committed is there.
    fn restored(&self, disk: &FaultDisk) -> Result<(PartitionStore, Arc<PartitionFiles>), TestCaseError> {
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let store = open(&disk);
        let files = store.restore(partition(0), &self.ends).unwrap();
        store.sweep().unwrap();
        prop_assert_eq!(&read_all(&files, 2_000), &self.batches);
        files.verify(|_| {}).unwrap();
        let mut named = 0;
        for segment in &self.ends.segments {
            named += 1 + usize::from(segment.index_bytes > 0);
        }
        let dir = Path::new("shard-0/partitions").join(partition(0).to_string());
        prop_assert_eq!(disk.list(&dir).unwrap().len(), named, "a file that no checkpoint names was left");
        Ok((store, files))
    }

    fn run(&mut self, store: &PartitionStore, files: &PartitionFiles, round: &Round, reaches: Reaches) {
        let mut after = self.batches.clone();
        for (at, share, count) in &round.rewrites {
            let segments = files.segments();
            let run: Vec<_> = segments.iter().skip(segments.len() * at / 100).take(*count).collect();
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let is_last = segments.last() == Some(*last);
            let bases = first.base_offset..last.base_offset.next();
            let keep = |record: &Record| (record.offset.0 * 7) % 5 < *share;
            match files.rewrite_run(bases, ROLL.index_interval_bytes, &mut By(keep)) {
                Err(RewriteError::Busy) => {}
                Err(error) => panic!("{error}"),
                Ok(None) => panic!("the segment is there"),
                Ok(Some(rewritten)) if rewritten.is_replaced => {
                    let range = first.base_offset.0..last.next_offset.0;
                    let at = after.partition_point(|batch| base_offset(batch) < range.start);
                    let end = after.partition_point(|batch| base_offset(batch) < range.end);
                    let left = left_of(&after[at..end], is_last, keep);
                    after.splice(at..end, left);
                }
                Ok(Some(_)) => {}
            }
        }
        if reaches == Reaches::Rewrite {
            return;
        }
        store.adopt_rewritten();
        if reaches == Reaches::Adopt {
            return;
        }
        let from = self.ends.next_offset().map_or(0, |offset| offset.0);
        let batches: Vec<Bytes> =
            (0..round.appended as i64).map(|number| stored(from + number * 2, 2, 60, from + number)).collect();
        files.append(&batches.iter().map(stamped).collect::<Vec<_>>(), ROLL).unwrap();
        if reaches == Reaches::Append {
            return;
        }
        files.sync().unwrap();
        if reaches == Reaches::Sync {
            return;
        }
        after.extend(batches);
        (self.ends, self.batches) = (files.ends(), after);
        if reaches == Reaches::Publish {
            files.publish();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_old_segment_or_the_new_one_is_there(
        lives in vec((vec(round(), 0..5), round(), prop::sample::select(ALL.to_vec()), any::<u64>()), 1..4),
    ) {
        let mut disk = FaultDisk::new();
        let mut committed = Committed::default();
        for (whole, last, reaches, seed) in lives {
            let (store, files) = committed.restored(&disk)?;
            for round in &whole {
                committed.run(&store, &files, round, Reaches::Publish);
                prop_assert_eq!(&read_all(&files, 2_000), &committed.batches);
            }
            committed.run(&store, &files, &last, reaches);
            disk = disk.power_cut(seed);
        }
        committed.restored(&disk)?;
    }

    /// A disk that fails at some moment of a rewrite, and the power goes then or after it was tried again.
    #[test]
    fn a_rewrite_that_failed_can_be_made_again(
        before in vec(round(), 1..4),
        point in prop::sample::select(vec![FaultPoint::Write, FaultPoint::Sync, FaultPoint::Name]),
        successes in 0..5_u64,
        is_cut_at_once in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let disk = FaultDisk::new();
        let mut committed = Committed::default();
        let (store, files) = committed.restored(&disk)?;
        committed.run(&store, &files, &Round { appended: 20, rewrites: Vec::new() }, Reaches::Publish);
        for round in &before {
            committed.run(&store, &files, round, Reaches::Publish);
        }
        disk.fail_after(point, successes, ErrorKind::StorageFull);
        let keep = |record: &Record| record.offset.0 % 3 == 0;
        let failed = files.rewrite(files.segments()[0].base_offset, 300, &mut By(keep)).is_err();
        prop_assert_eq!(&read_all(&files, 2_000), &committed.batches);
        if !failed || is_cut_at_once {
            // Where it hasn't failed, the failure is still to come.
            committed.restored(&disk.power_cut(seed))?;
            return Ok(());
        }
        committed.run(&store, &files, &Round { appended: 3, rewrites: vec![(0, 1, 1), (50, 2, 2)] }, Reaches::Publish);
        committed.restored(&disk.power_cut(seed))?;
    }
}

#[test]
fn without_room_nothing_is_begun() {
    let disk = FaultDisk::new();
    let mut committed = Committed::default();
    let (store, files) = committed.restored(&disk).unwrap();
    committed.run(&store, &files, &Round { appended: 20, rewrites: Vec::new() }, Reaches::Publish);
    disk.set_capacity(Some(1024 * 1024));
    let result = files.rewrite(Offset(0), 300, &mut By(|record: &Record| record.offset.0 > 30));
    assert!(matches!(result, Err(RewriteError::NoRoom { .. })), "{result:?}");
    assert_eq!(read_all(&files, 2_000), committed.batches);
}

#[test]
fn how_far_it_is_compacted_is_noted_by_a_checkpoint() {
    let disk = FaultDisk::new();
    let mut committed = Committed::default();
    let (store, files) = committed.restored(&disk).unwrap();
    committed.run(&store, &files, &Round { appended: 20, rewrites: Vec::new() }, Reaches::Publish);
    files.note_compacted(Offset(12));
    assert!(files.has_unpublished_rewrites() && store.has_rewritten());
    assert_eq!((files.compacted_to(), files.ends().compacted_to), (Offset(0), Offset(0)));
    // A checkpoint that fails leaves it to the next one.
    store.adopt_rewritten();
    assert_eq!((files.compacted_to(), files.ends().compacted_to), (Offset(0), Offset(12)));
    files.discard_unpublished().unwrap();
    assert_eq!(files.ends().compacted_to, Offset(0));
    committed.run(&store, &files, &Round { appended: 1, rewrites: Vec::new() }, Reaches::Publish);
    assert_eq!((files.compacted_to(), committed.ends.compacted_to), (Offset(12), Offset(12)));
    assert!(!files.has_unpublished_rewrites());
    // It never goes back, and survives.
    files.note_compacted(Offset(5));
    assert!(!files.has_unpublished_rewrites());
    let (_, files) = committed.restored(&disk.power_cut(1)).unwrap();
    assert_eq!(files.compacted_to(), Offset(12));
}
