//! Writes and syncs that fail stop the log and nothing else.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use daybook_sim::{FaultDisk, FaultPoint};
use daybook_types::{FaultKind, Lsn};
use daybook_wal::{Failure, FailureCause, Wal};
use daybook_world::{Disk, DiskError, DiskFile, Verb};

use crate::fixture::{
    all, append, append_alone, append_durably, append_later, dir, fill, open, open_without_spares, options, record,
    segment_files, try_open,
};

/// The log takes nothing more and says why; reads work.
fn assert_poisoned(disk: &FaultDisk, wal: &Wal, verb: Verb, full: bool) {
    let failure = wal.failure().expect("poisoned");
    assert_eq!(failure.is_disk_full(), full);
    assert_eq!(failure.kind(), FaultKind::RetryLater);
    let FailureCause::Disk(cause) = failure.cause() else { panic!("{failure:?}") };
    assert_eq!(cause.verb, verb);
    assert!(failure.to_string().contains("shard-0/wal"), "names the path: {failure}");

    let (writes, syncs) = (disk.writes(), disk.syncs());
    let next = wal.last().map_or(0, |(_, lsn)| lsn.0 + 1);
    let again = append(wal, &[record(9, next, 1)], |_| panic!("never told")).unwrap_err();
    assert_eq!(again.to_string(), failure.to_string());
    assert!(wal.truncate_from(Lsn(0)).is_err());
    assert!(wal.purge_to(Lsn(0)).is_err());
    assert!(wal.save_hard_state(b"x").is_err());
    assert!(wal.sync().is_err());
    assert_eq!((disk.writes(), disk.syncs()), (writes, syncs), "nothing is tried again");
}

#[test]
fn a_failed_sync_poisons_and_is_not_repeated() {
    let disk = FaultDisk::new();
    let wal = open_without_spares(&disk);
    let records = fill(&wal, 1, 0, 3, 100);
    disk.pause_syncs();
    let first = append_later(&wal, &[record(1, 3, 100)]);
    disk.wait_for_paused_sync();
    let waiting = append_later(&wal, &[record(1, 4, 100)]);
    disk.fail_after(FaultPoint::Sync, 0, ErrorKind::Other);
    disk.resume_syncs();
    assert!(first.recv().unwrap().is_err());
    assert!(waiting.recv().unwrap().is_err(), "no sync for it either");
    assert_poisoned(&disk, &wal, Verb::Sync, false);
    assert_eq!(wal.durable(), Some(Lsn(2)));
    assert_eq!(all(&wal)[..3], records);
    let syncs = disk.syncs();
    assert!(wal.close().is_err());
    assert_eq!(disk.syncs(), syncs, "closing doesn't try it either");

    let (wal, _) = open(&disk.power_cut(5));
    assert_eq!(all(&wal)[..3], records);
}

#[test]
fn a_failed_write_poisons_even_if_half_of_it_is_there() {
    let disk = FaultDisk::new();
    let wal = open_without_spares(&disk);
    let records = fill(&wal, 1, 0, 3, 100);
    disk.fail_after(FaultPoint::Write, 0, ErrorKind::Other);
    assert!(append(&wal, &[record(1, 3, 500)], |_| panic!("never told")).is_err());
    assert_poisoned(&disk, &wal, Verb::Write, false);
    assert_eq!(all(&wal), records);
    drop(wal);
    let (wal, recovered) = open(&disk);
    assert!(recovered.cut.is_some());
    assert_eq!(all(&wal), records);
    fill(&wal, 2, 3, 6, 50);
}

#[test]
fn one_sync_covers_all_that_waits() {
    let disk = FaultDisk::new();
    let wal = open_without_spares(&disk);
    disk.pause_syncs();
    let first = append_later(&wal, &[record(1, 0, 10)]);
    disk.wait_for_paused_sync();
    let waiting: Vec<_> = (1..=10).map(|lsn| append_later(&wal, &[record(1, lsn, 10)])).collect();
    let syncs = disk.syncs();
    disk.resume_syncs();
    first.recv().unwrap().unwrap();
    for result in waiting {
        result.recv().unwrap().unwrap();
    }
    assert_eq!(disk.syncs(), syncs + 1);
}

