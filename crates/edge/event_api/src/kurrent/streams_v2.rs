//! The service `kurrentdb.protocol.v2.streams.StreamsService`: one append to several streams.

use std::collections::HashSet;

use daybook_event_store::{Append, AppendError, Appended, EventStore, Expected, StreamAppend, StreamName};
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::expected;
use super::options::{Options, SESSION_STREAMS_MAX};
use super::transaction::Transaction;
use super::v2_error;
use super::v2_record::{self, Sizes};
use crate::proto::kurrentdb::protocol::v2::streams::streams_service_server::StreamsService;
use crate::proto::kurrentdb::protocol::v2::streams::{
    AppendRecordsRequest, AppendRecordsResponse, AppendRequest, AppendResponse, AppendSessionResponse, StreamRevision,
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
        let mut seen = HashSet::new();
        let mut sizes = Sizes::default();
        while let Some(request) = requests.message().await? {
            let stream = stream_name(&request.stream)?;
            if !seen.insert(stream.clone()) {
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
        _ => v2_error::of_append(error),
    }
}

pub(super) fn stream_name(name: &str) -> Result<StreamName, Status> {
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
