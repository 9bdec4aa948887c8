//! Append, publish, discard, trim and read against a list of batches.

use bytes::Bytes;
use daybook_record::{records, verify};
use daybook_segment::{PartitionFiles, Roll};
use daybook_types::{Offset, TimestampMs};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::bed::{Bed, ROLL, contents, stamped, stored};

#[derive(Clone, Debug)]
pub struct Planned {
    pub gap: i64,
    pub records: i64,
    pub bytes: usize,
    pub timestamp: i64,
}

#[derive(Clone, Debug)]
enum Step {
    Append(Vec<Planned>),
    Publish,
    Discard,
    /// To the start of the batch at this part of 100 of the published ones.
    Trim(usize),
    Reopen,
}

pub fn planned() -> impl Strategy<Value = Planned> {
    // Mostly small against the index interval of 300 and the segment's 4000 bytes, sometimes larger than either.
    let bytes = prop_oneof![8 => 0..60_usize, 2 => 200..400_usize, 1 => 3_000..6_000_usize];
    let gap = prop_oneof![6 => Just(0_i64), 1 => 1..5_i64];
    (gap, 1..4_i64, bytes, 0..500_i64).prop_map(|(gap, records, bytes, timestamp)| Planned {
        gap,
        records,
        bytes,
        timestamp,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => vec(planned(), 1..30).prop_map(Step::Append),
        4 => Just(Step::Publish),
        1 => Just(Step::Discard),
        1 => (0..110_usize).prop_map(Step::Trim),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn behaves_as_a_list_of_batches(steps in vec(step(), 1..12), sizes in vec(0..9_000_usize, 4)) {
        let bed = Bed::new();
        let mut files = bed.files();
        let mut published: Vec<Bytes> = Vec::new();
        let mut pending: Vec<Bytes> = Vec::new();
        for step in steps {
            match step {
                Step::Append(plan) => {
                    let mut next = next_offset(published.iter().chain(&pending).last());
                    let mut batches = Vec::new();
                    for batch in plan {
                        let made = stored(next + batch.gap, batch.records, batch.bytes, batch.timestamp);
                        next = next_offset(Some(&made));
                        batches.push(made);
                    }
                    let given: Vec<_> = batches.iter().map(stamped).collect();
                    files.append(&given, ROLL).unwrap();
                    pending.extend(batches);
                }
                Step::Publish => {
                    files.sync().unwrap();
                    files.publish();
                    published.append(&mut pending);
                }
                Step::Discard => {
                    files.discard_unpublished().unwrap();
                    pending.clear();
                }
                Step::Trim(hundredth) => {
                    // Trimming follows a publication.
                    files.publish();
                    published.append(&mut pending);
                    let at = published.len() * hundredth / 100;
                    let start = published.get(at).map(base_offset).unwrap_or(next_offset(published.last()));
                    files.trim(Offset(start)).unwrap();
                    // Whole segments go, so what is left begins at or before `start`.
                    let left = files.start_offset().map_or(i64::MAX, |offset| offset.0);
                    prop_assert!(left <= start || at >= published.len());
                    published.retain(|batch| base_offset(batch) >= left);
                }
                Step::Reopen => {
                    files.discard_unpublished().unwrap();
                    pending.clear();
                    let ends = files.ends();
                    files = bed.store.restore(crate::bed::partition(0), &ends).unwrap();
                    prop_assert_eq!(files.ends(), ends);
                }
            }
            check(&files, &published, &sizes)?;
            let next = published.iter().chain(&pending).last().map(|batch| Offset(next_offset(Some(batch))));
            prop_assert_eq!(files.ends().next_offset(), next);
        }
        let verified = files.verify(|_| {}).unwrap();
        prop_assert_eq!(verified.batches, published.len() as u64);
        prop_assert_eq!(verified.bytes, published.iter().map(|batch| batch.len() as u64).sum::<u64>());
    }
}

pub fn base_offset(batch: &Bytes) -> i64 {
    verify(batch).unwrap().base_offset.0
}

pub fn next_offset(batch: Option<&Bytes>) -> i64 {
    batch.map_or(0, |batch| verify(batch).unwrap().next_offset().0)
}

/// Reads at every offset in several sizes, and every timestamp.
pub fn check(files: &PartitionFiles, published: &[Bytes], sizes: &[usize]) -> Result<(), TestCaseError> {
    let end = next_offset(published.last());
    let from = published.first().map_or(0, base_offset);
    prop_assert_eq!(files.bytes(), published.iter().map(|batch| batch.len() as u64).sum::<u64>());
    prop_assert_eq!(files.next_offset().map_or(0, |offset| offset.0), if published.is_empty() { 0 } else { end });
    prop_assert_eq!(files.start_offset().map(|offset| offset.0), published.first().map(base_offset));
    let segments = files.segments();
    for offset in (from - 1).max(0)..=end {
        let expected = published.iter().position(|batch| next_offset(Some(batch)) > offset);
        for &bytes_max in sizes {
            let slice = files.read(Offset(offset), bytes_max).unwrap();
            let Some(first) = expected else {
                prop_assert!(slice.is_none());
                continue;
            };
            let slice = slice.expect("there is a batch");
            let found = contents(&slice);
            // As many as fit, from one segment, one at least.
            let segment = segments.iter().find(|ends| ends.next_offset > Offset(offset)).unwrap();
            let mut total = 0;
            let fits = |batch: &&Bytes| {
                total += batch.len();
                (total <= bytes_max || total == batch.len()) && base_offset(batch) < segment.next_offset.0
            };
            let wanted: Vec<_> = published[first..].iter().take_while(fits).collect();
            prop_assert_eq!(found.iter().map(|(_, batch)| batch).collect::<Vec<_>>(), wanted.clone());
            prop_assert_eq!(slice.first_offset.0, base_offset(wanted[0]));
            let last_next = next_offset(wanted.last().copied());
            let following = published.get(first + wanted.len()).map_or(end, base_offset);
            prop_assert!((last_next..=following).contains(&slice.next_offset.0));
        }
    }
    check_timestamps(files, published, from, end)
}

fn check_timestamps(files: &PartitionFiles, published: &[Bytes], from: i64, end: i64) -> Result<(), TestCaseError> {
    let all: Vec<_> = published.iter().flat_map(|batch| records(batch).unwrap()).map(Result::unwrap).collect();
    for at in [-1, 0, 1, 100, 250, 251, 400, 499, 500, 501, 502, 503] {
        for start in [from, (from + end) / 2, end] {
            let expected = all
                .iter()
                .find(|record| record.timestamp.0 >= at && record.offset.0 >= start)
                .map(|record| (record.offset, record.timestamp));
            prop_assert_eq!(files.offset_for_timestamp(TimestampMs(at), Offset(start)).unwrap(), expected);
        }
    }
    let latest = all.iter().map(|record| record.timestamp).max();
    let expected = all.iter().find(|record| Some(record.timestamp) == latest).map(|r| (r.offset, r.timestamp));
    prop_assert_eq!(files.max_timestamp(Offset(0)).unwrap(), expected);
    Ok(())
}

#[test]
fn unpublished_records_are_not_seen() {
    let bed = Bed::new();
    let files = bed.files();
    crate::bed::add(&files, &[stored(0, 1, 10, 0)]);
    crate::bed::append(&files, &[stored(1, 1, 10, 0)]);
    assert!(files.read(Offset(1), 1000).unwrap().is_none());
    assert_eq!(files.next_offset(), Some(Offset(1)));
    files.publish();
    assert_eq!(files.read(Offset(1), 1000).unwrap().unwrap().first_offset, Offset(1));
}

#[test]
fn many_batches_in_one_call_are_all_written() {
    let bed = Bed::new();
    let files = bed.files();
    let batches: Vec<_> = (0..1_500).map(|offset| stored(offset, 1, 0, 0)).collect();
    let given: Vec<_> = batches.iter().map(stamped).collect();
    files.append(&given, Roll { segment_bytes: 1 << 30, ..ROLL }).unwrap();
    files.sync().unwrap();
    files.publish();
    assert_eq!(crate::bed::read_all(&files, 100_000), batches);
    assert_eq!(files.segments().len(), 1);
}

#[test]
fn a_batch_larger_than_the_check_reads_at_once_is_served() {
    let bed = Bed::new();
    let files = bed.files();
    let batches = [stored(0, 1, 100, 0), stored(1, 3, 100_000, 0), stored(4, 1, 400_000, 0), stored(5, 1, 1, 0)];
    let given: Vec<_> = batches.iter().map(stamped).collect();
    files.append(&given, Roll { segment_bytes: 1 << 30, ..ROLL }).unwrap();
    files.publish();
    assert_eq!(crate::bed::read_all(&files, 1), batches);
    assert_eq!(crate::bed::read_all(&bed_again(&bed), 10_000_000), batches);
}

fn bed_again(bed: &Bed) -> std::sync::Arc<PartitionFiles> {
    bed.files().sync().unwrap();
    bed.reopened()
}
