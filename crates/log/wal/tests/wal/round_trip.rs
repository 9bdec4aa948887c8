//! What is written comes back, in one life of the log and the next.

use std::path::Path;
use std::sync::Arc;

use daybook_sim::FaultDisk;
use daybook_types::{Lsn, Term};
use daybook_wal::{Content, Options, PAYLOAD_BYTES_MAX, ReadError, SyncPolicy, Wal, scan};
use daybook_world::RealDisk;
use proptest::prelude::*;

use crate::fixture::{all, append, append_durably, append_later, dir, fill, open, options, record};

#[test]
fn an_empty_log_has_nothing() {
    let disk = FaultDisk::new();
    for _ in 0..2 {
        let (wal, recovered) = open(&disk);
        assert_eq!((recovered.last, recovered.purged, recovered.entries, recovered.cut), (None, None, 0, None));
        assert_eq!((wal.last(), wal.purged(), wal.durable(), wal.hard_state()), (None, None, None, None));
        assert_eq!(wal.read(Lsn(0), Lsn(10), 100).unwrap(), []);
        assert_eq!(wal.bytes_after(Lsn(0)), 0);
        wal.truncate_from(Lsn(0)).unwrap();
        wal.purge_to(Lsn(7)).unwrap();
        wal.close().unwrap();
    }
}

#[test]
fn entries_come_back_and_survive_reopening() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = [record(1, 0, 0), record(1, 1, 1), record(1, 2, 7), record(2, 3, 8), record(2, 4, 500)];
    append_durably(&wal, &records);
    assert_eq!(wal.last(), Some((Term(2), Lsn(4))));
    assert_eq!(wal.durable(), Some(Lsn(4)));
    assert_eq!(all(&wal), records);
    wal.close().unwrap();

    let (wal, recovered) = open(&disk);
    assert_eq!(recovered.last, Some((Term(2), Lsn(4))));
    assert_eq!(recovered.entries, 5);
    assert_eq!(recovered.cut, None);
    assert_eq!(wal.durable(), Some(Lsn(4)));
    assert_eq!(all(&wal), records);
    let more = fill(&wal, 3, 5, 20, 100);
    assert_eq!(all(&wal), [&records[..], &more].concat());
}

#[test]
fn an_empty_append_is_durable_with_what_precedes_it() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    append_durably(&wal, &[]);
    append(&wal, &[record(1, 0, 10)], |_| {}).unwrap();
    append_durably(&wal, &[]);
    assert_eq!(wal.durable(), Some(Lsn(0)));
}

#[test]
fn reads_respect_their_bounds() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = fill(&wal, 1, 0, 40, 80);
    let lsns = |from, to, bytes_max| -> Vec<u64> {
        wal.read(Lsn(from), Lsn(to), bytes_max).unwrap().iter().map(|record| record.lsn.0).collect()
    };
    assert_eq!(lsns(3, 6, 1 << 20), [3, 4, 5]);
    assert_eq!(lsns(3, 6, 0), [3], "at least one");
    assert_eq!(lsns(3, 40, 3 * 128), [3, 4, 5]);
    assert_eq!(lsns(38, 1000, 1 << 20), [38, 39]);
    assert_eq!(lsns(40, 1000, 1 << 20), []);
    assert_eq!(lsns(6, 6, 1 << 20), []);
    assert_eq!(lsns(6, 3, 1 << 20), []);
    assert_eq!(wal.read(Lsn(0), Lsn(40), 1 << 20).unwrap(), records, "over several segments");
}

#[test]
fn a_record_longer_than_a_segment_gets_one_of_its_own() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = vec![record(1, 0, 10), record(1, 1, 100_000), record(1, 2, 10)];
    append_durably(&wal, &records);
    assert_eq!(all(&wal), records);
    wal.close().unwrap();
    let (wal, _) = open(&disk);
    assert_eq!(all(&wal), records);
}

