//! Segments are made ahead, used again and taken away in an order that no power cut can make a hole of.

use std::collections::BTreeSet;
use std::sync::Arc;

use daybook_sim::{FaultDisk, FaultPoint};
use daybook_types::{Lsn, Term};
use daybook_wal::{Options, ReadError, Wal};
use daybook_world::Disk;

use crate::fixture::{
    SEGMENT_BYTES, all, append_durably, dir, fill, open, options, record, segment_files, spare_files,
};

#[test]
fn a_full_segment_is_followed_by_the_next() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = fill(&wal, 1, 0, 100, 80);
    // 15 records of 128 bytes fit the first, 31 each of the others.
    let names: Vec<_> = segment_files(&disk).iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    let expected: Vec<_> = [0, 15, 46, 77].iter().map(|lsn| format!("{lsn:020}.wal")).collect();
    assert_eq!(names, expected.iter().map(|name| name.as_str()).collect::<Vec<_>>());
    for file in &segment_files(&disk)[1..] {
        assert_eq!(disk.open(file).unwrap().len().unwrap(), SEGMENT_BYTES);
    }
    assert_eq!(all(&wal), records);
}

#[test]
fn purged_segments_are_used_again_with_their_remnants() {
    let disk = FaultDisk::new();
    let mut model = Vec::new();
    let mut next = 0;
    // Without preparing ahead, every new segment file but the first few is an old one.
    for life in 1..6 {
        let (wal, recovered) = open(&disk);
        assert_eq!(recovered.cut, None, "remnants are no torn tail");
        assert_eq!(all(&wal), model);
        for _ in 0..5 {
            model.extend(fill(&wal, life, next, next + 40, 80));
            next += 40;
            wal.purge_to(Lsn(next - 25)).unwrap();
            model.drain(..model.len() - 24);
            assert_eq!(all(&wal), model);
            assert_eq!(wal.purged(), Some((Term(life), Lsn(next - 25))));
        }
        wal.close().unwrap();
        assert!(segment_files(&disk).len() <= 3, "{:?}", segment_files(&disk));
        assert!(spare_files(&disk).len() <= 2);
    }
    let spare = spare_files(&disk).first().cloned().expect("a spare is kept");
    assert!(disk.contents(&spare).unwrap().iter().any(|byte| *byte != 0), "it isn't wiped");
}

#[test]
fn purged_entries_are_gone_at_once_and_for_good() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = fill(&wal, 3, 0, 10, 20);
    wal.purge_to(Lsn(4)).unwrap();
    wal.purge_to(Lsn(2)).unwrap();
    let check = |wal: &Wal| {
        assert_eq!(wal.purged(), Some((Term(3), Lsn(4))));
        let error = wal.read(Lsn(4), Lsn(6), 1000).unwrap_err();
        assert!(matches!(error, ReadError::Purged { from: Lsn(4), purged: Lsn(4) }));
        assert_eq!(all(wal), records[5..]);
    };
    check(&wal);
    wal.truncate_from(Lsn(0)).unwrap();
    assert_eq!(wal.last(), Some((Term(3), Lsn(4))), "what is purged stays so");
    append_durably(&wal, &records[5..]);
    wal.close().unwrap();
    let (wal, _) = open(&disk);
    check(&wal);
    wal.purge_to(Lsn(100)).unwrap();
    assert_eq!((wal.last(), wal.purged()), (Some((Term(3), Lsn(9))), Some((Term(3), Lsn(9)))));
    wal.close().unwrap();
    let (wal, _) = open(&disk);
    assert_eq!((wal.last(), wal.purged()), (Some((Term(3), Lsn(9))), Some((Term(3), Lsn(9)))));
    assert_eq!(all(&wal), []);
}

#[test]
fn a_segment_that_begins_like_another_gets_a_name_of_its_own() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let mut model = fill(&wal, 1, 0, 46, 80);
    // The segment named after 46 holds 46 only until it is truncated; its end is filled with 30 to 45.
    model.extend(fill(&wal, 1, 46, 47, 80));
    wal.truncate_from(Lsn(30)).unwrap();
    model.truncate(30);
    model.extend(fill(&wal, 2, 30, 46, 80));
    append_durably(&wal, &[record(2, 46, 3000)]);
    model.push(record(2, 46, 3000));
    let names: BTreeSet<_> = segment_files(&disk).into_iter().collect();
    assert!(names.iter().any(|path| path.to_str().unwrap().contains(&format!("{:020}-", 46))), "{names:?}");
    assert_eq!(all(&wal), model);
    wal.close().unwrap();
    let (wal, _) = open(&disk);
    assert_eq!(all(&wal), model);
    wal.purge_to(Lsn(44)).unwrap();
    wal.close().unwrap();
    assert_eq!(all(&open(&disk).0), model[45..]);
}

