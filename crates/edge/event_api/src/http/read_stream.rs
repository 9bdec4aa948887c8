//! Read a stream: a page of it, or one event as it is; following it is in `follow`.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use daybook_event_store::{
    Direction, EventStore, FollowFrom, ReadError, Recorded, StreamFrom, StreamInfo, StreamName, StreamPage,
    StreamState, Target,
};
use daybook_types::StreamVersion;
use serde::Serialize;

use super::call::{self, Path};
use super::event_json::{EventOut, rfc3339, weight};
use super::limits::{PAGE_BYTES_MAX, PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX, PAGE_STEP};
use super::parameters::Parameters;
use super::problem::Problem;
use super::streams::StateOut;
use super::{SharedApi, error, follow, token};

#[derive(Debug, Serialize)]
struct PageOut<'a> {
    direction: &'static str,
    events: Vec<EventOut<'a>>,
    /// Where the next page begins; forwards there is always one, since the stream may grow.
    next: Option<u64>,
    at_end: bool,
    #[serde(flatten)]
    state: StateOut<'a>,
}

pub async fn page(State(api): State<SharedApi>, path: Path, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    let known = ["from", "direction", "limit", "follow", token::PARAMETER];
    let parameters = Parameters::read(&uri, &known)?;
    token::wait(&api, &parameters, &headers).await?;
    if follow::is_wanted(&parameters, &headers)? {
        return follow_stream(&api, path.stream, &parameters, &headers).await;
    }
    let direction = direction(&parameters)?;
    let from = match from(&parameters)? {
        Some(from) => from,
        None if direction == Direction::Forwards => StreamFrom::Start,
        None => StreamFrom::End,
    };
    let limit = parameters.limit(PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX)?;
    let StreamPage { events, next, info } = gather(&api.store, &path.stream, from, direction, limit).await?;
    let end = (direction == Direction::Forwards).then_some(info.next_version);
    let body = PageOut {
        direction: direction_name(direction),
        events: events.iter().map(EventOut::of).collect(),
        next: next.or(end).map(|version| version.0),
        at_end: next.is_none(),
        state: StateOut::of(&info),
    };
    Ok(call::json(StatusCode::OK, &body))
}

/// Up to `limit` events, fewer where they are large.
async fn gather(
    store: &EventStore,
    stream: &StreamName,
    mut from: StreamFrom,
    direction: Direction,
    limit: usize,
) -> Result<StreamPage, ReadError> {
    let mut events: Vec<Recorded> = Vec::new();
    let mut bytes = 0;
    loop {
        let step = PAGE_STEP.min(limit - events.len());
        let mut page = store.read_stream(stream, from, direction, step).await?;
        bytes += page.events.iter().map(weight).sum::<usize>();
        events.append(&mut page.events);
        match page.next {
            Some(next) if events.len() < limit && bytes < PAGE_BYTES_MAX => from = StreamFrom::Version(next),
            _ => return Ok(StreamPage { events, ..page }),
        }
    }
}

async fn follow_stream(
    api: &SharedApi,
    stream: StreamName,
    parameters: &Parameters,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    follow::refuse_paging(parameters)?;
    let from = match (follow::last_event_id(headers)?, from(parameters)?) {
        (Some(version), _) => FollowFrom::AfterVersion(StreamVersion(version)),
        (None, Some(StreamFrom::End)) => FollowFrom::End,
        (None, Some(StreamFrom::Version(StreamVersion(version)))) if version > 0 => {
            FollowFrom::AfterVersion(StreamVersion(version - 1))
        }
        (None, _) => FollowFrom::Start,
    };
    // A client of event streams asks again whenever one ends, unless it is told so before it begins.
    if let StreamInfo { state: StreamState::Tombstoned, name, .. } = api.store.stream_info(&stream).await? {
        return Err(error::tombstoned(format!("stream {name} was deleted for ever")).with("stream", name.as_str()));
    }
    follow::respond(api, Target::Stream(stream), from)
}

fn from(parameters: &Parameters) -> Result<Option<StreamFrom>, Problem> {
    Ok(match parameters.one("from")? {
        None => None,
        Some("start") => Some(StreamFrom::Start),
        Some("end") => Some(StreamFrom::End),
        Some(_) => parameters
            .parsed("from", "start, end or a version")?
            .map(|version| StreamFrom::Version(StreamVersion(version))),
    })
}

pub fn direction(parameters: &Parameters) -> Result<Direction, Problem> {
    match parameters.one("direction")? {
        None | Some("forwards") => Ok(Direction::Forwards),
        Some("backwards") => Ok(Direction::Backwards),
        Some(text) => Err(Problem::malformed(format!("direction={text}: forwards or backwards is expected"))),
    }
}

pub fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Forwards => "forwards",
        Direction::Backwards => "backwards",
    }
}

/// The data of one event as its writer sent it; what else is known of it, in headers.
pub async fn raw(State(api): State<SharedApi>, path: Path, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    let parameters = Parameters::read(&uri, &[token::PARAMETER])?;
    let (from, direction) = match path.version.as_str() {
        "last" => (StreamFrom::End, Direction::Backwards),
        text => match text.parse() {
            Ok(version) => (StreamFrom::Version(StreamVersion(version)), Direction::Forwards),
            Err(_) => return Err(Problem::malformed(format!("{text} is no version; give a number, or last"))),
        },
    };
    token::wait(&api, &parameters, &headers).await?;
    let page = api.store.read_stream(&path.stream, from, direction, 1).await?;
    let asked = |event: &Recorded| match from {
        StreamFrom::Version(version) => event.version == Some(version),
        _ => true,
    };
    let Some(event) = page.events.into_iter().find(asked) else {
        let detail = format!("stream {} has no event {}", path.stream, path.version);
        return Err(Problem::new(StatusCode::NOT_FOUND, "no-event", "the event does not exist", detail)
            .with("stream", path.stream.as_str())
            .with("first_version", page.info.first_version.0)
            .with("next_version", page.info.next_version.0));
    };
    Ok(raw_response(event))
}

fn raw_response(event: Recorded) -> Response {
    let content_type = HeaderValue::from_str(&event.content_type).ok().filter(|value| !value.is_empty());
    let content_type = content_type.unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let mut head = vec![
        (header::CONTENT_TYPE, content_type),
        // Whoever wrote the event doesn't get to run anything in the reader's browser.
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'")),
    ];
    let mut add = |name: &'static str, value: &str| head.push((HeaderName::from_static(name), visible(value)));
    if let Some(stream) = &event.stream {
        add("daybook-stream", stream.as_str());
    }
    if let Some(version) = event.version {
        add("daybook-version", &version.to_string());
    }
    add("daybook-position", &event.position.to_string());
    add("daybook-id", &event.id);
    add("daybook-type", &event.event_type);
    add("daybook-recorded", &rfc3339(event.recorded));
    if let Some(time) = &event.time {
        add("daybook-time", time);
    }
    for tag in &event.tags {
        add("daybook-tag", tag);
    }
    let mut response = (StatusCode::OK, event.data).into_response();
    response.headers_mut().remove(header::CONTENT_TYPE);
    for (name, value) in head {
        response.headers_mut().append(name, value);
    }
    response
}

/// Text for a header: what a header can't have is percent-encoded.
fn visible(text: &str) -> HeaderValue {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | 0..=0x1f | 0x7f..=0xff => encoded.push_str(&format!("%{byte:02X}")),
            _ => encoded.push(char::from(byte)),
        }
    }
    HeaderValue::from_str(&encoded).expect("only visible characters and blanks are left")
}
