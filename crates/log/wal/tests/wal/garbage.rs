//! Files of any content are answered, never with a panic.

use std::path::Path;

use daybook_sim::FaultDisk;
use daybook_wal::{recover_bytes, scan};
use proptest::prelude::*;

use crate::fixture::{append_durably, dir, fill, open, record, segment_files, try_open};

fn good_segment() -> Vec<u8> {
    let disk = FaultDisk::new();
    let (wal, _) = open(&disk);
    fill(&wal, 1, 0, 5, 20);
    wal.truncate_from(daybook_types::Lsn(3)).unwrap();
    append_durably(&wal, &[record(2, 3, 50)]);
    wal.purge_to(daybook_types::Lsn(1)).unwrap();
    wal.close().unwrap();
    disk.contents(&segment_files(&disk)[0]).unwrap()
}

#[test]
fn the_fuzzers_entry_reads_a_good_segment() {
    let bytes = good_segment();
    let recovered = recover_bytes(&bytes).unwrap();
    assert_eq!(recovered.entries, 6);
    assert_eq!(recovered.last.unwrap().1.0, 3);
    assert_eq!(recovered.purged.unwrap().1.0, 1);
    assert_eq!(recovered.cut, None);
    for length in 0..bytes.len() {
        assert!(recover_bytes(&bytes[..length]).is_err(), "cut short to {length}");
    }
}

#[test]
fn names_that_are_not_ours_are_left_alone() {
    let disk = FaultDisk::new();
    for name in ["README", "x.spare", "hard_state.new", "0.wal.bak", ".wal-old"] {
        disk.plant(&dir().join(name), b"something".to_vec());
    }
    let (wal, _) = open(&disk);
    fill(&wal, 1, 0, 50, 80);
    drop(wal);
    open(&disk);
    for name in ["README", "0.wal.bak", ".wal-old"] {
        assert_eq!(disk.contents(&dir().join(name)).unwrap(), b"something");
    }
    assert!(disk.contents(&dir().join("hard_state.new")).is_none(), "unfinished, hence removed");
}

/// A good segment with some bytes overwritten, checksums of the header put right so that the rest is looked at.
fn nearly_good() -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12);
    (Just(good_segment()), edits, any::<bool>(), any::<prop::sample::Index>()).prop_map(
        |(mut bytes, edits, fix, cut)| {
            for (at, value) in edits {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if fix {
                bytes.truncate(64 + cut.index(bytes.len() - 63));
                bytes[..8].copy_from_slice(b"daybkWAL");
                bytes[8..12].copy_from_slice(&1_u32.to_le_bytes());
                let capacity = bytes.len() as u32;
                bytes[12..16].copy_from_slice(&capacity.to_le_bytes());
                let crc = crc_fast::crc32_iscsi(&bytes[..60]);
                bytes[60..64].copy_from_slice(&crc.to_le_bytes());
            }
            bytes
        },
    )
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![prop::collection::vec(any::<u8>(), 0..3000), nearly_good()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_files_open_or_are_refused(files in prop::collection::vec(any_bytes(), 1..4), hard_state in prop::option::of(any_bytes())) {
        let disk = FaultDisk::new();
        for (number, bytes) in files.into_iter().enumerate() {
            let _ = recover_bytes(&bytes);
            disk.plant(&dir().join(format!("{number:020}.wal")), bytes);
        }
        if let Some(bytes) = hard_state {
            disk.plant(&dir().join("hard_state"), bytes);
        }
        let scanned = scan(&disk, dir()).count();
        prop_assert!(scanned < 10_000);
        if let Ok((wal, _)) = try_open(&disk) {
            let _ = wal.read(wal.purged().map_or(daybook_types::Lsn(0), |(_, lsn)| lsn.next()), daybook_types::Lsn(u64::MAX), 1 << 20);
            let next = wal.last().map_or(0, |(_, lsn)| lsn.0 + 1);
            if next < u64::MAX {
                append_durably(&wal, &[record(1, next, 10)]);
                wal.close().unwrap();
                let (wal, _) = open(&disk);
                assert_eq!(wal.last().unwrap().1.0, next);
            }
        }
        prop_assert!(disk.contents(Path::new("elsewhere")).is_none());
    }
}