#[test]
fn bytes_after_counts_what_recovery_would_read() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    fill(&wal, 1, 0, 100, 80);
    assert_eq!(wal.bytes_after(Lsn(99)), 0);
    assert_eq!(wal.bytes_after(Lsn(98)), 128);
    assert_eq!(wal.bytes_after(Lsn(0)), 99 * 128);
    assert_eq!(wal.bytes_after(Lsn(1000)), 0);
    wal.purge_to(Lsn(49)).unwrap();
    assert_eq!(wal.bytes_after(Lsn(10)), 50 * 128 + 48, "the note of the purge counts too");
}

#[test]
fn the_hard_state_is_replaced_and_survives() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    wal.save_hard_state(b"term 1").unwrap();
    wal.save_hard_state(b"term 2, voted").unwrap();
    assert_eq!(wal.hard_state().unwrap(), &b"term 2, voted"[..]);
    drop(wal);
    let (wal, _) = open(&disk);
    assert_eq!(wal.hard_state().unwrap(), &b"term 2, voted"[..]);
    wal.save_hard_state(b"").unwrap();
    drop(wal);
    assert_eq!(open(&disk).0.hard_state().unwrap(), &b""[..]);
}

#[test]
fn truncated_entries_are_gone_and_replaced() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    // Over several segments, so that the place where the log goes on lies in another than the place where it was cut.
    let mut model = fill(&wal, 1, 0, 100, 80);
    for (term, cut) in [(2, 90), (3, 90), (4, 10), (5, 11), (6, 0)] {
        wal.truncate_from(Lsn(cut)).unwrap();
        model.truncate(cut as usize);
        assert_eq!(wal.last(), model.last().map(|record| (record.term, record.lsn)));
        assert_eq!(wal.durable(), model.last().map(|record| record.lsn));
        assert_eq!(all(&wal), model);
        model.extend(fill(&wal, term, cut, cut + 30, 60));
        assert_eq!(all(&wal), model);
    }
    wal.truncate_from(Lsn(30)).unwrap();
    assert_eq!(all(&wal), model, "nothing lies there");
    drop(wal);
    let (wal, _) = open(&disk);
    assert_eq!(all(&wal), model);
}

#[test]
fn an_emptied_log_takes_any_first_entry() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    fill(&wal, 1, 5, 10, 10);
    wal.truncate_from(Lsn(5)).unwrap();
    assert_eq!((wal.last(), wal.durable()), (None, None));
    let records = fill(&wal, 2, 3, 5, 10);
    assert_eq!(wal.read(Lsn(3), Lsn(9), 1000).unwrap(), records);
    drop(wal);
    assert_eq!(open(&disk).0.read(Lsn(3), Lsn(9), 1000).unwrap(), records);
}

#[test]
fn skipping_leaves_the_log_empty_after_the_given_entry() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    fill(&wal, 1, 0, 100, 80);
    wal.skip_to(Term(7), Lsn(1000)).unwrap();
    let check = |wal: &Wal| {
        assert_eq!((wal.last(), wal.purged()), (Some((Term(7), Lsn(1000))), Some((Term(7), Lsn(1000)))));
        assert!(matches!(wal.read(Lsn(1000), Lsn(1001), 10), Err(ReadError::Purged { .. })));
        assert_eq!(wal.read(Lsn(1001), Lsn(1002), 10).unwrap(), []);
    };
    check(&wal);
    drop(wal);
    let (wal, _) = open(&disk);
    check(&wal);
    let records = fill(&wal, 8, 1001, 1100, 80);
    assert_eq!(all(&wal), records);
    wal.skip_to(Term(8), Lsn(1050)).unwrap();
    assert_eq!(wal.purged(), Some((Term(8), Lsn(1050))));
    assert_eq!(all(&wal), records[50..]);
    drop(wal);
    assert_eq!(all(&open(&disk).0), records[50..]);
}

