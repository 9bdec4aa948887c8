//! One append of records to several streams, and checks of these or of others.

use std::collections::HashMap;

use daybook_event_store::{Append, AppendError, Appended, EventStore, Expected, StreamAppend, StreamName, StreamState};
use tonic::Status;

use super::expected;
use super::options::Options;
use super::streams_v2::stream_name;
use super::v2_error::{self, Violation};
use super::v2_record::{self, Sizes};
use crate::proto::kurrentdb::protocol::v2::streams::{AppendRecordsRequest, ConsistencyCheck, consistency_check};

/// Streams to check come first, in the order of their checks: by that order failures are numbered.
#[derive(Debug)]
pub(super) struct Transaction {
    streams: Vec<StreamAppend>,
    checks: Vec<Check>,
}

/// What is known of each stream of a transaction while it is away.
#[derive(Clone, Debug)]
struct Check {
    stream: StreamName,
    /// In the protocol's numbers, of which the store's expectations lack one.
    expected: i64,
    is_written: bool,
}

impl Transaction {
    pub(super) fn of(request: AppendRecordsRequest, options: &Options) -> Result<Self, Status> {
        if request.records.is_empty() {
            return Err(v2_error::bad_request("records", "Append records request must contain at least one record."));
        }
        let mut transaction = Self { streams: Vec::new(), checks: Vec::new() };
        let mut places = HashMap::new();
        for check in request.checks {
            let (stream, expected) = checked(check)?;
            if places.insert(stream.clone(), transaction.streams.len()).is_some() {
                return Err(v2_error::bad_request("checks", "Each stream can only appear once in consistency checks."));
            }
            transaction.add(stream, expected);
        }
        let mut sizes = Sizes::default();
        for record in request.records {
            let stream = stream_name(record.stream.as_deref().unwrap_or_default())?;
            let place = *places.entry(stream.clone()).or_insert_with(|| transaction.add(stream.clone(), expected::ANY));
            let event = v2_record::event(record, stream.as_str(), options, &mut sizes)?;
            transaction.streams[place].events.push(event);
            transaction.checks[place].is_written = true;
        }
        Ok(transaction)
    }

    pub(super) async fn append(mut self, store: &EventStore) -> Result<Appended, Status> {
        self.leave_out_the_tombstoned(store).await?;
        let Self { streams, checks } = self;
        match store.append(Append { streams, ..Append::default() }).await {
            Ok(appended) => Ok(appended),
            Err(AppendError::Conflict(conflicts)) => {
                let actual: HashMap<_, _> =
                    conflicts.into_iter().map(|conflict| (conflict.stream, conflict.actual)).collect();
                Err(v2_error::violations(&violations(&checks, |stream| actual.get(stream).copied())))
            }
            // The store stops at this one; a client wants to know of all.
            Err(AppendError::Tombstoned { .. }) => Err(violations_now(store, &checks).await?),
            Err(error) => Err(v2_error::of_append(&error)),
        }
    }

    /// Adds a stream; returns its place.
    fn add(&mut self, stream: StreamName, expected: i64) -> usize {
        let store_expects = expected::of_number(expected).unwrap_or(Expected::Any);
        self.checks.push(Check { stream: stream.clone(), expected, is_written: false });
        self.streams.push(StreamAppend { stream, expected: store_expects, events: Vec::new() });
        self.streams.len() - 1
    }

    /// A stream that is only checked may have been deleted for ever: then it is no stream. The store refuses every append that names
    /// one. But nothing follows such a deletion: one that is seen now holds when the append is decided, without being asked there.
    async fn leave_out_the_tombstoned(&mut self, store: &EventStore) -> Result<(), Status> {
        let mut left_out = Vec::new();
        for (place, check) in self.checks.iter().enumerate() {
            if check.expected != expected::TOMBSTONED && (check.is_written || check.expected != expected::NO_STREAM) {
                continue;
            }
            let is_tombstoned = state(store, &check.stream).await? == StreamState::Tombstoned;
            if is_tombstoned && !check.is_written {
                left_out.push(place);
            } else if check.expected == expected::TOMBSTONED {
                return Err(violations_now(store, &self.checks).await?);
            }
        }
        for place in left_out.into_iter().rev() {
            self.streams.remove(place);
        }
        Ok(())
    }
}

fn checked(check: ConsistencyCheck) -> Result<(StreamName, i64), Status> {
    let Some(consistency_check::Type::StreamState(check)) = check.r#type else {
        return Err(v2_error::bad_request("checks", "Each consistency check must specify a type."));
    };
    let stream = stream_name(&check.stream)?;
    match check.expected_state {
        0.. | expected::NO_STREAM | expected::EXISTS | expected::DELETED | expected::TOMBSTONED => {
            Ok((stream, check.expected_state))
        }
        _ => Err(v2_error::bad_request(
            "checks",
            "Expected state must be a revision, -1 (no stream), -4 (exists), -5 (deleted) or -6 (tombstoned).",
        )),
    }
}

/// The checks that fail by what the streams are now.
async fn violations_now(store: &EventStore, checks: &[Check]) -> Result<Status, Status> {
    let mut actual = HashMap::new();
    for check in checks {
        let state = state(store, &check.stream).await?;
        if !holds(check, state) {
            actual.insert(check.stream.clone(), state);
        }
    }
    match violations(checks, |stream| actual.get(stream).copied()) {
        // A stream that was only checked was deleted for ever meanwhile, which suits the check.
        found if found.is_empty() => {
            Err(v2_error::not_ready("a checked stream was just deleted; try again".to_owned()))
        }
        found => Ok(v2_error::violations(&found)),
    }
}

fn violations(checks: &[Check], actual: impl Fn(&StreamName) -> Option<StreamState>) -> Vec<Violation> {
    let violation = |(place, check): (usize, &Check)| {
        Some(Violation {
            check: place,
            stream: check.stream.as_str().to_owned(),
            expected: check.expected,
            actual: expected::actual_state(actual(&check.stream)?),
        })
    };
    checks.iter().enumerate().filter_map(violation).collect()
}

fn holds(check: &Check, actual: StreamState) -> bool {
    match (actual, expected::of_number(check.expected)) {
        (StreamState::Tombstoned, _) => {
            !check.is_written && matches!(check.expected, expected::NO_STREAM | expected::TOMBSTONED)
        }
        (actual, Some(expected)) => expected::met(expected, actual),
        (_, None) => false,
    }
}

async fn state(store: &EventStore, stream: &StreamName) -> Result<StreamState, Status> {
    match store.stream_info(stream).await {
        Ok(info) => Ok(info.state),
        Err(error) => Err(v2_error::malfunction(error.to_string())),
    }
}
