use std::path::Path;

use bytes::Bytes;
use daybook_types::Term;

use super::*;
use crate::directory::inspect;
use crate::format::padding;

const CAPACITY: usize = 1024;

/// A segment of records that are whole, each made to order.
struct Made {
    bytes: Vec<u8>,
    seed: Seed,
}

fn first_header() -> SegmentHeader {
    SegmentHeader {
        capacity: CAPACITY as u32,
        first_seq: Seq::FIRST,
        synced: Seq(0),
        before: None,
        first_lsn: Lsn(0),
        prev: 0,
    }
}

/// All records of these segments and how it ended.
fn walk(made: Vec<Made>) -> (usize, Result<Step, OpenError>) {
    let bytes: Vec<_> = made.into_iter().map(Made::full).collect();
    let inspect = |(number, bytes)| inspect(Path::new(["first", "second"][number]), Source::Bytes(bytes)).unwrap();
    let mut walk = Walk::new(bytes.iter().map(Vec::as_slice).enumerate().map(inspect).collect()).unwrap();
    let mut count = 0;
    loop {
        match walk.step() {
            Ok(Step::Record { .. }) => count += 1,
            end => return (count, end),
        }
    }
}

impl Made {
    fn segment() -> Self {
        Self::with(&first_header())
    }

    fn with(header: &SegmentHeader) -> Self {
        let (bytes, seed) = header.encode();
        Self { bytes: bytes.to_vec(), seed }
    }

    fn full(mut self) -> Vec<u8> {
        self.bytes.resize(CAPACITY, 0);
        self.bytes
    }

    fn walk(self) -> (usize, Result<Step, OpenError>) {
        walk(vec![self])
    }

    fn record(mut self, mut header: RecordHeader) -> (Self, u32) {
        let payload = Bytes::from_static(b"payload");
        header.payload_bytes = payload.len() as u32;
        let encoded = header.encode(&self.seed, std::slice::from_ref(&payload));
        self.bytes.extend_from_slice(&encoded);
        self.bytes.extend_from_slice(&payload);
        self.bytes.extend_from_slice(padding(header.payload_bytes));
        (self, header.crc)
    }
}

fn entry(seq: u64, prev: u32, lsn: u64) -> RecordHeader {
    RecordHeader {
        crc: 0,
        payload_bytes: 0,
        prev,
        what: What::Entry,
        kind: 0,
        seq: Seq(seq),
        synced: Seq(0),
        log_id: Some((Term(1), Lsn(lsn))),
    }
}

