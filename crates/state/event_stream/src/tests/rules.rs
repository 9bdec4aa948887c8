//! Which append is taken, which is a repeat, which is refused: the table of `docs/event-store.md`.

use std::convert::Infallible;

use daybook_command::{ActualVersion, ExpectedVersion};
use daybook_event::DELETED;
use daybook_types::StreamVersion;

use crate::decide::{IDEMPOTENCE_WINDOW, Verdict, judge};
use crate::stored::{Stream, StreamId};

/// A stream whose events have these ids.
fn stream(ids: &[u64]) -> Stream {
    Stream { next: StreamVersion(ids.len() as u64), ..Stream::new(StreamId(1)) }
}

fn judge_with(stream: Option<&Stream>, stored: &[u64], expected: ExpectedVersion, ids: &[u64]) -> Verdict {
    let stored_ids = |from: StreamVersion, to: StreamVersion| -> Result<Vec<u64>, Infallible> {
        Ok(stored[(from.0 as usize).min(stored.len())..(to.0 as usize).min(stored.len())].to_vec())
    };
    judge(stream, expected, ids, stored_ids).expect("nothing fails here")
}

fn exact(version: u64) -> ExpectedVersion {
    ExpectedVersion::Exact(StreamVersion(version))
}

fn take(version: u64) -> Verdict {
    Verdict::Take(StreamVersion(version))
}

fn repeated(version: u64) -> Verdict {
    Verdict::Repeated(StreamVersion(version))
}

fn conflict_at(version: u64) -> Verdict {
    Verdict::Conflict(ActualVersion::At(StreamVersion(version)))
}

#[test]
fn a_new_stream_is_taken_by_any_and_no_stream_only() {
    for expected in [ExpectedVersion::Any, ExpectedVersion::NoStream] {
        assert_eq!(judge_with(None, &[], expected, &[7]), take(0));
    }
    for expected in [ExpectedVersion::Exists, ExpectedVersion::SoftDeleted, exact(0)] {
        assert_eq!(judge_with(None, &[], expected, &[7]), Verdict::Conflict(ActualVersion::None));
    }
}

#[test]
fn an_exact_version_is_taken_once_and_a_retry_gets_the_first_answer() {
    let stored = [1, 2, 3, 4];
    let stream = stream(&stored);
    assert_eq!(judge_with(Some(&stream), &stored, exact(3), &[9]), take(4));
    assert_eq!(judge_with(Some(&stream), &stored, exact(1), &[3, 4]), repeated(2));
    assert_eq!(judge_with(Some(&stream), &stored, exact(1), &[3]), repeated(2));
    assert_eq!(judge_with(Some(&stream), &stored, exact(1), &[3, 4, 5]), Verdict::PartlyRepeated);
    assert_eq!(judge_with(Some(&stream), &stored, exact(1), &[3, 9]), Verdict::PartlyRepeated);
    assert_eq!(judge_with(Some(&stream), &stored, exact(1), &[9, 4]), conflict_at(3));
    assert_eq!(judge_with(Some(&stream), &stored, exact(7), &[9]), conflict_at(3));
    // The ids are there, but not where the expectation says.
    assert_eq!(judge_with(Some(&stream), &stored, exact(0), &[3, 4]), conflict_at(3));
    assert_eq!(
        judge_with(Some(&stream), &stored, exact(3), &[1]),
        take(4),
        "at the right version an old id is a new event"
    );
}

#[test]
fn no_stream_repeats_from_the_first_event() {
    let stored = [1, 2];
    let stream = stream(&stored);
    assert_eq!(judge_with(Some(&stream), &stored, ExpectedVersion::NoStream, &[1, 2]), repeated(0));
    assert_eq!(judge_with(Some(&stream), &stored, ExpectedVersion::NoStream, &[1]), repeated(0));
    assert_eq!(judge_with(Some(&stream), &stored, ExpectedVersion::NoStream, &[2]), conflict_at(1));
}

