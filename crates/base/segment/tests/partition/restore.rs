//! What recovery, trimming and removal leave.

use std::fs;

use daybook_segment::{FileEnds, ReadError, RestoreError};
use daybook_types::{FaultKind, Offset};

use crate::bed::{Bed, add, append, open, partition, read_all, stored};

fn batches(range: std::ops::Range<i64>) -> Vec<bytes::Bytes> {
    range.map(|offset| stored(offset, 1, 150, offset)).collect()
}

#[test]
fn files_are_cut_to_the_ends_of_the_checkpoint() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..30));
    let ends = files.ends();
    let names = bed.names();
    append(&files, &batches(30..90));
    files.sync().unwrap();
    assert!(bed.names().len() > names.len());
    drop(files);

    let store = open(&bed.disk);
    let files = store.restore(partition(0), &ends).unwrap();
    assert_eq!(bed.names(), names);
    assert_eq!(read_all(&files, 10_000), batches(0..30));
    for (segment, name) in ends.segments.iter().zip(names.iter().filter(|name| name.ends_with(".seg"))) {
        assert_eq!(fs::metadata(bed.path(name)).unwrap().len(), segment.data_bytes);
    }
    add(&files, &batches(30..40));
    assert_eq!(read_all(&files, 10_000), batches(0..40));
    files.verify(|_| {}).unwrap();
}

#[test]
fn a_file_that_is_too_short_or_missing_is_corruption() {
    for end in ["seg", "idx"] {
        for cut in [false, true] {
            let bed = Bed::new();
            add(&bed.files(), &batches(0..60));
            let ends = bed.files().ends();
            let name = bed.names().into_iter().rfind(|name| name.ends_with(end)).unwrap();
            let length = fs::metadata(bed.path(&name)).unwrap().len();
            if cut {
                fs::OpenOptions::new().write(true).open(bed.path(&name)).unwrap().set_len(length - 1).unwrap();
            } else {
                fs::remove_file(bed.path(&name)).unwrap();
            }
            let error = open(&bed.disk).restore(partition(0), &ends).unwrap_err();
            assert_eq!(error.kind(), FaultKind::Corrupt);
            match error {
                RestoreError::Short { file, bytes, end } if cut => {
                    assert!(file.ends_with(&name));
                    assert_eq!((bytes, end), (length - 1, length));
                }
                RestoreError::Missing { file, end } if !cut => {
                    assert!(file.ends_with(&name));
                    assert_eq!(end, length);
                }
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn sweeping_removes_what_no_checkpoint_names_and_nothing_else() {
    let bed = Bed::new();
    for index in 0..3 {
        add(&bed.store.get_or_create(partition(index)), &batches(0..3));
    }
    let stranger = bed.dir.path().join("shard-0/partitions/notes");
    fs::create_dir(&stranger).unwrap();
    let ends = bed.files().ends();
    let store = open(&bed.disk);
    store.restore(partition(0), &ends).unwrap();
    assert_eq!(store.sweep().unwrap(), 2);
    let left = bed.disk.list(std::path::Path::new("shard-0/partitions")).unwrap();
    assert_eq!(left, [partition(0).to_string(), "notes".into()]);
}

#[test]
fn trimming_removes_whole_segments_and_readers_keep_their_slice() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..90));
    let segments = files.segments();
    assert!(segments.len() > 3);
    let slice = files.read(Offset(0), 1_000).unwrap().unwrap();
    let before = slice.to_bytes().unwrap();
    // Inside the third segment: the first two go.
    let start = segments[2].base_offset.next();
    let noted = files.ends().trimmed(start);
    files.trim(start).unwrap();
    assert_eq!(files.ends(), noted);
    assert_eq!(files.start_offset(), Some(segments[2].base_offset));
    assert_eq!(slice.to_bytes().unwrap(), before);
    assert_eq!(bed.names().iter().filter(|name| name.ends_with(".seg")).count(), segments.len() - 2);
    // What was trimmed before the crash is not missed, and what was only noted is removed.
    let files = open(&bed.disk).restore(partition(0), &noted.clone().trimmed(segments[3].base_offset)).unwrap();
    assert_eq!(files.start_offset(), Some(segments[3].base_offset));
    assert_eq!(bed.names().iter().filter(|name| name.ends_with(".seg")).count(), segments.len() - 3);
}

#[test]
fn after_trimming_everything_the_partition_goes_on() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..90));
    files.trim(Offset(90)).unwrap();
    assert_eq!((files.next_offset(), files.bytes()), (None, 0));
    assert_eq!(files.ends(), FileEnds::default());
    assert!(bed.names().is_empty());
    add(&files, &batches(90..95));
    assert_eq!(read_all(&files, 10_000), batches(90..95));
}

#[test]
fn a_removed_partition_is_gone_and_slices_of_it_are_not() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..60));
    let slice = files.read(Offset(0), 1_000).unwrap().unwrap();
    bed.store.remove(partition(0)).unwrap();
    assert!(bed.store.get(partition(0)).is_none());
    assert!(bed.names().is_empty());
    assert_eq!(slice.to_bytes().unwrap().len(), slice.bytes);
    assert!(matches!(files.read(Offset(0), 1_000), Err(ReadError::Removed)));
    bed.store.remove(partition(0)).unwrap();
}

#[test]
fn reading_while_segments_are_trimmed_finds_the_next_or_the_end() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..400));
    let ends = files.segments();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while let Some(slice) = files.read(Offset(0), 500).unwrap() {
                assert!(slice.to_bytes().unwrap().len() == slice.bytes);
                reads += 1;
            }
            reads
        });
        for segment in &ends {
            files.trim(segment.next_offset).unwrap();
        }
        assert!(reader.join().unwrap() >= 0);
    });
    assert_eq!(files.segments(), []);
}
