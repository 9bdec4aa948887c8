//! The service `kurrentdb.protocol.v2.streams.StreamsService`: one append to several streams.

use std::collections::HashMap;

use daybook_event_store::{Append, AppendError, Appended, EventStore, Expected, StreamAppend, StreamName, StreamState};
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::expected;
use super::options::{Options, SESSION_STREAMS_MAX};
use super::v2_error::{self, Violation};
use super::v2_record::{self, Sizes};
use crate::proto::kurrentdb::protocol::v2::streams::streams_service_server::StreamsService;
use crate::proto::kurrentdb::protocol::v2::streams::{
    AppendRecordsRequest, AppendRecordsResponse, AppendRequest, AppendResponse, AppendSessionResponse,
    ConsistencyCheck, StreamRevision, consistency_check,
};

pub(super) struct Service {
    store: EventStore,
    options: Options,
}

impl Service {
    pub(super) fn new(store: EventStore, options: Options) -> Self {
        Self { store, options }
    }
}

#[async_trait]
impl StreamsService for Service {
    async fn append_session(
        &self,
        request: Request<Streaming<AppendRequest>>,
    ) -> Result<Response<AppendSessionResponse>, Status> {
        let streams = self.session(request.into_inner()).await?;
        if streams.is_empty() {
            return Err(v2_error::no_requests());
        }
        let append = Append { streams, ..Append::default() };
        let appended = self.store.append(append).await.map_err(|error| of_session(&error))?;
        let output = appended
            .streams
            .iter()
            .map(|stream| AppendResponse {
                stream: stream.stream.as_str().to_owned(),
                stream_revision: signed(stream.last_version.0),
                position: Some(signed(stream.last_position.0)),
            })
            .collect();
        Ok(Response::new(AppendSessionResponse { output, position: last_position(&appended) }))
    }

    async fn append_records(
        &self,
        request: Request<AppendRecordsRequest>,
    ) -> Result<Response<AppendRecordsResponse>, Status> {
        let transaction = Transaction::of(request.into_inner(), &self.options)?;
        let appended = transaction.append(&self.store).await?;
        let revisions = appended
            .streams
            .iter()
            .map(|stream| StreamRevision {
                stream: stream.stream.as_str().to_owned(),
                revision: signed(stream.last_version.0),
            })
            .collect();
        Ok(Response::new(AppendRecordsResponse { revisions, position: last_position(&appended) }))
    }
}

impl Service {
    /// The requests of a session: one a stream.
    async fn session(&self, mut requests: Streaming<AppendRequest>) -> Result<Vec<StreamAppend>, Status> {
        let mut streams: Vec<StreamAppend> = Vec::new();
        let mut seen = HashMap::new();
        let mut sizes = Sizes::default();
        while let Some(request) = requests.message().await? {
            let stream = stream_name(&request.stream)?;
            if seen.insert(stream.clone(), ()).is_some() {
                return Err(v2_error::stream_repeated(stream.as_str()));
            }
            if streams.len() >= SESSION_STREAMS_MAX {
                return Err(v2_error::bad_request("stream", "the session has too many streams; send it in parts"));
            }
            let expected = request.expected_revision.unwrap_or(expected::ANY);
            let expected = expected::of_number(expected).filter(|expected| *expected != Expected::SoftDeleted);
            let expected = expected.ok_or_else(|| {
                v2_error::bad_request(
                    "expected_revision",
                    "Expected revision must be a revision, -1 (no stream), -2 (any) or -4 (exists).",
                )
            })?;
            if request.records.is_empty() {
                return Err(v2_error::bad_request("records", "a request of an append session needs a record"));
            }
            let mut events = Vec::with_capacity(request.records.len());
            for record in request.records {
                events.push(v2_record::event(record, stream.as_str(), &self.options, &mut sizes)?);
            }
            streams.push(StreamAppend { stream, expected, events });
        }
        Ok(streams)
    }
}

/// Records to several streams, and checks of these or others.
#[derive(Debug)]
pub(super) struct Transaction {
    /// Streams to check come first, in the order of their checks: by that order failures are numbered.
    streams: Vec<StreamAppend>,
    /// Which streams, by their index, must have been deleted for ever.
    tombstoned: Vec<usize>,
}

impl Transaction {
    pub(super) fn of(request: AppendRecordsRequest, options: &Options) -> Result<Self, Status> {
        if request.records.is_empty() {
            return Err(v2_error::bad_request("records", "Append records request must contain at least one record."));
        }
        let mut transaction = Self { streams: Vec::new(), tombstoned: Vec::new() };
        let mut places = HashMap::new();
        for check in request.checks {
            transaction.check(check, &mut places)?;
        }
        let mut sizes = Sizes::default();
        for record in request.records {
            let stream = stream_name(record.stream.as_deref().unwrap_or_default())?;
            let place = *places.entry(stream.clone()).or_insert_with(|| {
                let events = Vec::new();
                transaction.streams.push(StreamAppend { stream: stream.clone(), expected: Expected::Any, events });
                transaction.streams.len() - 1
            });
            let event = v2_record::event(record, stream.as_str(), options, &mut sizes)?;
            transaction.streams[place].events.push(event);
        }
        Ok(transaction)
    }

