//! Flipped bits and missing files are reported with file and byte, never taken for the log's end.

use std::path::{Path, PathBuf};

use daybook_sim::FaultDisk;
use daybook_types::{FaultKind, Lsn};
use daybook_wal::{Content, Damage, DamageReason, OpenError, ReadError, Record, scan};
use daybook_world::Disk;
use proptest::prelude::*;

use crate::fixture::{all, append_durably, dir, fill, open, record, segment_files, try_open};

/// Where each record lies, from a scan of the undamaged log: file, first byte, content.
fn places(disk: &FaultDisk) -> Vec<(PathBuf, u64, Content)> {
    scan(disk, dir()).map(|item| item.unwrap()).map(|item| (item.file, item.byte, item.content)).collect()
}

fn snapshot(disk: &FaultDisk) -> Vec<(String, Vec<u8>)> {
    let names = disk.list(dir()).unwrap();
    names.into_iter().map(|name| (name.clone(), disk.contents(&dir().join(&name)).unwrap())).collect()
}

/// Opening fails with damage that changes nothing on disk.
fn damage_on_open(disk: &FaultDisk) -> Damage {
    let before = snapshot(disk);
    let error = try_open(disk).map(drop).expect_err("damage is reported");
    assert_eq!(error.kind(), FaultKind::Corrupt);
    assert!(snapshot(disk) == before, "something was changed");
    match error {
        OpenError::Damage(damage) => damage,
        other => panic!("{other}"),
    }
}

fn closed_log() -> (FaultDisk, Vec<Record>) {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let mut model = fill(&wal, 1, 0, 60, 80);
    wal.truncate_from(Lsn(50)).unwrap();
    model.truncate(50);
    model.extend(fill(&wal, 2, 50, 70, 90));
    wal.purge_to(Lsn(5)).unwrap();
    wal.save_hard_state(b"a vote").unwrap();
    wal.close().unwrap();
    (disk, model.split_off(6))
}

#[test]
fn every_record_of_a_closed_log_is_vouched_for() {
    let (disk, model) = closed_log();
    let places = places(&disk);
    let (last, vouched) = places.split_last().unwrap();
    assert_eq!(last.2, Content::Mark);
    for (file, byte, content) in vouched {
        // In the checksum, the header, and the last byte before the next record.
        for offset in [0, 5, 8, 12, 13, 14, 16, 24, 32, 40, 47] {
            let disk = disk.power_cut(0);
            disk.flip_bit(file, byte + offset, 2);
            let damage = damage_on_open(&disk);
            assert_eq!((&damage.file, damage.byte), (file, *byte));
            assert!(matches!(damage.reason, DamageReason::RecordLost { .. }), "{damage}");
            if let Content::Entry(record) = content {
                assert_eq!(damage.lsn, Some(record.lsn), "{damage}");
            }
            let scanned = scan(&disk, dir()).last().unwrap().unwrap_err();
            assert_eq!(scanned.to_string(), damage.to_string());
        }
    }
    // The mark itself has nobody to vouch for it, and nothing to lose.
    let disk = disk.power_cut(0);
    disk.flip_bit(&last.0, last.1 + 3, 1);
    let (wal, recovered) = open(&disk);
    assert!(recovered.cut.is_some());
    assert_eq!(all(&wal), model);
}

#[test]
fn a_segment_header_that_is_damaged_is_damage_even_in_the_newest() {
    let (disk, _) = closed_log();
    for file in segment_files(&disk) {
        for byte in 0..64 {
            let disk = disk.power_cut(0);
            disk.flip_bit(&file, byte, (byte % 8) as u8);
            let damage = damage_on_open(&disk);
            assert_eq!((&damage.file, damage.byte, damage.reason), (&file, 0, DamageReason::SegmentHeader));
            assert!(damage.lsn.is_some(), "from the name");
        }
    }
}

