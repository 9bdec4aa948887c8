//! Which streams there are, what is known of one, and its end.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use daybook_event_store::{Delete, DeleteKind, Expected, StreamInfo, StreamName, StreamSettings, StreamState};
use serde::Serialize;

use super::append::{expected_outside, plain_answer};
use super::call::{self, Path};
use super::limits::{LIST_MAX, PAGE_EVENTS_DEFAULT};
use super::parameters::Parameters;
use super::problem::Problem;
use super::{SharedApi, token};

/// A stream as of a moment.
#[derive(Debug, Serialize)]
pub struct StateOut<'a> {
    stream: &'a str,
    /// `none`, `exists`, `deleted` or `tombstoned`.
    state: &'static str,
    /// Of its last event, also if that was deleted.
    version: Option<u64>,
    /// First that can be read.
    first_version: u64,
    next_version: u64,
    last_position: Option<u64>,
    settings: SettingsOut,
}

/// What a stream keeps.
#[derive(Debug, Serialize)]
pub struct SettingsOut {
    truncate_before: Option<u64>,
    max_count: Option<u64>,
    max_age_seconds: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ListOut<'a> {
    streams: Vec<StateOut<'a>>,
    /// What the parameter `after` of the next page is; `null` at the end.
    next: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct CategoriesOut {
    categories: Vec<String>,
}

impl<'a> StateOut<'a> {
    pub fn of(info: &'a StreamInfo) -> Self {
        let (state, version) = match info.state {
            StreamState::None => ("none", None),
            StreamState::At(version) => ("exists", Some(version.0)),
            StreamState::SoftDeleted(version) => ("deleted", Some(version.0)),
            StreamState::Tombstoned => ("tombstoned", None),
        };
        Self {
            stream: info.name.as_str(),
            state,
            version,
            first_version: info.first_version.0,
            next_version: info.next_version.0,
            last_position: info.last_position.map(|position| position.0),
            settings: SettingsOut::of(info.settings),
        }
    }
}

impl SettingsOut {
    pub fn of(settings: StreamSettings) -> Self {
        Self {
            truncate_before: settings.truncate_before.map(|version| version.0),
            max_count: settings.max_count,
            max_age_seconds: settings.max_age_seconds,
        }
    }
}

pub async fn list(State(api): State<SharedApi>, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    let parameters = Parameters::read(&uri, &["category", "after", "limit", token::PARAMETER])?;
    token::wait(&api, &parameters, &headers).await?;
    let limit = parameters.limit(PAGE_EVENTS_DEFAULT, LIST_MAX)?;
    let after = parameters.one("after")?.map(StreamName::new).transpose();
    let after = after.map_err(|fault| Problem::malformed(format!("after: {fault}")))?;
    let found = api.store.list_streams(parameters.one("category")?, after.as_ref(), limit).await?;
    let next = if found.len() < limit { None } else { found.last().map(|info| info.name.as_str()) };
    Ok(call::json(StatusCode::OK, &ListOut { streams: found.iter().map(StateOut::of).collect(), next }))
}

pub async fn categories(State(api): State<SharedApi>, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    let parameters = Parameters::read(&uri, &[token::PARAMETER])?;
    token::wait(&api, &parameters, &headers).await?;
    Ok(call::json(StatusCode::OK, &CategoriesOut { categories: api.store.categories() }))
}

/// Any name has a state, so this finds every stream.
pub async fn info(State(api): State<SharedApi>, path: Path, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    let parameters = Parameters::read(&uri, &[token::PARAMETER])?;
    token::wait(&api, &parameters, &headers).await?;
    let info = api.store.stream_info(&path.stream).await?;
    Ok(call::json(StatusCode::OK, &StateOut::of(&info)))
}

pub async fn delete(
    State(api): State<SharedApi>,
    path: Path,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let parameters = Parameters::read(&uri, &["expected", "tombstone"])?;
    let expected = expected_outside(&headers, &parameters)?.unwrap_or(Expected::Any);
    let kind = if parameters.flag("tombstone", false)? { DeleteKind::Tombstone } else { DeleteKind::Soft };
    let appended = api.store.delete(Delete { stream: path.stream, expected, kind }).await?;
    Ok(plain_answer(&api, &appended))
}
