//! Segments written anew without some of their records, against a list of batches.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use daybook_record::{BatchBuilder, BatchError, Compression, Record, records, sift};
use daybook_segment::{PartitionFiles, ReadError, RewriteError, Rewritten, SegmentEnds, Sieve};
use daybook_types::{Offset, TimestampMs};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::bed::{Bed, ROLL, add, append, contents, open, partition, read_all, stamped, stored};
use crate::model::{base_offset, check, next_offset};

/// Keeps what a function says.
pub struct By<F>(pub F);

impl<F: FnMut(&Record) -> bool> Sieve for By<F> {
    type Error = Infallible;

    fn keep(&mut self, record: &Record) -> Result<bool, Infallible> {
        Ok((self.0)(record))
    }

    fn worked(&mut self, _: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Which records a rewrite of the model keeps: those whose offset, mixed, has none of the bits of a mask. Zero keeps all.
fn keeps(mask: u8, offset: Offset) -> bool {
    let mixed = (offset.0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
    mask == 0xff || mixed as u8 & mask == 0
}

fn dropping_all(mask: u8) -> bool {
    mask == 0x7f
}

pub fn rewrite(files: &PartitionFiles, base: Offset, keep: impl FnMut(&Record) -> bool) -> Option<Rewritten> {
    files.rewrite(base, ROLL.index_interval_bytes, &mut By(keep)).unwrap()
}

/// What a rewrite leaves of batches. `keeps_last`: they end the partition.
pub fn left_of(batches: &[Bytes], keeps_last: bool, mut keep: impl FnMut(&Record) -> bool) -> Vec<Bytes> {
    let mut left = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let sifted = sift(batch, |record| Ok::<_, BatchError>(keep(record))).unwrap();
        if sifted.removed_records() == 0 || (keeps_last && number + 1 == batches.len()) {
            left.push(batch.clone());
        } else if sifted.kept_records() > 0 {
            left.push(sifted.build().unwrap());
        }
    }
    left
}

/// What a checkpoint does.
pub fn checkpoint(bed: &Bed, files: &PartitionFiles) {
    bed.store.adopt_rewritten();
    files.sync().unwrap();
    let ends = files.ends();
    files.publish();
    assert_eq!(files.ends(), ends, "what is shown is what was noted");
}

#[derive(Clone, Debug)]
enum Step {
    Append(Vec<Planned>),
    /// Segment at this part of 100, and a mask.
    Rewrite(usize, u8),
    Checkpoint,
    Discard,
    Trim(usize),
    Reopen,
}

#[derive(Clone, Debug)]
struct Planned {
    gap: i64,
    records: i64,
    bytes: usize,
    timestamp: i64,
    codec: Compression,
}

fn planned() -> impl Strategy<Value = Planned> {
    let bytes = prop_oneof![8 => 0..60_usize, 2 => 200..400_usize, 1 => 3_000..6_000_usize];
    let gap = prop_oneof![6 => Just(0_i64), 1 => 1..5_i64];
    let codec = prop_oneof![4 => Just(Compression::None), 3 => prop::sample::select(Compression::ALL.to_vec())];
    (gap, 1..6_i64, bytes, 0..500_i64, codec).prop_map(|(gap, records, bytes, timestamp, codec)| Planned {
        gap,
        records,
        bytes,
        timestamp,
        codec,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let mask = prop_oneof![
        4 => prop::sample::select(vec![0x01_u8, 0x03, 0x07, 0x0f, 0x1f]),
        1 => Just(0x7f),
        1 => Just(0xff),
    ];
    prop_oneof![
        5 => vec(planned(), 1..25).prop_map(Step::Append),
        5 => (0..100_usize, mask).prop_map(|(at, mask)| Step::Rewrite(at, mask)),
        4 => Just(Step::Checkpoint),
        1 => Just(Step::Discard),
        1 => (0..110_usize).prop_map(Step::Trim),
        1 => Just(Step::Reopen),
    ]
}

fn made(plan: &Planned, base: i64) -> Bytes {
    let mut builder = BatchBuilder::new(plan.codec).base_offset(Offset(base));
    for number in 0..plan.records {
        let value = vec![(base + number) as u8; plan.bytes];
        // Not ascending, so that the largest one may go.
        builder.push(TimestampMs(plan.timestamp + (number * 37) % 11), None, Some(&value), &[]);
    }
    builder.build().unwrap()
}

/// Batches, and what rewrites have made of segments that no checkpoint has taken in.
#[derive(Default)]
struct Model {
    published: Vec<Bytes>,
    pending: Vec<Bytes>,
    rewritten: Vec<(SegmentEnds, Vec<Bytes>)>,
}

impl Model {
    fn of(&self, segment: &SegmentEnds) -> Vec<Bytes> {
        let range = segment.base_offset.0..segment.next_offset.0;
        self.published.iter().filter(|batch| range.contains(&base_offset(batch))).cloned().collect()
    }

    fn checkpoint(&mut self) {
        for (old, left) in std::mem::take(&mut self.rewritten) {
            let range = old.base_offset.0..old.next_offset.0;
            let at = self.published.partition_point(|batch| base_offset(batch) < range.start);
            let end = self.published.partition_point(|batch| base_offset(batch) < range.end);
            self.published.splice(at..end, left);
        }
        self.published.append(&mut self.pending);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn behaves_as_a_list_of_batches_without_some_records(
        steps in vec(step(), 1..16),
        sizes in vec(0..9_000_usize, 3),
    ) {
        let bed = Bed::new();
        let mut files = bed.files();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Append(plan) => {
                    let mut next = next_offset(model.published.iter().chain(&model.pending).last());
                    let mut batches = Vec::new();
                    for batch in plan {
                        let made = made(&batch, next + batch.gap);
                        next = next_offset(Some(&made));
                        batches.push(made);
                    }
                    let given: Vec<_> = batches.iter().map(stamped).collect();
                    files.append(&given, ROLL).unwrap();
                    model.pending.extend(batches);
                }
                Step::Rewrite(at, mask) => {
                    let segments = files.segments();
                    let Some(segment) = segments.get(segments.len() * at / 100).copied() else { continue };
                    let is_last = segments.last() == Some(&segment);
                    let keep = |record: &Record| !dropping_all(mask) && keeps(mask, record.offset);
                    let before = files.ends();
                    let result = files.rewrite(segment.base_offset, ROLL.index_interval_bytes, &mut By(keep));
                    prop_assert_eq!(files.ends(), before, "nothing changes before a checkpoint takes it in");
                    let was_done = model.rewritten.iter().any(|(old, _)| *old == segment);
                    match result {
                        Err(RewriteError::Busy) => {
                            prop_assert!(was_done || (is_last && !model.pending.is_empty()));
                        }
                        Err(error) => return Err(TestCaseError::fail(error.to_string())),
                        Ok(None) => return Err(TestCaseError::fail("the segment is there")),
                        Ok(Some(rewritten)) => {
                            let batches = model.of(&segment);
                            let left = left_of(&batches, is_last, keep);
                            let bytes: u64 = left.iter().map(|batch| batch.len() as u64).sum();
                            prop_assert_eq!(rewritten.bytes_before, segment.data_bytes);
                            let count = |batches: &[Bytes]| -> u64 {
                                batches.iter().map(|batch| records(batch).unwrap().count() as u64).sum()
                            };
                            if rewritten.is_replaced {
                                prop_assert_eq!(rewritten.bytes_after, bytes);
                                prop_assert!(bytes * 100 <= segment.data_bytes * 95);
                                prop_assert_eq!(rewritten.records_removed, count(&batches) - count(&left));
                                model.rewritten.push((segment, left));
                            } else {
                                prop_assert_eq!(rewritten.records_removed, 0);
                                // A guess of what compression makes of it may be wrong.
                                let is_plain = batches.iter().all(|batch| {
                                    daybook_record::verify(batch).unwrap().compression() == Compression::None
                                });
                                prop_assert!(!is_plain || was_done || bytes * 100 > segment.data_bytes * 95);
                            }
                        }
                    }
                }
                Step::Checkpoint => {
                    checkpoint(&bed, &files);
                    model.checkpoint();
                }
                Step::Discard => {
                    bed.store.adopt_rewritten();
                    files.discard_unpublished().unwrap();
                    model.pending.clear();
                    // What was rewritten waits for the next checkpoint.
                    prop_assert_eq!(bed.store.has_rewritten(), !model.rewritten.is_empty());
                }
                Step::Trim(hundredth) => {
                    checkpoint(&bed, &files);
                    model.checkpoint();
                    let at = model.published.len() * hundredth / 100;
                    let start = model.published.get(at).map_or(next_offset(model.published.last()), base_offset);
                    files.trim(Offset(start)).unwrap();
                    let left = files.start_offset().map_or(i64::MAX, |offset| offset.0);
                    model.published.retain(|batch| base_offset(batch) >= left);
                }
                Step::Reopen => {
                    files.discard_unpublished().unwrap();
                    model.pending.clear();
                    model.rewritten.clear();
                    let ends = files.ends();
                    files = bed.store.restore(partition(0), &ends).unwrap();
                    prop_assert_eq!(files.ends(), ends);
                    assert_only_named(&bed, &files);
                }
            }
            check(&files, &model.published, &sizes)?;
        }
        files.verify(|_| {}).unwrap();
    }
}

/// No file is there that the ends don't name.
fn assert_only_named(bed: &Bed, files: &PartitionFiles) {
    let named: BTreeSet<_> = files
        .ends()
        .segments
        .iter()
        .flat_map(|segment| {
            let [data, index] = bed.store.paths(partition(0), segment);
            [Some(data), (segment.index_bytes > 0).then_some(index)]
        })
        .flatten()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(bed.names().into_iter().collect::<BTreeSet<_>>(), named);
}

fn batches(range: std::ops::Range<i64>) -> Vec<Bytes> {
    range.map(|number| stored(number * 3, 3, 50, number)).collect()
}

#[test]
fn space_comes_back_and_a_reader_keeps_its_slice() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..60));
    let segments = files.segments();
    assert!(segments.len() > 3);
    let names = bed.names();
    let slice = files.read(Offset(0), 1_000).unwrap().unwrap();
    let before = slice.to_bytes().unwrap();
    let keep = |record: &Record| record.offset.0 % 3 == 1;
    for segment in &segments {
        assert!(rewrite(&files, segment.base_offset, keep).unwrap().is_replaced);
    }
    // Nothing is seen of it yet; both are there.
    assert_eq!(files.segments(), segments);
    assert!(bed.names().len() > names.len());
    let bytes = files.bytes();
    checkpoint(&bed, &files);
    assert!(files.bytes() < bytes * 3 / 4);
    assert_only_named(&bed, &files);
    assert!(bed.names().iter().all(|name| name.contains(".1.")));
    assert_eq!(slice.to_bytes().unwrap(), before);
    // The batch still spans what it spanned.
    let next = files.read(Offset(2), 1).unwrap().unwrap();
    assert_eq!((next.first_offset, next.next_offset), (Offset(0), Offset(3)));
    assert_eq!(contents(&next)[0].0.record_count, 1);
    // Again: nothing is left to do.
    for segment in files.segments() {
        assert!(!rewrite(&files, segment.base_offset, keep).unwrap().is_replaced);
    }
    // And a third generation, after a restart.
    let files = open(&bed.disk).restore(partition(0), &files.ends()).unwrap();
    assert_eq!(files.segments()[0].generation, 1);
    assert_eq!(rewrite(&files, files.segments()[0].base_offset, |_| false).unwrap().bytes_after, 0);
}

