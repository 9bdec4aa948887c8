//! Append: to one stream, or to several streams and on a condition.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use daybook_event_store::{
    Append, Appended, Condition, Expected, NewEvent, Query, QueryItem, StreamAppend, StreamAppended, StreamName,
};
use daybook_types::{Lsn, Position, StreamVersion};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{self, JsonBody, Path};
use super::event_json::{EventIn, new_events};
use super::limits::{FILTER_WORDS_MAX, QUERY_ITEMS_MAX, WORD_BYTES_MAX};
use super::parameters::Parameters;
use super::problem::Problem;
use super::{Api, SharedApi, token};

/// The header that says what the stream must be. Kafka clients have it too.
const EXPECTED_HEADER: &str = "daybook-expected-version";
const EXPECTED_PARAMETER: &str = "expected";
const EXPECTED_ACCEPTED: &str = "any, none (or -1), exists, deleted, or the version of the stream's last event";

/// The body of an append to one stream, where it isn't a list of events.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneStream {
    expected: Option<Value>,
    events: Vec<EventIn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    #[serde(default)]
    streams: Vec<StreamIn>,
    /// Of no stream.
    #[serde(default)]
    events: Vec<EventIn>,
    condition: Option<ConditionIn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamIn {
    stream: String,
    expected: Option<Value>,
    #[serde(default)]
    events: Vec<EventIn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConditionIn {
    unless: QueryIn,
    after: Option<u64>,
}

/// A query of types and tags.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryIn {
    items: Vec<QueryItemIn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryItemIn {
    #[serde(default)]
    types: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// What an append answers.
#[derive(Debug, Serialize)]
struct AppendedOut<'a> {
    #[serde(flatten)]
    one: Option<StreamOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<Vec<StreamOut<'a>>>,
    /// Of the events of no stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_position: Option<u64>,
    repeated: bool,
    stage: &'static str,
    #[serde(rename = "daybook-token")]
    token: String,
}

#[derive(Debug, Serialize)]
struct StreamOut<'a> {
    stream: &'a str,
    first_version: u64,
    last_version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_position: Option<u64>,
    ids: Vec<String>,
}

impl<'a> StreamOut<'a> {
    /// Where there is but one stream, its last position is that of the append, which has it already.
    fn of(stream: &'a StreamAppended, ids: Vec<String>, with_position: bool) -> Self {
        Self {
            stream: stream.stream.as_str(),
            first_version: stream.first_version.0,
            last_version: stream.last_version.0,
            last_position: with_position.then_some(stream.last_position.0),
            ids,
        }
    }
}

pub async fn to_one(
    State(api): State<SharedApi>,
    path: Path,
    headers: HeaderMap,
    uri: Uri,
    body: JsonBody,
) -> Result<Response, Problem> {
    let outside = expected_outside(&headers, &Parameters::read(&uri, &[EXPECTED_PARAMETER])?)?;
    let is_list = body.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let OneStream { expected, events } = match is_list {
        true => OneStream { expected: None, events: parsed(&body.bytes)? },
        false => parsed(&body.bytes)?,
    };
    let inside = expected.as_ref().map(expected_of).transpose()?;
    let expected = match (outside, inside) {
        (Some(outside), Some(inside)) if outside != inside => {
            return Err(Problem::malformed("the body and the header or parameter expect different versions"));
        }
        (outside, inside) => outside.or(inside).unwrap_or(Expected::Any),
    };
    let events = new_events(events)?;
    let ids = ids_of(&events);
    let streams = vec![StreamAppend { stream: path.stream, expected, events }];
    let appended = api.store.append(Append { streams, ..Append::default() }).await?;
    Ok(answer(&api, &appended, vec![ids], None))
}

pub async fn to_several(State(api): State<SharedApi>, uri: Uri, body: JsonBody) -> Result<Response, Problem> {
    Parameters::read(&uri, &[])?;
    let Several { streams, events, condition } = parsed(&body.bytes)?;
    let mut appends = Vec::with_capacity(streams.len());
    // The answer has only the streams that had events.
    let mut ids = Vec::new();
    for StreamIn { stream, expected, events } in streams {
        let named = |problem: Problem| problem.with("stream", stream.as_str());
        let name = StreamName::new(&stream).map_err(|fault| Problem::unprocessable(fault.to_string()))?;
        let expected = expected.as_ref().map(expected_of).transpose().map_err(named)?.unwrap_or(Expected::Any);
        let events = new_events(events).map_err(named)?;
        if !events.is_empty() {
            ids.push(ids_of(&events));
        }
        appends.push(StreamAppend { stream: name, expected, events });
    }
    let events = new_events(events)?;
    let ids_without_stream = ids_of(&events);
    let condition = condition.map(ConditionIn::into_condition).transpose()?;
    let appended = api.store.append(Append { streams: appends, events, condition }).await?;
    Ok(answer(&api, &appended, ids, Some(ids_without_stream)))
}

