use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use daybook_types::{Offset, TimestampMs};
use daybook_world::{Disk, DiskFile, RealDisk};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{ENTRY_BYTES, Entry, Found, last_where};

fn entry(number: u64) -> Entry {
    Entry {
        offset: Offset(number as i64 * 3),
        at: number as u32 * 100,
        max_timestamp_before: TimestampMs(number as i64 / 2),
    }
}

fn file(dir: &TempDir, entries: u64) -> Arc<dyn DiskFile> {
    let file = RealDisk::open(dir.path()).unwrap().create(Path::new("index")).unwrap();
    let bytes: Vec<u8> = (0..entries).flat_map(|number| entry(number).to_bytes()).collect();
    file.write_all_at(&[IoSlice::new(&bytes)], 0).unwrap();
    file
}

proptest! {
    #[test]
    fn an_entry_round_trips(offset: i64, at: u32, timestamp: i64, flipped in 0..ENTRY_BYTES * 8) {
        let entry = Entry { offset: Offset(offset), at, max_timestamp_before: TimestampMs(timestamp) };
        let mut bytes = entry.to_bytes();
        prop_assert_eq!(Entry::from_bytes(&bytes), Some(entry));
        bytes[flipped / 8] ^= 1 << (flipped % 8);
        prop_assert_eq!(Entry::from_bytes(&bytes), None);
    }

    /// Around the number of entries that are read at once, and twice that.
    #[test]
    fn the_last_entry_below_is_found(entries in prop_oneof![0..5_u64, 165..175_u64, 335..345_u64, 1_000..2_000_u64], part in 0.0..1.1_f64) {
        let dir = TempDir::new().unwrap();
        let file = file(&dir, entries);
        let bytes = entries * ENTRY_BYTES as u64;
        let bound = Offset((entries as f64 * part * 3.0) as i64);
        let expected = (0..entries).map(entry).rfind(|entry| entry.offset < bound).map_or(Found::Before, Found::Entry);
        prop_assert_eq!(last_where(&*file, bytes, |entry| entry.offset < bound).unwrap(), expected);
    }
}

#[test]
fn an_index_shorter_than_noted_is_unreadable() {
    let dir = TempDir::new().unwrap();
    let file = file(&dir, 1_000);
    for entries in [1_001, 4_000] {
        let found = last_where(&*file, entries * ENTRY_BYTES as u64, |_| true).unwrap();
        assert_eq!(found, Found::Unreadable);
    }
}
