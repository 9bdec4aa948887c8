//! The fault disk keeps what it promises: without this, tests on it prove nothing.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::{ErrorKind, IoSlice};
use std::path::Path;

use daybook_sim::{FaultDisk, FaultPoint};
use daybook_world::{Disk, DiskFile};

const SEEDS: u64 = 200;

fn write(file: &dyn DiskFile, at: u64, bytes: &[u8]) {
    file.write_all_at(&[IoSlice::new(bytes)], at).unwrap();
}

/// A disk with `/d/f` holding 2 KiB of ones, durable.
fn disk_with_file() -> (FaultDisk, std::sync::Arc<dyn DiskFile>) {
    let disk = FaultDisk::new();
    disk.create_dir_all(Path::new("d")).unwrap();
    let file = disk.create(Path::new("d/f")).unwrap();
    write(&*file, 0, &[1; 2048]);
    file.sync_data().unwrap();
    disk.sync_dir(Path::new("d")).unwrap();
    (disk, file)
}

#[test]
fn what_was_synced_survives_every_cut() {
    for seed in 0..SEEDS {
        let (disk, _file) = disk_with_file();
        let after = disk.power_cut(seed);
        assert_eq!(after.contents(Path::new("d/f")), Some(vec![1; 2048]));
    }
}

#[test]
fn unsynced_writes_survive_whole_or_torn_by_sector_or_not_at_all() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, file) = disk_with_file();
        write(&*file, 500, &[2; 1024]);
        let left = disk.power_cut(seed).contents(Path::new("d/f")).unwrap();
        assert_eq!(left.len(), 2048);
        assert!(left[..500].iter().chain(&left[1524..]).all(|byte| *byte == 1), "bytes nobody wrote have changed");
        let sectors = [500..512, 512..1024, 1024..1524].map(|range| {
            let sector = &left[range];
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is mixed");
            sector[0]
        });
        seen.insert(sectors);
    }
    assert_eq!(seen.len(), 8, "all eight ways of tearing three sectors happen: {seen:?}");
}

#[test]
fn a_sector_never_has_the_newer_of_two_writes_without_the_older() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, file) = disk_with_file();
        write(&*file, 0, &[2; 10]);
        write(&*file, 10, &[3; 10]);
        let left = disk.power_cut(seed).contents(Path::new("d/f")).unwrap();
        seen.insert((left[0], left[10]));
    }
    assert_eq!(seen, BTreeSet::from([(1, 1), (2, 1), (2, 3)]));
}

#[test]
fn lengths_are_kept_or_dropped() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, file) = disk_with_file();
        file.set_len(100).unwrap();
        seen.insert(disk.power_cut(seed).contents(Path::new("d/f")).unwrap().len());
    }
    assert_eq!(seen, BTreeSet::from([100, 2048]));
}

#[test]
fn names_need_a_sync_of_their_directory_and_renames_are_whole() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, _file) = disk_with_file();
        disk.create(Path::new("d/new")).unwrap().sync_data().unwrap();
        disk.rename(Path::new("d/f"), Path::new("d/g")).unwrap();
        let after = disk.power_cut(seed);
        let names = after.list(Path::new("d")).unwrap();
        let kept = if names.contains(&"g".to_owned()) { "d/g" } else { "d/f" };
        assert_eq!(after.contents(Path::new(kept)), Some(vec![1; 2048]));
        seen.insert(names);
    }
    assert_eq!(seen.len(), 4, "{seen:?}");

    for seed in 0..SEEDS {
        let (disk, _file) = disk_with_file();
        disk.rename(Path::new("d/f"), Path::new("d/g")).unwrap();
        disk.sync_dir(Path::new("d")).unwrap();
        assert_eq!(disk.power_cut(seed).list(Path::new("d")).unwrap(), ["g"]);
    }
}

#[test]
fn the_old_disk_is_dead_after_a_cut() {
    let (disk, file) = disk_with_file();
    let after = disk.power_cut(1);
    assert!(file.sync_data().is_err());
    assert!(file.write_all_at(&[IoSlice::new(b"x")], 0).is_err());
    assert!(disk.remove(Path::new("d/f")).is_err());
    assert!(after.contents(Path::new("d/f")).is_some());
}

#[test]
fn a_failed_sync_loses_for_good_what_it_did_not_write() {
    let mut lost = 0;
    for seed in 0..SEEDS {
        let (disk, file) = disk_with_file();
        let disk = {
            drop(file);
            disk.power_cut(seed)
        };
        let file = disk.open(Path::new("d/f")).unwrap();
        write(&*file, 0, &[2; 512]);
        disk.fail_after(FaultPoint::Sync, 0, ErrorKind::Other);
        assert!(file.sync_data().is_err());
        assert!(file.sync_data().is_ok(), "the next sync claims success");
        let mut byte = [0];
        file.read_at(&mut byte, 0).unwrap();
        assert_eq!(byte, [2], "readers see the page cache");
        lost += usize::from(disk.durable_contents(Path::new("d/f")).unwrap()[0] == 1);
    }
    assert!(lost > 0 && lost < SEEDS as usize, "{lost} of {SEEDS}");
}

#[test]
fn a_full_disk_takes_what_fits_and_says_so() {
    let (disk, file) = disk_with_file();
    disk.set_capacity(Some(2048 + 100));
    assert_eq!(disk.bytes_free().unwrap(), 100);
    write(&*file, 0, &[5; 2048]);
    let error = file.write_all_at(&[IoSlice::new(&[9; 200])], 2048).unwrap_err();
    assert!(error.is_full());
    assert_eq!(file.len().unwrap(), 2148);
}

#[test]
fn planned_failures_come_when_planned() {
    let (disk, file) = disk_with_file();
    disk.fail_after(FaultPoint::Write, 1, ErrorKind::TimedOut);
    write(&*file, 0, b"good");
    let error = file.write_all_at(&[IoSlice::new(b"half")], 0).unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::TimedOut);
    write(&*file, 0, b"good");
    disk.fail_after(FaultPoint::Name, 0, ErrorKind::PermissionDenied);
    assert!(disk.rename(Path::new("d/f"), Path::new("d/g")).is_err());
    assert!(disk.exists(Path::new("d/f")).unwrap());
}

#[test]
fn paused_syncs_wait() {
    let (disk, file) = disk_with_file();
    disk.pause_syncs();
    let syncing = std::thread::spawn(move || file.sync_data());
    disk.wait_for_paused_sync();
    assert!(!syncing.is_finished());
    disk.resume_syncs();
    syncing.join().unwrap().unwrap();
}

#[test]
fn flipped_bits_are_durable() {
    let (disk, _file) = disk_with_file();
    assert!(disk.flip_bit(Path::new("d/f"), 7, 3));
    assert!(!disk.flip_bit(Path::new("d/f"), 4096, 0));
    assert_eq!(disk.power_cut(3).contents(Path::new("d/f")).unwrap()[7], 1 ^ 8);
}