/// What a header or a parameter says that the stream must be.
pub fn expected_outside(headers: &HeaderMap, parameters: &Parameters) -> Result<Option<Expected>, Problem> {
    let header = call::text(headers, EXPECTED_HEADER)?.map(expected_of_text).transpose()?;
    let parameter = parameters.one(EXPECTED_PARAMETER)?.map(expected_of_text).transpose()?;
    match (header, parameter) {
        (Some(header), Some(parameter)) if header != parameter => {
            Err(Problem::malformed("the header and the parameter expect different versions"))
        }
        (header, parameter) => Ok(header.or(parameter)),
    }
}

fn expected_of(value: &Value) -> Result<Expected, Problem> {
    match value {
        Value::String(text) => expected_of_text(text),
        Value::Number(number) => expected_of_text(&number.to_string()),
        _ => Err(Problem::malformed(format!("expected is {EXPECTED_ACCEPTED}"))),
    }
}

fn expected_of_text(text: &str) -> Result<Expected, Problem> {
    match text {
        "any" => Ok(Expected::Any),
        "none" | "-1" => Ok(Expected::NoStream),
        "exists" => Ok(Expected::Exists),
        "deleted" => Ok(Expected::SoftDeleted),
        number => match number.parse() {
            Ok(version) => Ok(Expected::Exact(StreamVersion(version))),
            Err(_) => Err(Problem::malformed(format!("the expected version {text} is not {EXPECTED_ACCEPTED}"))),
        },
    }
}

impl ConditionIn {
    fn into_condition(self) -> Result<Condition, Problem> {
        Ok(Condition { unless: self.unless.into_query()?, after: self.after.map(Position) })
    }
}

impl QueryIn {
    pub fn into_query(self) -> Result<Query, Problem> {
        if self.items.len() > QUERY_ITEMS_MAX {
            let count = self.items.len();
            return Err(Problem::unprocessable(format!("the query has {count} items, {QUERY_ITEMS_MAX} are the most")));
        }
        let item = |item: QueryItemIn| {
            let words = item.types.iter().chain(&item.tags);
            if item.types.len() + item.tags.len() > FILTER_WORDS_MAX
                || words.clone().any(|word| word.len() > WORD_BYTES_MAX)
            {
                let limits = format!("{FILTER_WORDS_MAX} types and tags of {WORD_BYTES_MAX} bytes are the most");
                return Err(Problem::unprocessable(format!("an item of the query is too large; {limits}")));
            }
            Ok(QueryItem { types: item.types, tags: item.tags })
        };
        Ok(Query { items: self.items.into_iter().map(item).collect::<Result<_, _>>()? })
    }
}

pub fn parsed<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|fault| Problem::malformed(format!("the body: {fault}")))
}

fn ids_of(events: &[NewEvent]) -> Vec<String> {
    events.iter().map(|event| event.id.clone()).collect()
}

/// 201 if it was appended now, 200 if it had been before.
fn answer(api: &Api, appended: &Appended, ids: Vec<Vec<String>>, without_stream: Option<Vec<String>>) -> Response {
    let is_one = without_stream.is_none();
    let mut streams: Vec<_> =
        appended.streams.iter().zip(ids).map(|(stream, ids)| StreamOut::of(stream, ids, !is_one)).collect();
    let body = AppendedOut {
        one: if is_one { streams.pop() } else { None },
        streams: (!is_one).then_some(streams),
        ids: without_stream.filter(|ids| !ids.is_empty()),
        ..written(api, appended)
    };
    let status = if appended.repeated { StatusCode::OK } else { StatusCode::CREATED };
    token::into_header(call::json(status, &body), token::of(api, appended.lsn))
}

/// The answer of a write that is no append: where it stands, and its token.
pub fn plain_answer(api: &Api, appended: &Appended) -> Response {
    token::into_header(call::json(StatusCode::OK, &written(api, appended)), token::of(api, appended.lsn))
}

fn written<'a>(api: &Api, appended: &Appended) -> AppendedOut<'a> {
    let lsn: Lsn = appended.lsn;
    AppendedOut {
        one: None,
        streams: None,
        ids: None,
        last_position: appended.last_position.map(|position| position.0),
        repeated: appended.repeated,
        stage: stage(appended),
        token: token::of(api, lsn).to_string(),
    }
}

fn stage(appended: &Appended) -> &'static str {
    use daybook_command::Stage;
    match appended.stage {
        Stage::Accepted => "accepted",
        Stage::Written => "written",
        Stage::Durable => "durable",
        Stage::Replicated => "replicated",
        Stage::Committed => "committed",
        Stage::Applied => "applied",
    }
}
