//! Damage is found before it is served, and named.

use std::fs;

use bytes::Bytes;
use daybook_segment::{Damage, PartitionFiles, ReadError};
use daybook_types::{FaultKind, Offset, TimestampMs};

use crate::bed::{Bed, add, contents, read_all, stored};

fn batches() -> Vec<Bytes> {
    (0..24).map(|number| stored(number * 2, 2, 40, number)).collect()
}

fn flip(bed: &Bed, name: &str, at: usize) {
    let mut bytes = fs::read(bed.path(name)).unwrap();
    bytes[at] ^= 0x10;
    fs::write(bed.path(name), bytes).unwrap();
}

/// Reads all it can: what came before the first error is what was appended.
fn readable(files: &PartitionFiles, bytes_max: usize) -> (Vec<Bytes>, Option<ReadError>) {
    let mut all = Vec::new();
    let mut from = Offset(0);
    loop {
        match files.read(from, bytes_max) {
            Ok(None) => return (all, None),
            Ok(Some(slice)) => {
                all.extend(contents(&slice).into_iter().map(|(_, batch)| batch));
                from = slice.next_offset;
            }
            Err(error) => return (all, Some(error)),
        }
    }
}

/// Every bit of a data file but the leader epochs', which nothing covers: a flipped one is an error at its batch, and never served.
#[test]
fn a_flipped_bit_in_the_data_is_never_served() {
    let bed = Bed::new();
    add(&bed.files(), &batches());
    let name = "00000000000000000000.seg";
    let whole = fs::read(bed.path(name)).unwrap();
    let batch_bytes = batches()[0].len();
    assert!(whole.len() > 10 * batch_bytes);
    for at in 0..whole.len() {
        if (12..16).contains(&(at % batch_bytes)) {
            continue;
        }
        for bit in [0, 5] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            fs::write(bed.path(name), damaged).unwrap();
            let files = bed.reopened();
            let (good, error) = readable(&files, 300);
            let error = error.unwrap_or_else(|| panic!("bit {bit} of byte {at} was served"));
            assert_eq!(error.kind(), FaultKind::Corrupt);
            let expected = batches();
            assert_eq!(good, expected[..good.len()], "bit {bit} of byte {at}");
            let ReadError::Damaged { file, at: found, .. } = error else { panic!("{error}") };
            assert!(file.ends_with(name));
            assert!((found as usize).abs_diff(at) <= 2 * batch_bytes, "byte {at} was reported at {found}");
        }
    }
}

/// Every byte of an index: reads go on as if nothing were, and only verification tells.
#[test]
fn a_damaged_index_doesnt_disturb_reads() {
    let bed = Bed::new();
    add(&bed.files(), &batches());
    let name = "00000000000000000000.idx";
    let whole = fs::read(bed.path(name)).unwrap();
    assert!(whole.len() > 100);
    for at in 0..whole.len() {
        fs::write(bed.path(name), &whole).unwrap();
        flip(&bed, name, at);
        let files = bed.reopened();
        assert_eq!(read_all(&files, 500), batches());
        let found = files.offset_for_timestamp(TimestampMs(10), Offset(0)).unwrap();
        assert_eq!(found, Some((Offset(19), TimestampMs(10))));
        let error = files.verify(|_| {}).unwrap_err();
        let ReadError::Damaged { file, damage: Damage::EntryCrc, .. } = &error else { panic!("{error}") };
        assert!(file.ends_with(name));
    }
}

/// An entry that is sound in itself but of another batch, and an index that isn't there.
#[test]
fn an_index_of_something_else_or_none_doesnt_disturb_reads() {
    let other = Bed::new();
    add(&other.files(), &(0..25).map(|offset| stored(offset, 1, 88, 0)).collect::<Vec<_>>());
    let bed = Bed::new();
    add(&bed.files(), &batches());
    let name = "00000000000000000000.idx";
    let length = fs::metadata(bed.path(name)).unwrap().len() as usize;
    let foreign = fs::read(other.path(name)).unwrap();
    fs::write(bed.path(name), &foreign[..length]).unwrap();
    let files = bed.reopened();
    assert_eq!(read_all(&files, 500), batches());
    assert!(files.verify(|_| {}).is_err());

    let files = bed.reopened();
    fs::remove_file(bed.path(name)).unwrap();
    assert_eq!(read_all(&files, 500), batches());
    assert!(files.verify(|_| {}).is_err());
}

/// Verification sees every bit, and says where.
#[test]
fn verification_finds_a_flipped_bit() {
    let bed = Bed::new();
    add(&bed.files(), &batches());
    let (seg, idx) = ("00000000000000000000.seg", "00000000000000000000.idx");
    let sound = bed.reopened().verify(|_| {}).unwrap();
    assert_eq!((sound.batches, sound.records), (24, 48));
    assert!(sound.index_entries > 5);
    for name in [seg, idx] {
        let whole = fs::read(bed.path(name)).unwrap();
        for at in (0..whole.len()).filter(|at| name == idx || !(12..16).contains(&(at % batches()[0].len()))) {
            flip(&bed, name, at);
            assert!(bed.reopened().verify(|_| {}).is_err(), "{name} byte {at}");
            fs::write(bed.path(name), &whole).unwrap();
        }
    }
}

/// What was checked once is not read again: damage that comes later is the page cache's or the disk's, found after a restart.
#[test]
fn a_checked_range_is_not_checked_again() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches());
    let name = "00000000000000000000.seg";
    let first = files.read(Offset(0), 300).unwrap().unwrap();
    flip(&bed, name, 100);
    assert_eq!(files.read(Offset(0), 300).unwrap().unwrap().bytes, first.bytes);
    assert!(bed.reopened().read(Offset(0), 300).is_err());
}

/// Damage in one batch doesn't hide the others.
#[test]
fn batches_beside_the_damage_are_served() {
    let bed = Bed::new();
    add(&bed.files(), &batches());
    let batch_bytes = batches()[0].len();
    flip(&bed, "00000000000000000000.seg", 5 * batch_bytes + 100);
    let files = bed.reopened();
    assert!(files.read(Offset(10), 1).is_err());
    for (number, batch) in batches().iter().enumerate().filter(|(number, _)| *number != 5) {
        let slice = files.read(Offset(number as i64 * 2), 1).unwrap().unwrap();
        assert_eq!(slice.to_bytes().unwrap(), batch);
    }
}