#[test]
fn a_segment_without_records_is_no_more_but_the_last_one_keeps_its_last_batch() {
    let bed = Bed::new();
    let files = bed.files();
    let all = batches(0..60);
    add(&files, &all);
    for segment in files.segments() {
        rewrite(&files, segment.base_offset, |_| false).unwrap();
    }
    checkpoint(&bed, &files);
    assert_eq!(read_all(&files, 10_000), all[59..]);
    assert_eq!((files.next_offset(), files.segments().len()), (Some(Offset(180)), 1));
    assert_only_named(&bed, &files);
    // It goes on where it was.
    add(&files, &batches(60..70));
    assert_eq!(files.next_offset(), Some(Offset(210)));
    let files = bed.reopened();
    assert_eq!(read_all(&files, 10_000).len(), 11);
    files.verify(|_| {}).unwrap();
}

#[test]
fn what_is_appended_during_a_rewrite_begins_another_segment() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..5));
    let mut appended = false;
    let rewritten = rewrite(&files, Offset(0), |record| {
        // On the second pass: the segment is closed by then.
        if record.offset == Offset(3) && std::mem::replace(&mut appended, true) {
            add(&files, &batches(5..7));
        }
        record.offset.0 < 2
    });
    assert!(rewritten.unwrap().is_replaced);
    assert_eq!(files.segments().len(), 2);
    checkpoint(&bed, &files);
    let read: Vec<i64> = read_all(&files, 1_000).iter().map(base_offset).collect();
    assert_eq!(read, [0, 12, 15, 18]);
    assert_eq!(files.segments()[0].generation, 1);
}

