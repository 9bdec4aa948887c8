//! What a stream keeps, and what else its metadata say.
//!
//! They are the last event of the stream's metadata stream, in the form that KurrentDB's clients know: members whose names begin with `$`
//! are the store's and have names of their own here, all others are the user's.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use daybook_event::header::METADATA_TYPE;
use daybook_event_store::{Append, Direction, Expected, NewEvent, ReadError, StreamAppend, StreamFrom, StreamSettings};
use daybook_types::StreamVersion;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::append::{expected_outside, parsed};
use super::call::{self, JsonBody, Path};
use super::parameters::Parameters;
use super::problem::Problem;
use super::streams::SettingsOut;
use super::{SharedApi, token};

const TRUNCATE_BEFORE: &str = "$tb";
const MAX_COUNT: &str = "$maxCount";
const MAX_AGE_SECONDS: &str = "$maxAge";
const ACL: &str = "$acl";
const CACHE_CONTROL: &str = "$cacheControl";
/// The `$tb` by which a stream is deleted: it is a state, and no setting.
const DELETED: u64 = i64::MAX as u64;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsIn {
    truncate_before: Option<u64>,
    max_count: Option<u64>,
    max_age_seconds: Option<u64>,
    acl: Option<Value>,
    cache_control: Option<u64>,
    #[serde(default)]
    custom: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct ShownOut<'a> {
    stream: &'a str,
    /// Of the metadata stream: what a change may expect. `null` before the first.
    version: Option<u64>,
    #[serde(flatten)]
    settings: SettingsOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    acl: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
    custom: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct ReplacedOut<'a> {
    stream: &'a str,
    version: u64,
    #[serde(rename = "daybook-token")]
    token: String,
}

pub async fn show(State(api): State<SharedApi>, path: Path, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    let parameters = Parameters::read(&uri, &[token::PARAMETER])?;
    token::wait(&api, &parameters, &headers).await?;
    let read = api.store.read_stream(&path.stream.metadata(), StreamFrom::End, Direction::Backwards, 1).await;
    let last = match read {
        Ok(page) => page.events.into_iter().next(),
        Err(ReadError::NoStream { .. } | ReadError::SoftDeleted { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let mut members: Map<String, Value> =
        last.as_ref().and_then(|event| serde_json::from_slice(&event.data).ok()).unwrap_or_default();
    let mut number = |name: &str| members.remove(name).and_then(|value| value.as_u64());
    let settings = StreamSettings {
        truncate_before: number(TRUNCATE_BEFORE).filter(|version| *version != DELETED).map(StreamVersion),
        max_count: number(MAX_COUNT),
        max_age_seconds: number(MAX_AGE_SECONDS),
    };
    let body = ShownOut {
        stream: path.stream.as_str(),
        version: last.as_ref().and_then(|event| event.version).map(|version| version.0),
        settings: SettingsOut::of(settings),
        acl: members.remove(ACL),
        cache_control: members.remove(CACHE_CONTROL),
        custom: members,
    };
    Ok(call::json(StatusCode::OK, &body))
}

/// Replaces all of them: what the body doesn't have is not set any more.
pub async fn replace(
    State(api): State<SharedApi>,
    path: Path,
    headers: HeaderMap,
    uri: Uri,
    body: JsonBody,
) -> Result<Response, Problem> {
    let parameters = Parameters::read(&uri, &["expected"])?;
    let expected = expected_outside(&headers, &parameters)?.unwrap_or(Expected::Any);
    let event = NewEvent {
        id: Uuid::new_v4().to_string(),
        event_type: METADATA_TYPE.to_owned(),
        content_type: "application/json".to_owned(),
        data: parsed::<SettingsIn>(&body.bytes)?.into_metadata()?.into(),
        ..NewEvent::default()
    };
    let streams = vec![StreamAppend { stream: path.stream.metadata(), expected, events: vec![event] }];
    let appended = api.store.append(Append { streams, ..Append::default() }).await?;
    let token = token::of(&api, appended.lsn);
    let version = appended.streams.first().map_or(0, |stream| stream.last_version.0);
    let body = ReplacedOut { stream: path.stream.as_str(), version, token: token.to_string() };
    Ok(token::into_header(call::json(StatusCode::OK, &body), token))
}

impl SettingsIn {
    fn into_metadata(self) -> Result<Vec<u8>, Problem> {
        if let Some(name) = self.custom.keys().find(|name| name.starts_with('$')) {
            return Err(Problem::unprocessable(format!("custom has {name}; names that begin with $ are the store's")));
        }
        if self.truncate_before.is_some_and(|version| version >= DELETED) {
            return Err(Problem::unprocessable("no stream has so many events; delete it by the method DELETE"));
        }
        if self.max_count == Some(0) || self.max_age_seconds == Some(0) {
            return Err(Problem::unprocessable(
                "max_count and max_age_seconds are at least 1; leave them out for no limit",
            ));
        }
        let mut members = self.custom;
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                members.insert(name.to_owned(), value);
            }
        };
        set(TRUNCATE_BEFORE, self.truncate_before.map(Value::from));
        set(MAX_COUNT, self.max_count.map(Value::from));
        set(MAX_AGE_SECONDS, self.max_age_seconds.map(Value::from));
        set(ACL, self.acl);
        set(CACHE_CONTROL, self.cache_control.map(Value::from));
        Ok(Value::Object(members).to_string().into_bytes())
    }
}
