//! Append: one stream, all events or none.

use daybook_event_store::{
    Append, AppendError, Appended, Conflict, EventStore, Expected, NewEvent, StreamAppend, StreamName, StreamState,
};
use daybook_types::{Position, StreamVersion};
use tonic::{Status, Streaming};

use super::options::Options;
use super::proposed::Proposed;
use super::{error_code, expected, ids};
use crate::proto::event_store::client::Empty;
use crate::proto::event_store::client::streams::append_resp::success::{CurrentRevisionOption, PositionOption};
use crate::proto::event_store::client::streams::append_resp::wrong_expected_version as wrong;
use crate::proto::event_store::client::streams::append_resp::{self, Result as Answer, Success, WrongExpectedVersion};
use crate::proto::event_store::client::streams::{AppendReq, AppendResp, append_req};

pub(super) async fn append(
    store: &EventStore,
    options: &Options,
    mut requests: Streaming<AppendReq>,
) -> Result<AppendResp, Status> {
    let Some(append_req::Content::Options(head)) = requests.message().await?.and_then(|request| request.content) else {
        return Err(error_code::invalid("the first message of an append must be its options"));
    };
    let stream = ids::stream_name(head.stream_identifier.as_ref())?;
    let expected = expected::of_append(head.expected_stream_revision)?;
    let mut proposed = Proposed::default();
    while let Some(request) = requests.message().await? {
        let Some(append_req::Content::ProposedMessage(event)) = request.content else {
            return Err(error_code::invalid("after the options of an append only events may follow"));
        };
        proposed
            .push(options, event.id.as_ref(), event.metadata, event.custom_metadata, event.data)
            .map_err(|refused| refused.status(options))?;
    }
    match append_to(store, stream, expected, proposed.events).await {
        Ok(done) => Ok(AppendResp { result: Some(Answer::Success(success(done))) }),
        Err(AppendError::Conflict(conflicts)) if !conflicts.is_empty() => {
            let answer = wrong_expected_version(&conflicts[0]);
            Ok(AppendResp { result: Some(Answer::WrongExpectedVersion(answer)) })
        }
        Err(error) => Err(error_code::of_append("Append", &error)),
    }
}

/// What an append to one stream comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    /// The stream's last version; `None` if there is none.
    pub(super) version: Option<StreamVersion>,
    pub(super) position: Option<Position>,
}

/// Appends. A retry of which only a part is known is a conflict in this protocol; so is nothing else.
pub(super) async fn append_to(
    store: &EventStore,
    stream: StreamName,
    expected: Expected,
    events: Vec<NewEvent>,
) -> Result<Done, AppendError> {
    if events.is_empty() {
        return look_at(store, stream, expected).await;
    }
    let append =
        Append { streams: vec![StreamAppend { stream: stream.clone(), expected, events }], ..Append::default() };
    match store.append(append).await {
        Ok(appended) => Ok(done(&appended)),
        Err(AppendError::PartlyRepeated { stream }) => Err(match store.stream_info(&stream).await {
            Ok(info) => AppendError::Conflict(vec![Conflict { stream, expected, actual: info.state }]),
            Err(_) => AppendError::PartlyRepeated { stream },
        }),
        Err(error) => Err(error),
    }
}

/// An append of nothing: it says whether the expectation is met.
async fn look_at(store: &EventStore, stream: StreamName, expected: Expected) -> Result<Done, AppendError> {
    let Ok(info) = store.stream_info(&stream).await else { return Err(AppendError::Empty) };
    match info.state {
        StreamState::Tombstoned => Err(AppendError::Tombstoned { stream }),
        actual if !expected::met(expected, actual) => {
            Err(AppendError::Conflict(vec![Conflict { stream, expected, actual }]))
        }
        StreamState::At(version) | StreamState::SoftDeleted(version) => {
            Ok(Done { version: Some(version), position: None })
        }
        StreamState::None => Ok(Done { version: None, position: None }),
    }
}

fn done(appended: &Appended) -> Done {
    let stream = appended.streams.first();
    Done {
        version: stream.map(|stream| stream.last_version),
        position: stream.map(|stream| stream.last_position).or(appended.last_position),
    }
}

fn success(done: Done) -> Success {
    Success {
        current_revision_option: Some(match done.version {
            Some(version) => CurrentRevisionOption::CurrentRevision(version.0),
            None => CurrentRevisionOption::NoStream(Empty {}),
        }),
        position_option: Some(match done.position {
            Some(position) => PositionOption::Position(append_resp::Position {
                commit_position: position.0,
                prepare_position: position.0,
            }),
            None => PositionOption::NoPosition(Empty {}),
        }),
    }
}

/// Says everything twice: clients of release 20.6.0 read fields of their own.
fn wrong_expected_version(conflict: &Conflict) -> WrongExpectedVersion {
    let current = u64::try_from(expected::actual_version(conflict.actual)).ok();
    let (old_expected, new_expected) = match conflict.expected {
        Expected::Any => {
            (wrong::ExpectedRevisionOption2060::Any2060(Empty {}), wrong::ExpectedRevisionOption::ExpectedAny(Empty {}))
        }
        Expected::Exists | Expected::SoftDeleted => (
            wrong::ExpectedRevisionOption2060::StreamExists2060(Empty {}),
            wrong::ExpectedRevisionOption::ExpectedStreamExists(Empty {}),
        ),
        Expected::NoStream => (
            wrong::ExpectedRevisionOption2060::ExpectedRevision2060(u64::MAX),
            wrong::ExpectedRevisionOption::ExpectedNoStream(Empty {}),
        ),
        Expected::Exact(version) => (
            wrong::ExpectedRevisionOption2060::ExpectedRevision2060(version.0),
            wrong::ExpectedRevisionOption::ExpectedRevision(version.0),
        ),
    };
    WrongExpectedVersion {
        current_revision_option_20_6_0: Some(match current {
            Some(version) => wrong::CurrentRevisionOption2060::CurrentRevision2060(version),
            None => wrong::CurrentRevisionOption2060::NoStream2060(Empty {}),
        }),
        expected_revision_option_20_6_0: Some(old_expected),
        current_revision_option: Some(match current {
            Some(version) => wrong::CurrentRevisionOption::CurrentRevision(version),
            None => wrong::CurrentRevisionOption::CurrentNoStream(Empty {}),
        }),
        expected_revision_option: Some(new_expected),
    }
}