fn reason(end: Result<Step, OpenError>) -> DamageReason {
    match end {
        Err(OpenError::Damage(damage)) => damage.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn whole_records_in_order_count() {
    let (made, crc) = Made::segment().record(entry(1, 0, 0));
    let (made, _) = made.record(entry(2, crc, 1));
    let (count, end) = made.walk();
    assert_eq!(count, 2);
    assert!(matches!(end, Ok(Step::End)));
}

#[test]
fn a_record_that_does_not_name_the_one_before_does_not_count() {
    let (made, crc) = Made::segment().record(entry(1, 0, 0));
    let (made, _) = made.record(entry(2, crc ^ 1, 1));
    let (count, end) = made.walk();
    assert_eq!(count, 1);
    assert!(matches!(end, Ok(Step::Torn(TornTail { segment: 0, at: 120, end: 176 }))), "{end:?}");
}

#[test]
fn a_record_with_another_number_does_not_count() {
    let (made, crc) = Made::segment().record(entry(1, 0, 0));
    let (made, _) = made.record(entry(3, crc, 1));
    let (count, end) = made.walk();
    assert_eq!(count, 1);
    assert!(matches!(end, Ok(Step::Torn(_))));
}

#[test]
fn a_witness_further_on_makes_it_damage() {
    let (made, crc) = Made::segment().record(entry(1, 0, 0));
    let (made, crc) = made.record(entry(3, crc, 2));
    let (made, _) = made.record(RecordHeader { synced: Seq(2), ..entry(4, crc, 3) });
    let (count, end) = made.walk();
    assert_eq!(count, 1);
    assert_eq!(reason(end), DamageReason::RecordLost { proof_file: "first".into(), proof_byte: 176 });
}

#[test]
fn a_record_cannot_vouch_for_itself() {
    let (made, crc) = Made::segment().record(entry(1, 0, 0));
    let (made, _) = made.record(RecordHeader { synced: Seq(2), ..entry(2, crc, 1) });
    let (count, end) = made.walk();
    assert_eq!(count, 1);
    assert!(matches!(end, Ok(Step::End)), "{end:?}");
}

#[test]
fn records_that_make_no_sense_are_damage() {
    let truncate = |log_id| RecordHeader { what: What::Truncate, log_id, ..entry(2, 0, 0) };
    let purge = RecordHeader { what: What::Purge, log_id: None, ..entry(2, 0, 0) };
    let mark = RecordHeader { what: What::Mark, ..entry(2, 0, 0) };
    let odd = [entry(2, 0, 0), entry(2, 0, 2), truncate(Some((Term(1), Lsn(1)))), purge, mark];
    for header in odd {
        let (made, crc) = Made::segment().record(entry(1, 0, 0));
        let (made, _) = made.record(RecordHeader { prev: crc, ..header });
        let (count, end) = made.walk();
        assert_eq!(count, 1);
        assert_eq!(reason(end), DamageReason::OutOfPlace, "{header:?}");
    }
}

#[test]
fn numbers_at_their_limits_do_not_overflow() {
    let header = SegmentHeader {
        capacity: CAPACITY as u32,
        first_seq: Seq(u64::MAX),
        synced: Seq(u64::MAX - 1),
        before: Some((Term(u64::MAX), Lsn(u64::MAX - 2))),
        first_lsn: Lsn(u64::MAX),
        prev: 0,
    };
    let made = Made::with(&header);
    let (made, crc) = made.record(entry(u64::MAX, 0, u64::MAX - 1));
    let (made, _) = made.record(RecordHeader { what: What::Purge, ..entry(u64::MAX, crc, u64::MAX - 1) });
    let (count, _) = made.walk();
    assert_eq!(count, 2);
}

/// Entry 1 in the first segment; the second begins with number 3, so entry 2 is missing.
fn with_a_gap(synced_at_the_beginning: u64, synced_in_a_record: u64) -> Result<Step, OpenError> {
    let (first, crc) = Made::segment().record(entry(1, 0, 0));
    let begin = SegmentHeader {
        first_seq: Seq(3),
        synced: Seq(synced_at_the_beginning),
        before: Some((Term(1), Lsn(1))),
        first_lsn: Lsn(2),
        prev: crc,
        ..first_header()
    };
    let (second, crc) = Made::with(&begin).record(entry(3, 0, 2));
    let (second, _) = second.record(RecordHeader { synced: Seq(synced_in_a_record), ..entry(4, crc, 3) });
    let (count, end) = walk(vec![first, second]);
    assert_eq!(count, 1);
    end
}

#[test]
fn later_segments_are_torn_too_unless_they_bear_witness() {
    let end = with_a_gap(1, 1);
    assert!(matches!(end, Ok(Step::Torn(TornTail { segment: 0, at: 120, end: 120 }))), "{end:?}");
    let proof = |proof_byte| DamageReason::RecordLost { proof_file: "second".into(), proof_byte };
    assert_eq!(reason(with_a_gap(2, 2)), proof(0));
    assert_eq!(reason(with_a_gap(1, 2)), proof(120));
}

#[test]
fn a_segment_that_does_not_continue_the_one_before_is_damage() {
    let right = |crc| SegmentHeader {
        first_seq: Seq(2),
        before: Some((Term(1), Lsn(0))),
        first_lsn: Lsn(1),
        prev: crc,
        ..first_header()
    };
    let (first, crc) = Made::segment().record(entry(1, 0, 0));
    let (second, _) = Made::with(&right(crc)).record(entry(2, crc, 1));
    let (count, end) = walk(vec![first, second]);
    assert_eq!(count, 2);
    assert!(matches!(end, Ok(Step::End)));

    for wrong in [
        SegmentHeader { prev: crc ^ 1, ..right(crc) },
        SegmentHeader { before: Some((Term(2), Lsn(0))), ..right(crc) },
        SegmentHeader { before: None, ..right(crc) },
    ] {
        let (first, crc) = Made::segment().record(entry(1, 0, 0));
        let (second, _) = Made::with(&wrong).record(entry(2, crc, 1));
        let (_, end) = walk(vec![first, second]);
        assert_eq!(reason(end), DamageReason::OutOfPlace);
    }
}

#[test]
fn a_segment_that_begins_within_the_one_before_is_damage() {
    let (first, crc) = Made::segment().record(entry(1, 0, 0));
    let (first, crc) = first.record(entry(2, crc, 1));
    let begin = SegmentHeader { first_seq: Seq(2), prev: crc, ..first_header() };
    let (_, end) = walk(vec![first, Made::with(&begin)]);
    assert_eq!(reason(end), DamageReason::SegmentTwice);
}