#[test]
fn a_segment_that_a_checkpoint_appends_to_is_rewritten_after_it() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..5));
    append(&files, &batches(5..7));
    let busy = files.rewrite(Offset(0), 300, &mut By(|record: &Record| record.offset.0 > 10));
    assert!(matches!(busy, Err(RewriteError::Busy)));
    files.publish();
    assert_eq!(files.segments().len(), 1);
    // It stays closed until then.
    append(&files, &batches(7..8));
    assert!(rewrite(&files, Offset(0), |record| record.offset.0 > 10).unwrap().is_replaced);
    checkpoint(&bed, &files);
    let read: Vec<i64> = read_all(&files, 1_000).iter().map(base_offset).collect();
    assert_eq!(read, [9, 12, 15, 18, 21]);
    assert_eq!(files.segments().len(), 2);
}

#[test]
fn control_batches_stay_and_are_not_judged() {
    let bed = Bed::new();
    let files = bed.files();
    let mut control = BatchBuilder::new(Compression::None).base_offset(Offset(15)).control(true);
    control.push(TimestampMs(3), Some(&[0, 0, 0, 1]), Some(&[0; 6]), &[]);
    let control = control.build().unwrap();
    let mut all = batches(0..5);
    all.push(control.clone());
    all.push(stored(16, 1, 50, 1));
    add(&files, &all);
    let rewritten = rewrite(&files, Offset(0), |record| {
        assert_ne!(record.offset, Offset(15));
        false
    });
    assert!(rewritten.unwrap().is_replaced);
    checkpoint(&bed, &files);
    assert_eq!(read_all(&files, 1_000), [control, all[6].clone()]);
}