#[test]
fn acknowledging_once_the_system_has_it_still_syncs_on_close() {
    let disk = FaultDisk::new();
    let open = |disk: &FaultDisk| {
        Wal::open(Arc::new(disk.clone()), dir(), Options { sync: SyncPolicy::Os, ..options() }).unwrap().0
    };
    let wal = open(&disk);
    let syncs = disk.syncs();
    let result = append_later(&wal, &[record(1, 0, 100)]);
    result.try_recv().unwrap().unwrap();
    assert_eq!(disk.syncs(), syncs, "acknowledged without a sync");
    assert_eq!(wal.durable(), None);
    wal.sync().unwrap();
    assert_eq!(wal.durable(), Some(Lsn(0)));
    append(&wal, &[record(1, 1, 100)], |_| {}).unwrap();
    wal.close().unwrap();
    let wal = open(&disk.power_cut(1));
    assert_eq!(all(&wal), [record(1, 0, 100), record(1, 1, 100)]);
}

#[test]
#[should_panic(expected = "append of LSN 2")]
fn a_gap_is_a_mistake() {
    let (wal, _) = open(&FaultDisk::new());
    append_durably(&wal, &[record(1, 0, 1)]);
    let _ = append(&wal, &[record(1, 2, 1)], |_| {});
}

#[test]
fn works_on_the_machines_own_disk() {
    let root = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(root.path()).unwrap());
    let options = Options { segment_bytes: 64 * 1024, first_segment_bytes: 16 * 1024, ..Options::default() };
    let (wal, _) = Wal::open(disk.clone(), Path::new("wal"), options.clone()).unwrap();
    let mut records = fill(&wal, 1, 0, 300, 1000);
    wal.save_hard_state(b"vote").unwrap();
    wal.purge_to(Lsn(199)).unwrap();
    wal.truncate_from(Lsn(280)).unwrap();
    records.truncate(280);
    wal.close().unwrap();
    let (wal, recovered) = Wal::open(disk.clone(), Path::new("wal"), options).unwrap();
    assert_eq!(recovered.cut, None);
    assert_eq!(all(&wal), records[200..]);
    assert_eq!(wal.hard_state().unwrap(), &b"vote"[..]);
    drop(wal);
    assert!(scan(&*disk, Path::new("wal")).all(|item| item.is_ok()));
    const { assert!(PAYLOAD_BYTES_MAX >= 256 << 20) };
}

#[test]
fn a_scan_shows_every_record_and_changes_nothing() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = fill(&wal, 1, 0, 30, 200);
    wal.truncate_from(Lsn(25)).unwrap();
    wal.purge_to(Lsn(1)).unwrap();
    wal.close().unwrap();
    let (writes, syncs) = (disk.writes(), disk.syncs());
    let mut scan = scan(&disk, dir());
    let contents: Vec<_> = scan.by_ref().map(|item| item.unwrap().content).collect();
    let mut expected: Vec<_> = records.into_iter().map(Content::Entry).collect();
    expected.push(Content::Truncated { last: Some((Term(1), Lsn(24))) });
    expected.push(Content::Purged { through: (Term(1), Lsn(1)) });
    expected.push(Content::Mark);
    assert_eq!(contents, expected);
    assert_eq!(scan.torn(), None);
    assert_eq!((disk.writes(), disk.syncs()), (writes, syncs));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_lengths_round_trip(appends in prop::collection::vec(prop::collection::vec(0..1500_usize, 0..6), 0..20)) {
        let disk = FaultDisk::new();
        let (wal, _) = open(&disk);
        let mut model = Vec::new();
        for lengths in appends {
            let first = model.len() as u64;
            let records: Vec<_> = lengths.iter().zip(first..).map(|(length, lsn)| record(lsn / 3, lsn, *length)).collect();
            append_durably(&wal, &records);
            model.extend(records);
        }
        prop_assert_eq!(&all(&wal), &model);
        wal.close().unwrap();
        let (wal, recovered) = open(&disk);
        prop_assert_eq!(&all(&wal), &model);
        prop_assert_eq!(recovered.cut, None);
        prop_assert_eq!(recovered.entries, model.len() as u64);
    }
}