    fn check(&mut self, check: ConsistencyCheck, places: &mut HashMap<StreamName, usize>) -> Result<(), Status> {
        let Some(consistency_check::Type::StreamState(check)) = check.r#type else {
            return Err(v2_error::bad_request("checks", "Each consistency check must specify a type."));
        };
        let stream = stream_name(&check.stream)?;
        if places.insert(stream.clone(), self.streams.len()).is_some() {
            return Err(v2_error::bad_request("checks", "Each stream can only appear once in consistency checks."));
        }
        let expected = match check.expected_state {
            expected::TOMBSTONED => {
                self.tombstoned.push(self.streams.len());
                Expected::Any
            }
            number => expected::of_number(number).filter(|expected| *expected != Expected::Any).ok_or_else(|| {
                v2_error::bad_request(
                    "checks",
                    "Expected state must be a revision, -1 (no stream), -4 (exists), -5 (deleted) or -6 (tombstoned).",
                )
            })?,
        };
        self.streams.push(StreamAppend { stream, expected, events: Vec::new() });
        Ok(())
    }

    async fn append(self, store: &EventStore) -> Result<Appended, Status> {
        let Self { streams, tombstoned } = self;
        // Nothing follows a deletion for ever: one that is seen now holds when the append is decided.
        let mut violations = Vec::new();
        for &check in &tombstoned {
            let stream = &streams[check];
            let info = store.stream_info(&stream.stream).await;
            let actual = info.map_err(|error| v2_error::malfunction(error.to_string()))?.state;
            if actual != StreamState::Tombstoned || !stream.events.is_empty() {
                violations.push(Violation {
                    check,
                    stream: stream.stream.as_str().to_owned(),
                    expected: expected::TOMBSTONED,
                    actual: expected::actual_state(actual),
                });
            }
        }
        if !violations.is_empty() {
            return Err(v2_error::violations(&violations));
        }
        let numbers: HashMap<StreamName, (usize, Expected)> = streams
            .iter()
            .enumerate()
            .map(|(check, stream)| (stream.stream.clone(), (check, stream.expected)))
            .collect();
        let streams = streams
            .into_iter()
            .enumerate()
            .filter(|(check, _)| !tombstoned.contains(check))
            .map(|(_, stream)| stream)
            .collect();
        store.append(Append { streams, ..Append::default() }).await.map_err(|error| of_records(&error, &numbers))
    }
}

fn of_session(error: &AppendError) -> Status {
    match error {
        AppendError::Conflict(conflicts) => match conflicts.first() {
            Some(conflict) => v2_error::revision_conflict(
                conflict.stream.as_str(),
                expected::number(conflict.expected),
                expected::actual_version(conflict.actual),
            ),
            None => v2_error::malfunction(error.to_string()),
        },
        AppendError::Tombstoned { stream } => v2_error::tombstoned(stream.as_str()),
        _ => of_append(error),
    }
}

/// `numbers`: the check of each stream.
fn of_records(error: &AppendError, numbers: &HashMap<StreamName, (usize, Expected)>) -> Status {
    let violation = |stream: &StreamName, actual: i64| {
        let (check, expected) = numbers.get(stream).copied().unwrap_or((0, Expected::Any));
        Violation { check, stream: stream.as_str().to_owned(), expected: expected::number(expected), actual }
    };
    match error {
        AppendError::Conflict(conflicts) if !conflicts.is_empty() => {
            let violations: Vec<Violation> = conflicts
                .iter()
                .map(|conflict| violation(&conflict.stream, expected::actual_state(conflict.actual)))
                .collect();
            v2_error::violations(&violations)
        }
        AppendError::Tombstoned { stream } => v2_error::violations(&[violation(stream, expected::TOMBSTONED)]),
        _ => of_append(error),
    }
}

fn of_append(error: &AppendError) -> Status {
    match error {
        AppendError::TooLarge { bytes, bytes_max } => v2_error::append_too_large(*bytes, *bytes_max),
        AppendError::RepeatedId { .. } | AppendError::PartlyRepeated { .. } => {
            v2_error::bad_request("record_id", &error.to_string())
        }
        AppendError::RepeatedStream { .. } | AppendError::Empty | AppendError::Name(_) => {
            v2_error::bad_request("stream", &error.to_string())
        }
        AppendError::Metadata { .. } | AppendError::ReservedHeader { .. } => {
            v2_error::bad_request("data", &error.to_string())
        }
        AppendError::NoEventTopic { .. } | AppendError::Indexing { .. } => v2_error::not_ready(error.to_string()),
        AppendError::Propose(error) => v2_error::of_propose(error),
        AppendError::Conflict(_) | AppendError::Tombstoned { .. } | AppendError::ConditionFailed { .. } => {
            v2_error::malfunction(error.to_string())
        }
    }
}

fn stream_name(name: &str) -> Result<StreamName, Status> {
    if name == "$$" {
        return Err(v2_error::bad_request("stream", "Stream must not be '$$'."));
    }
    StreamName::new(name).map_err(|fault| v2_error::bad_request("stream", &fault.to_string()))
}

fn last_position(appended: &Appended) -> i64 {
    appended.last_position.map_or(-1, |position| signed(position.0))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