#[test]
fn a_missing_segment_is_noticed() {
    let (disk, _) = closed_log();
    let files = segment_files(&disk);
    assert!(files.len() >= 3);
    let middle = files.len() / 2;
    disk.remove(&files[middle]).unwrap();
    let damage = damage_on_open(&disk);
    assert_eq!(damage.file, files[middle - 1]);
    assert!(
        matches!(&damage.reason, DamageReason::RecordLost { proof_file, proof_byte: 0 } if *proof_file == files[middle + 1])
    );

    for file in segment_files(&disk) {
        disk.remove(&file).unwrap();
    }
    let damage = damage_on_open(&disk);
    assert_eq!(damage.reason, DamageReason::SegmentsGone, "the hard state tells of a log");
}

#[test]
fn a_segment_that_is_there_twice_or_cut_short_is_noticed() {
    let (disk, _) = closed_log();
    let files = segment_files(&disk);
    let bytes = disk.contents(&files[1]).unwrap();
    let copy = disk.power_cut(0);
    copy.plant(&dir().join("copy.wal"), bytes.clone());
    assert_eq!(damage_on_open(&copy).reason, DamageReason::SegmentTwice);

    for length in [0, 1, 63] {
        let short = disk.power_cut(0);
        short.plant(&files[1], bytes[..length].to_vec());
        assert_eq!(damage_on_open(&short).reason, DamageReason::SegmentHeader);
    }
    for length in [64, 65, 1000, bytes.len() - 1] {
        let short = disk.power_cut(0);
        short.plant(&files[1], bytes[..length].to_vec());
        let damage = damage_on_open(&short);
        assert_eq!((&damage.file, damage.byte), (&files[1], length as u64));
        assert_eq!(damage.reason, DamageReason::CutShort { expected_bytes: bytes.len() as u64 });
    }
}

#[test]
fn a_newer_version_is_refused_as_such() {
    let (disk, _) = closed_log();
    let file = segment_files(&disk)[0].clone();
    let mut bytes = disk.contents(&file).unwrap();
    bytes[8] = 2;
    let crc = crc_fast::crc32_iscsi(&bytes[..60]);
    bytes[60..64].copy_from_slice(&crc.to_le_bytes());
    disk.plant(&file, bytes);
    let error = try_open(&disk).map(drop).unwrap_err();
    assert!(matches!(&error, OpenError::Version { version: 2, known: 1, .. }), "{error}");
    assert_eq!(error.kind(), FaultKind::Reject);
}

#[test]
fn a_damaged_hard_state_is_noticed() {
    let (disk, _) = closed_log();
    let file = dir().join("hard_state");
    let length = disk.contents(&file).unwrap().len();
    for byte in 0..length as u64 {
        let disk = disk.power_cut(0);
        disk.flip_bit(&file, byte, 1);
        let damage = damage_on_open(&disk);
        assert_eq!(damage.file, file);
    }
}

#[test]
fn damage_under_a_running_log_is_found_by_reading_and_spares_the_rest() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = fill(&wal, 1, 0, 60, 80);
    let (file, byte, _) = places(&disk)[20].clone();
    disk.flip_bit(&file, byte + 60, 7);
    let error = wal.read(Lsn(18), Lsn(30), 1 << 20).unwrap_err();
    assert_eq!(error.kind(), FaultKind::Corrupt);
    let ReadError::Damage(damage) = error else { panic!("{error}") };
    assert_eq!((damage.file, damage.byte, damage.lsn), (file, byte, Some(Lsn(20))));
    assert_eq!(wal.read(Lsn(21), Lsn(60), 1 << 20).unwrap(), records[21..]);
    // What needs the damaged entry's term fails and stops nothing.
    let failure = wal.truncate_from(Lsn(21)).unwrap_err();
    assert_eq!(failure.kind(), FaultKind::Corrupt);
    assert!(wal.failure().is_none());
    append_durably(&wal, &[record(1, 60, 10)]);
}

#[test]
fn what_lies_in_a_payload_is_never_taken_for_the_log() {
    // A payload that holds the whole log of another node, twice as far along.
    let other = FaultDisk::new();
    let (wal, _) = open(&other);
    fill(&wal, 1, 0, 30, 16);
    wal.close().unwrap();
    let mut copy: Vec<u8> = segment_files(&other).iter().flat_map(|file| other.contents(file).unwrap()).collect();
    copy.extend(copy.clone());

    for shift in 0..8 {
        let disk = FaultDisk::new();
        let (wal, _) = open(&disk);
        let model = fill(&wal, 1, 0, 3, 10);
        let mut payload = vec![0; shift];
        payload.extend_from_slice(&copy);
        append_durably(&wal, &[Record { payload: payload.into(), ..record(1, 3, 0) }]);
        let (file, byte, _) = places(&disk).pop().unwrap();
        let disk = disk.power_cut(0);
        drop(wal);
        // The record that carries it is torn, so the search for what follows goes through the copy.
        disk.flip_bit(&file, byte, 0);
        let (wal, recovered) = open(&disk);
        assert_eq!(recovered.cut.map(|cut| (cut.file, cut.byte)), Some((file, byte)));
        assert_eq!(all(&wal), model);
    }
}