/// Ends a rewrite after so many calls.
struct Ends(usize);

impl Sieve for Ends {
    type Error = &'static str;

    fn keep(&mut self, _: &Record) -> Result<bool, &'static str> {
        Ok(false)
    }

    fn worked(&mut self, _: u64) -> Result<(), &'static str> {
        self.0 = self.0.checked_sub(1).ok_or("enough")?;
        Ok(())
    }
}

#[test]
fn a_rewrite_that_is_ended_leaves_everything_as_it_was() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..10));
    let names = bed.names();
    let base = files.segments()[0].base_offset;
    for calls in 0..12 {
        let result = files.rewrite(base, 300, &mut Ends(calls));
        assert!(matches!(result, Err(RewriteError::Sieve("enough"))), "{calls}: {result:?}");
        assert_eq!(bed.names(), names);
    }
    // And it is not closed for that.
    add(&files, &batches(10..11));
    assert_eq!(read_all(&files, 1_000), batches(0..11));
}

#[test]
fn damage_is_not_written_anew() {
    let bed = Bed::new();
    add(&bed.files(), &batches(0..10));
    let name = bed.names().into_iter().find(|name| name.ends_with(".seg")).unwrap();
    let mut bytes = std::fs::read(bed.path(&name)).unwrap();
    bytes[700] ^= 1;
    std::fs::write(bed.path(&name), bytes).unwrap();
    let files = bed.reopened();
    let names = bed.names();
    let result = files.rewrite(Offset(0), 300, &mut By(|record: &Record| record.offset.0 % 2 == 0));
    assert!(matches!(result, Err(RewriteError::Read(ReadError::Damaged { .. }))), "{result:?}");
    assert_eq!(bed.names(), names);
}

#[test]
fn reading_while_segments_are_rewritten_finds_all_that_stays() {
    let bed = Arc::new(Bed::new());
    let files = bed.files();
    add(&files, &batches(0..300));
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..30 {
                        let kept = read_all(&files, 700);
                        let offsets: BTreeSet<i64> = kept
                            .iter()
                            .flat_map(|batch| records(batch).unwrap())
                            .map(|record| record.unwrap().offset.0)
                            .collect();
                        assert!((0..900).filter(|offset| offset % 3 == 0).all(|offset| offsets.contains(&offset)));
                    }
                })
            })
            .collect();
        for segment in files.segments() {
            rewrite(&files, segment.base_offset, |record| record.offset.0 % 3 == 0);
            checkpoint(&bed, &files);
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
    assert_eq!(files.segments().len(), bed.names().iter().filter(|name| name.ends_with(".seg")).count());
}

#[test]
fn a_removed_partition_ends_its_rewrite() {
    let bed = Bed::new();
    let files = bed.files();
    add(&files, &batches(0..10));
    let mut seen = 0;
    let result = files.rewrite(
        Offset(0),
        300,
        &mut By(|_: &Record| {
            seen += 1;
            if seen == 45 {
                bed.store.remove(partition(0)).unwrap();
            }
            false
        }),
    );
    assert!(!matches!(result, Ok(Some(Rewritten { is_replaced: true, .. }))), "{result:?}");
    assert!(bed.names().is_empty());
    assert!(!files.has_unpublished_rewrites());
}