#[test]
fn any_and_exists_know_a_repeat_among_the_last_events() {
    let stored: Vec<u64> = (1..=IDEMPOTENCE_WINDOW + 10).collect();
    let stream = stream(&stored);
    let next = stored.len() as u64;
    for expected in [ExpectedVersion::Any, ExpectedVersion::Exists] {
        assert_eq!(judge_with(Some(&stream), &stored, expected, &[next - 1, next]), repeated(next - 2));
        assert_eq!(judge_with(Some(&stream), &stored, expected, &[9999, next]), Verdict::PartlyRepeated);
        assert_eq!(judge_with(Some(&stream), &stored, expected, &[next, 9999]), Verdict::PartlyRepeated);
        assert_eq!(judge_with(Some(&stream), &stored, expected, &[5]), take(next), "too long ago to be known");
    }
}

#[test]
fn events_without_an_id_are_never_a_repeat() {
    let stored = [0, 0];
    let stream = stream(&stored);
    assert_eq!(judge_with(Some(&stream), &stored, ExpectedVersion::Any, &[0]), take(2));
    assert_eq!(judge_with(Some(&stream), &stored, exact(0), &[0]), conflict_at(1));
}

#[test]
fn a_deleted_stream_takes_the_same_ids_as_new_events() {
    let stored = [1, 2];
    let mut deleted = stream(&stored);
    deleted.settings.truncate_before = Some(DELETED);
    for expected in [ExpectedVersion::Any, ExpectedVersion::NoStream, ExpectedVersion::SoftDeleted, exact(1)] {
        assert_eq!(judge_with(Some(&deleted), &stored, expected, &[1, 2]), take(2), "{expected}");
    }
    let actual = ActualVersion::SoftDeleted(StreamVersion(1));
    assert_eq!(judge_with(Some(&deleted), &stored, ExpectedVersion::Exists, &[1, 2]), Verdict::Conflict(actual));
    assert_eq!(judge_with(Some(&deleted), &stored, exact(0), &[2]), Verdict::Conflict(actual));

    // Written again with the same ids; a retry of that is a repeat, of what came before it is not.
    let stored = [1, 2, 1, 2];
    let reborn = Stream { born: StreamVersion(2), ..stream(&stored) };
    for expected in [ExpectedVersion::NoStream, ExpectedVersion::SoftDeleted, ExpectedVersion::Any, exact(1)] {
        assert_eq!(judge_with(Some(&reborn), &stored, expected, &[1, 2]), repeated(2), "{expected}");
    }
    assert_eq!(judge_with(Some(&reborn), &stored, exact(0), &[2]), conflict_at(3));
}

#[test]
fn a_tombstoned_stream_takes_nothing() {
    let mut stream = stream(&[1, 2]);
    stream.is_tombstoned = true;
    for expected in [ExpectedVersion::Any, ExpectedVersion::Exists, ExpectedVersion::NoStream, exact(1)] {
        assert_eq!(judge_with(Some(&stream), &[1, 2], expected, &[3]), Verdict::Tombstoned);
        assert_eq!(judge_with(Some(&stream), &[1, 2], expected, &[]), Verdict::Tombstoned);
    }
}

#[test]
fn a_stream_that_is_only_checked_is_as_expected_or_not() {
    let stored = [1, 2];
    let stream = stream(&stored);
    assert_eq!(judge_with(Some(&stream), &stored, exact(1), &[]), take(2));
    assert_eq!(judge_with(Some(&stream), &stored, exact(0), &[]), conflict_at(1));
    assert_eq!(judge_with(None, &[], ExpectedVersion::NoStream, &[]), take(0));
}

#[test]
fn what_a_stream_keeps_moves_its_first_version() {
    let mut stream = stream(&[1; 10]);
    assert_eq!(stream.first(), StreamVersion(0));
    stream.settings.truncate_before = Some(StreamVersion(4));
    assert_eq!(stream.first(), StreamVersion(4));
    stream.settings.max_count = Some(3);
    assert_eq!(stream.first(), StreamVersion(7));
    stream.settings.truncate_before = Some(StreamVersion(99));
    assert_eq!(stream.first(), StreamVersion(10), "never past the next event");
    let bytes = stream.encode();
    assert_eq!(Stream::decode(&bytes), Ok(stream));
}
