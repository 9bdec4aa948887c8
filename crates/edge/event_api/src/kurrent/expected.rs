//! What a stream is expected to be, in each of the messages that say it, and in the numbers of which errors speak.

use daybook_event_store::{Expected, StreamState};
use daybook_types::StreamVersion;
use tonic::Status;

use super::error_code;
use crate::proto::event_store::client::streams::append_req::options::ExpectedStreamRevision as OfAppend;
use crate::proto::event_store::client::streams::batch_append_req::options::ExpectedStreamPosition as OfBatch;
use crate::proto::event_store::client::streams::delete_req::options::ExpectedStreamRevision as OfDelete;
use crate::proto::event_store::client::streams::tombstone_req::options::ExpectedStreamRevision as OfTombstone;

pub(super) const NO_STREAM: i64 = -1;
pub(super) const ANY: i64 = -2;
pub(super) const EXISTS: i64 = -4;
pub(super) const DELETED: i64 = -5;
pub(super) const TOMBSTONED: i64 = -6;
/// What the first protocol calls the version of a stream that was deleted for ever.
const VERSION_OF_TOMBSTONED: i64 = i64::MAX;

pub(super) fn of_append(wanted: Option<OfAppend>) -> Result<Expected, Status> {
    match wanted {
        Some(OfAppend::Revision(revision)) => exact(revision),
        Some(OfAppend::NoStream(_)) => Ok(Expected::NoStream),
        Some(OfAppend::Any(_)) => Ok(Expected::Any),
        Some(OfAppend::StreamExists(_)) => Ok(Expected::Exists),
        None => Err(missing()),
    }
}

pub(super) fn of_batch(wanted: Option<OfBatch>) -> Result<Expected, Status> {
    match wanted {
        Some(OfBatch::StreamPosition(revision)) => exact(revision),
        Some(OfBatch::NoStream(())) => Ok(Expected::NoStream),
        Some(OfBatch::Any(())) => Ok(Expected::Any),
        Some(OfBatch::StreamExists(())) => Ok(Expected::Exists),
        None => Err(missing()),
    }
}

pub(super) fn of_delete(wanted: Option<OfDelete>) -> Result<Expected, Status> {
    match wanted {
        Some(OfDelete::Revision(revision)) => exact(revision),
        Some(OfDelete::NoStream(_)) => Ok(Expected::NoStream),
        Some(OfDelete::Any(_)) => Ok(Expected::Any),
        Some(OfDelete::StreamExists(_)) => Ok(Expected::Exists),
        None => Err(missing()),
    }
}

pub(super) fn of_tombstone(wanted: Option<OfTombstone>) -> Result<Expected, Status> {
    match wanted {
        Some(OfTombstone::Revision(revision)) => exact(revision),
        Some(OfTombstone::NoStream(_)) => Ok(Expected::NoStream),
        Some(OfTombstone::Any(_)) => Ok(Expected::Any),
        Some(OfTombstone::StreamExists(_)) => Ok(Expected::Exists),
        None => Err(missing()),
    }
}

/// The second protocol's number. `None` if it means nothing that can be expected of a stream that is written.
pub(super) fn of_number(number: i64) -> Option<Expected> {
    match number {
        NO_STREAM => Some(Expected::NoStream),
        ANY => Some(Expected::Any),
        EXISTS => Some(Expected::Exists),
        DELETED => Some(Expected::SoftDeleted),
        version => u64::try_from(version).ok().map(|version| Expected::Exact(StreamVersion(version))),
    }
}

pub(super) fn number(expected: Expected) -> i64 {
    match expected {
        Expected::Any => ANY,
        Expected::NoStream => NO_STREAM,
        Expected::Exists => EXISTS,
        Expected::SoftDeleted => DELETED,
        Expected::Exact(version) => signed(version),
    }
}

/// What the first protocol says a stream is: a deleted one is at the version it had.
pub(super) fn actual_version(actual: StreamState) -> i64 {
    match actual {
        StreamState::None => NO_STREAM,
        StreamState::At(version) | StreamState::SoftDeleted(version) => signed(version),
        StreamState::Tombstoned => VERSION_OF_TOMBSTONED,
    }
}

/// What the second protocol says a stream is.
pub(super) fn actual_state(actual: StreamState) -> i64 {
    match actual {
        StreamState::None => NO_STREAM,
        StreamState::At(version) => signed(version),
        StreamState::SoftDeleted(_) => DELETED,
        StreamState::Tombstoned => TOMBSTONED,
    }
}

/// Whether `actual` is what was expected: for a stream that is only looked at, where nothing is written.
pub(super) fn met(expected: Expected, actual: StreamState) -> bool {
    match (expected, actual) {
        (_, StreamState::Tombstoned) => false,
        (Expected::Any, _)
        | (Expected::NoStream, StreamState::None | StreamState::SoftDeleted(_))
        | (Expected::Exists, StreamState::At(_))
        | (Expected::SoftDeleted, StreamState::SoftDeleted(_)) => true,
        (Expected::Exact(version), StreamState::At(head) | StreamState::SoftDeleted(head)) => version == head,
        _ => false,
    }
}

/// A revision; the greatest of all is how some clients write *no stream*.
fn exact(revision: u64) -> Result<Expected, Status> {
    if revision == u64::MAX {
        return Ok(Expected::NoStream);
    }
    if i64::try_from(revision).is_err() {
        return Err(error_code::invalid(format!("{revision} is not a revision")));
    }
    Ok(Expected::Exact(StreamVersion(revision)))
}

fn missing() -> Status {
    error_code::invalid("the expected revision is missing; send a revision, no_stream, any or stream_exists")
}

fn signed(version: StreamVersion) -> i64 {
    i64::try_from(version.0).unwrap_or(i64::MAX)
}