#[test]
fn purging_beyond_a_truncation_into_an_older_segment_reopens() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    // Segments from 0, 15, 46 and 77; the truncation lies in the last one and reaches back into the second.
    let mut model = fill(&wal, 1, 0, 80, 80);
    wal.truncate_from(Lsn(40)).unwrap();
    model.truncate(40);
    model.extend(fill(&wal, 2, 40, 45, 80));
    wal.purge_to(Lsn(39)).unwrap();
    wal.close().unwrap();
    assert_eq!(segment_files(&disk).len(), 1, "all before the truncation is free: {:?}", segment_files(&disk));
    let (wal, recovered) = open(&disk);
    assert_eq!(recovered.purged, Some((Term(1), Lsn(39))));
    assert_eq!(all(&wal), model[40..]);
}

#[test]
fn without_spares_writers_make_segments_themselves() {
    let disk = FaultDisk::new();
    let options = Options { spare_segments_max: 0, ..options() };
    let (wal, _) = Wal::open(Arc::new(disk.clone()), dir(), options).unwrap();
    let records = fill(&wal, 1, 0, 200, 80);
    wal.purge_to(Lsn(150)).unwrap();
    wal.close().unwrap();
    assert_eq!(spare_files(&disk), Vec::<std::path::PathBuf>::new());
    assert_eq!(all(&open(&disk).0), records[151..]);
}

#[test]
fn a_segment_that_cannot_be_taken_back_stays_with_all_after_it() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = fill(&wal, 1, 0, 200, 80);
    let before = segment_files(&disk).len();
    disk.fail_after(FaultPoint::Name, 0, std::io::ErrorKind::PermissionDenied);
    wal.purge_to(Lsn(100)).unwrap();
    wal.close().unwrap();
    assert_eq!(segment_files(&disk).len(), before, "no hole, hence none is gone");
    let (wal, _) = open(&disk);
    assert_eq!(all(&wal), records[101..]);
    wal.close().unwrap();
    assert!(segment_files(&disk).len() < before, "the next life frees them");
    assert_eq!(all(&open(&disk).0), records[101..]);
}

/// Found by the power-cut test: the rename of a new segment was lost, so its file was a spare again, with records that
/// were never durable. The log went on with the very same segment header, and they counted.
#[test]
fn records_in_a_file_that_became_a_spare_again_never_come_back() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    fill(&wal, 1, 0, 15, 80);
    fill(&wal, 1, 15, 20, 80);
    drop(wal);
    let newest = segment_files(&disk).pop().unwrap();
    disk.rename(&newest, &dir().join("0000000099.spare")).unwrap();
    disk.sync_dir(dir()).unwrap();

    let (wal, _) = open(&disk);
    assert_eq!(wal.last(), Some((Term(1), Lsn(14))));
    // The first lost entry again, byte for byte, so that the others would follow.
    fill(&wal, 1, 15, 16, 80);
    let disk = disk.power_cut(0);
    drop(wal);
    assert_eq!(open(&disk).0.last(), Some((Term(1), Lsn(15))));
}

#[test]
fn readers_go_on_while_segments_are_recycled() {
    let disk = FaultDisk::new();
    let wal = Arc::new(open(&disk).0);
    fill(&wal, 1, 0, 10, 80);
    let reader = {
        let wal = wal.clone();
        std::thread::spawn(move || {
            let mut seen = 0;
            loop {
                let from = wal.purged().map_or(Lsn(0), |(_, lsn)| lsn.next());
                match wal.read(from, from.plus(5), 10_000) {
                    Ok(records) => {
                        for (found, lsn) in records.iter().zip(from.0..) {
                            assert_eq!(found, &record(1, lsn, 80));
                        }
                        seen += records.len();
                    }
                    Err(ReadError::Purged { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                if from >= Lsn(1900) {
                    return seen;
                }
            }
        })
    };
    for lsn in 10..2000 {
        append_durably(&wal, &[record(1, lsn, 80)]);
        if lsn % 20 == 0 {
            wal.purge_to(Lsn(lsn - 8)).unwrap();
        }
    }
    assert!(reader.join().unwrap() > 0);
}