#[test]
fn a_writer_that_is_alone_syncs_on_its_own_thread() {
    let disk = FaultDisk::new();
    let wal = open_without_spares(&disk);
    let here = std::thread::current().id();
    let (done, result) = channel();
    let tell = move |result: Result<(), Failure>| done.send((std::thread::current().id(), result)).unwrap();
    append_alone(&wal, &[record(1, 0, 10)], tell.clone()).unwrap();
    let (thread, told) = result.try_recv().expect("told before it returned");
    assert_eq!(thread, here);
    told.unwrap();
    assert_eq!(wal.durable(), Some(Lsn(0)));

    // With another waiting it takes its turn.
    disk.pause_syncs();
    let other = append_later(&wal, &[record(1, 1, 10)]);
    disk.wait_for_paused_sync();
    append_alone(&wal, &[record(1, 2, 10)], tell.clone()).unwrap();
    assert!(result.try_recv().is_err());
    disk.resume_syncs();
    other.recv().unwrap().unwrap();
    let (thread, told) = result.recv().unwrap();
    assert_ne!(thread, here);
    told.unwrap();

    // The sync thread may still be telling; once it has, a failure is found here again.
    wal.sync().unwrap();
    disk.fail_after(FaultPoint::Sync, 0, ErrorKind::Other);
    append_alone(&wal, &[record(1, 3, 10)], tell).unwrap();
    assert!(result.recv().unwrap().1.is_err());
    assert_poisoned(&disk, &wal, Verb::Sync, false);
}

#[test]
fn a_truncation_waits_for_its_own_sync() {
    let disk = FaultDisk::new();
    let wal = open_without_spares(&disk);
    fill(&wal, 1, 0, 10, 10);
    disk.fail_after(FaultPoint::Sync, 0, ErrorKind::Other);
    assert!(wal.truncate_from(Lsn(5)).is_err());
    assert_eq!(wal.durable(), Some(Lsn(4)), "what may be gone isn't called durable");
}

#[test]
fn a_sync_that_began_before_a_truncation_says_nothing_about_what_it_took() {
    let disk = FaultDisk::new();
    let wal = open_without_spares(&disk);
    fill(&wal, 1, 0, 10, 10);
    disk.pause_syncs();
    let before = append_later(&wal, &[record(1, 10, 10)]);
    disk.wait_for_paused_sync();
    std::thread::scope(|scope| {
        let truncation = scope.spawn(|| wal.truncate_from(Lsn(5)));
        while wal.last().unwrap().1 != Lsn(4) {
            std::thread::yield_now();
        }
        // The running sync works, the truncation's own doesn't.
        disk.fail_after(FaultPoint::Sync, 1, ErrorKind::Other);
        disk.resume_syncs();
        before.recv().unwrap().unwrap();
        assert!(truncation.join().unwrap().is_err());
    });
    assert_eq!(wal.durable(), Some(Lsn(4)));
}

#[test]
fn a_full_disk_stops_the_log_only_when_its_segment_is_full() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    // Nothing beyond the first segment (2048 bytes) fits; preparing the next one fails, and must not matter.
    disk.set_capacity(Some(2048 + 1000));
    let records = fill(&wal, 1, 0, 15, 80);
    assert!(wal.failure().is_none());
    assert!(append(&wal, &[record(1, 15, 80)], |_| panic!("never told")).is_err());
    assert_poisoned(&disk, &wal, Verb::Write, true);
    assert_eq!(all(&wal), records);
    drop(wal);

    let disk = disk.power_cut(9);
    let (wal, _) = open(&disk);
    assert_eq!(all(&wal), records, "a restart without space reads on");
    drop(wal);
    disk.set_capacity(None);
    let (wal, _) = open(&disk);
    let more = fill(&wal, 2, 15, 60, 80);
    assert_eq!(all(&wal), [records, more].concat());
}

/// Says there is room where there is none, and tells when an unfinished spare is removed.
#[derive(Debug)]
struct Optimist {
    disk: FaultDisk,
    gave_up: Mutex<Sender<PathBuf>>,
}