/// The cut wipes what it cuts: if the torn record is written again just as it was, the whole one behind it stays gone.
#[test]
fn what_was_cut_stays_gone() {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    let records = [record(1, 0, 80), record(1, 1, 80), record(1, 2, 80)];
    append_durably(&wal, &records[..1]);
    append_durably(&wal, &records[1..]);
    let (file, byte, _) = places(&disk)[1].clone();
    let disk = disk.power_cut(0);
    drop(wal);
    disk.flip_bit(&file, byte + 60, 0);
    let (wal, recovered) = open(&disk);
    assert_eq!(recovered.cut.map(|cut| (cut.byte, cut.bytes)), Some((byte, 256)));
    append_durably(&wal, &records[1..2]);
    let disk = disk.power_cut(0);
    drop(wal);
    assert_eq!(all(&open(&disk).0), records[..2]);
}

#[test]
fn a_payload_made_to_slow_recovery_down_does_not() {
    // Looks at every 48 bytes like a record with a long payload and a number that may be.
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    append_durably(&wal, &[record(1, 0, 10)]);
    let length = 8 << 20;
    let mut payload = Vec::with_capacity(length);
    while payload.len() < length {
        let mut header = [0_u8; 48];
        header[4..8].copy_from_slice(&((length / 2) as u32).to_le_bytes());
        header[12] = 1;
        header[16..24].copy_from_slice(&9_u64.to_le_bytes());
        payload.extend_from_slice(&header);
    }
    let trap = Record { payload: payload.into(), ..record(1, 1, 0) };
    append_durably(&wal, &[trap]);
    let file = segment_files(&disk).pop().unwrap();
    drop(wal);
    // Break the record that carries it.
    disk.flip_bit(&file, 64, 0);
    let damage = damage_on_open(&disk);
    assert_eq!((&damage.file, damage.byte), (&file, 64));
    assert_eq!(damage.reason, DamageReason::Undecidable);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// A crash, not a close: the records after the last word on what is durable may go, nothing before them.
    #[test]
    fn a_flip_anywhere_is_reported_or_harmless(
        lengths in prop::collection::vec(0..600_usize, 2..40),
        place in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let disk = FaultDisk::new();
        let (wal, _) = open(&disk);
        let mut model = Vec::new();
        for (length, lsn) in lengths.iter().zip(0..) {
            model.push(record(1, lsn, *length));
            append_durably(&wal, &model[lsn as usize..]);
        }
        let disk = disk.power_cut(0);
        drop(wal);
        let places = places(&disk);
        let bytes: Vec<(PathBuf, u64)> = segment_files(&disk)
            .iter()
            .flat_map(|file| {
                let length = disk.contents(file).unwrap().len() as u64;
                (0..length).map(move |byte| (file.clone(), byte))
            })
            .collect();
        let (file, byte) = place.get(&bytes).clone();
        disk.flip_bit(&file, byte, bit);

        let hit = places.iter().rev().find(|(path, start, _)| *path == file && *start <= byte);
        match try_open(&disk) {
            // Each append but the last is vouched for by the next.
            Ok((wal, _)) => {
                let kept = all(&wal);
                prop_assert!(kept == model || kept == model[..model.len() - 1], "shortened to {}", kept.len());
            }
            Err(OpenError::Damage(damage)) => {
                prop_assert_eq!(&damage.file, &file as &Path);
                let begin = if byte < 64 { 0 } else { hit.map_or(0, |(_, start, _)| *start) };
                prop_assert_eq!(damage.byte, begin);
            }
            Err(other) => panic!("{other}"),
        }
    }
}