impl Disk for Optimist {
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.create_dir_all(path)
    }
    fn list(&self, path: &Path) -> Result<Vec<String>, DiskError> {
        self.disk.list(path)
    }
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.disk.create(path)
    }
    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.disk.open(path)
    }
    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        self.disk.exists(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.remove(path)?;
        self.gave_up.lock().unwrap().send(path.to_owned()).unwrap();
        Ok(())
    }
    fn remove_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.sync_dir(path)
    }
    fn bytes_free(&self) -> Result<u64, DiskError> {
        Ok(u64::MAX)
    }
}

#[test]
fn a_spare_that_cannot_be_finished_is_removed_and_stops_nothing() {
    let disk = FaultDisk::new();
    disk.set_capacity(Some(2048 + 1000));
    let (gave_up, removed) = channel();
    let optimist = Optimist { disk: disk.clone(), gave_up: Mutex::new(gave_up) };
    let (wal, _) = Wal::open(Arc::new(optimist), dir(), options()).unwrap();
    let records = fill(&wal, 1, 0, 5, 80);
    assert!(removed.recv().unwrap().to_str().unwrap().ends_with(".spare"));
    let more = fill(&wal, 1, 5, 15, 80);
    assert!(wal.failure().is_none());
    assert_eq!(all(&wal), [records, more].concat());
    disk.set_capacity(None);
    fill(&wal, 1, 15, 40, 80);
}

#[test]
fn a_failed_hard_state_poisons_and_the_old_one_stays() {
    let disk = FaultDisk::new();
    let wal = open_without_spares(&disk);
    wal.save_hard_state(b"old").unwrap();
    disk.fail_after(FaultPoint::Name, 1, ErrorKind::Other);
    assert!(wal.save_hard_state(b"new").is_err());
    assert!(wal.failure().is_some());
    assert_eq!(wal.hard_state().unwrap(), &b"old"[..]);
    drop(wal);
    assert_eq!(open(&disk.power_cut(3)).0.hard_state().unwrap(), &b"old"[..]);
}

#[test]
fn a_log_that_cannot_begin_a_segment_is_poisoned_and_reopens() {
    for (point, successes) in
        [(FaultPoint::Name, 0), (FaultPoint::Name, 1), (FaultPoint::Sync, 0), (FaultPoint::Sync, 1)]
    {
        let disk = FaultDisk::new();
        let wal = open_without_spares(&disk);
        let records = fill(&wal, 1, 0, 1, 80);
        disk.fail_after(point, successes, ErrorKind::Other);
        // Longer than a segment, so that no spare fits.
        let error = append(&wal, &[record(1, 1, 9000)], |_| panic!("never told")).unwrap_err();
        assert_eq!(error.kind(), FaultKind::RetryLater);
        assert!(wal.failure().is_some());
        drop(wal);
        let disk = disk.power_cut(successes);
        let (wal, _) = open(&disk);
        assert_eq!(all(&wal), records);
        append_durably(&wal, &[record(2, 1, 9000)]);
    }
}

#[test]
fn opening_fails_cleanly_when_the_disk_does() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = fill(&wal, 1, 0, 60, 80);
    drop(wal);
    let files = segment_files(&disk);
    disk.fail_after(FaultPoint::Sync, 0, ErrorKind::Other);
    let error = try_open(&disk).map(drop).unwrap_err();
    assert_eq!(error.kind(), FaultKind::RetryLater);
    assert_eq!(segment_files(&disk), files);
    assert_eq!(all(&open(&disk).0), records);
}

#[test]
fn the_last_owner_may_be_a_callback() {
    let disk = FaultDisk::new();
    let wal = std::sync::Arc::new(open(&disk).0);
    let (done, result) = std::sync::mpsc::channel();
    let owner = wal.clone();
    disk.pause_syncs();
    append(&wal, &[record(1, 0, 1)], move |result| {
        drop(owner);
        done.send(result).unwrap();
    })
    .unwrap();
    disk.wait_for_paused_sync();
    drop(wal);
    disk.resume_syncs();
    result.recv().unwrap().unwrap();
}
