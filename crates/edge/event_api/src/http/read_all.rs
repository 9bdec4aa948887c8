//! Read events of all streams in the order of their positions, filtered here; following them is in `follow`.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use daybook_event_store::{
    AllFrom, Direction, EventStore, Filter, FollowFrom, Page, Query, QueryItem, ReadError, Recorded, Target,
};
use daybook_types::Position;
use regex::{Regex, RegexBuilder};
use serde::Serialize;
use serde_json::Value;

use super::append::{QueryIn, parsed};
use super::call::{self, JsonBody};
use super::event_json::{EventOut, weight};
use super::limits::{
    FILTER_WORDS_MAX, PAGE_BYTES_MAX, PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX, PAGE_LOOKS_MAX, PAGE_STEP, REGEX_BYTES_MAX,
    REGEX_COMPILED_BYTES_MAX,
};
use super::parameters::Parameters;
use super::problem::Problem;
use super::read_stream::{direction, direction_name};
use super::{SharedApi, follow, token};

const PARAMETERS: &[&str] = &[
    "from",
    "direction",
    "limit",
    "category",
    "stream_prefix",
    "stream_regex",
    "type",
    "type_prefix",
    "type_regex",
    "tag",
    "query",
    "system",
    "follow",
    token::PARAMETER,
];

#[derive(Debug, Serialize)]
struct PageOut<'a> {
    direction: &'static str,
    events: Vec<EventOut<'a>>,
    /// Where the next page begins: what the parameter `from` takes.
    next: Value,
    at_end: bool,
    /// Of the store's last event as of this read. Who has read up to the end gives it as a condition's `after`.
    last_position: Option<u64>,
}

pub async fn get_all(State(api): State<SharedApi>, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    read(&api, &headers, &uri, None).await
}

/// The same with the query in the body, for queries that no URL holds.
pub async fn post_query(
    State(api): State<SharedApi>,
    headers: HeaderMap,
    uri: Uri,
    body: JsonBody,
) -> Result<Response, Problem> {
    let query = parsed::<QueryIn>(&body.bytes)?.into_query()?;
    read(&api, &headers, &uri, Some(query)).await
}

async fn read(api: &SharedApi, headers: &HeaderMap, uri: &Uri, query: Option<Query>) -> Result<Response, Problem> {
    let parameters = Parameters::read(uri, PARAMETERS)?;
    token::wait(api, &parameters, headers).await?;
    let filter = filter(&parameters, query)?;
    if follow::is_wanted(&parameters, headers)? {
        follow::refuse_paging(&parameters)?;
        let from = match (follow::last_event_id(headers)?, from(&parameters)?) {
            (Some(position), _) => FollowFrom::AfterPosition(Position(position)),
            (None, Some(AllFrom::End)) => FollowFrom::End,
            (None, Some(AllFrom::Position(Position(position)))) if position > 0 => {
                FollowFrom::AfterPosition(Position(position - 1))
            }
            (None, _) => FollowFrom::Start,
        };
        return follow::respond(api, Target::All(filter), from);
    }
    let direction = direction(&parameters)?;
    let from = match from(&parameters)? {
        Some(from) => from,
        None if direction == Direction::Forwards => AllFrom::Start,
        None => AllFrom::End,
    };
    let limit = parameters.limit(PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX)?;
    let page = gather(&api.store, from, direction, &filter, limit).await?;
    let body = PageOut {
        direction: direction_name(direction),
        events: page.events.iter().map(EventOut::of).collect(),
        next: match page.next {
            AllFrom::Start => "start".into(),
            AllFrom::End => "end".into(),
            AllFrom::Position(position) => position.0.into(),
        },
        at_end: page.at_end,
        last_position: page.end.0.checked_sub(1),
    };
    Ok(call::json(StatusCode::OK, &body))
}

/// Up to `limit` events, fewer where they are large or rare.
async fn gather(
    store: &EventStore,
    mut from: AllFrom,
    direction: Direction,
    filter: &Filter,
    limit: usize,
) -> Result<Page, ReadError> {
    let mut events: Vec<Recorded> = Vec::new();
    let mut bytes = 0;
    loop {
        let step = PAGE_STEP.min(limit - events.len());
        let mut page = store.read_all(from, direction, filter, step, PAGE_LOOKS_MAX).await?;
        bytes += page.events.iter().map(weight).sum::<usize>();
        // Fewer than asked, and not at the end: it has looked at as many as it may.
        let is_worn_out = page.events.len() < step;
        events.append(&mut page.events);
        if page.at_end || is_worn_out || events.len() >= limit || bytes >= PAGE_BYTES_MAX {
            return Ok(Page { events, ..page });
        }
        from = page.next;
    }
}

fn from(parameters: &Parameters) -> Result<Option<AllFrom>, Problem> {
    Ok(match parameters.one("from")? {
        None => None,
        Some("start") => Some(AllFrom::Start),
        Some("end") => Some(AllFrom::End),
        Some(_) => {
            parameters.parsed("from", "start, end or a position")?.map(|position| AllFrom::Position(Position(position)))
        }
    })
}

fn filter(parameters: &Parameters, query: Option<Query>) -> Result<Filter, Problem> {
    let words = |name: &str| parameters.all(name, FILTER_WORDS_MAX);
    let item = QueryItem { types: words("type")?, tags: words("tag")? };
    let in_url = match parameters.one("query")? {
        Some(text) => Some(parsed::<QueryIn>(text.as_bytes())?.into_query()?),
        None => None,
    };
    let query = match (query.or(in_url), item == QueryItem::default()) {
        (Some(query), true) => query,
        (None, true) => Query::default(),
        (None, false) => Query { items: vec![item] },
        (Some(_), false) => {
            return Err(Problem::malformed("a query says its types and tags itself; leave out type and tag"));
        }
    };
    Ok(Filter {
        category: parameters.one("category")?.map(str::to_owned),
        stream_prefixes: words("stream_prefix")?,
        stream_regex: regex(parameters, "stream_regex")?,
        type_prefixes: words("type_prefix")?,
        type_regex: regex(parameters, "type_regex")?,
        query,
        without_system: !parameters.flag("system", true)?,
    })
}

fn regex(parameters: &Parameters, name: &str) -> Result<Option<Regex>, Problem> {
    let Some(text) = parameters.one(name)? else { return Ok(None) };
    if text.len() > REGEX_BYTES_MAX {
        return Err(Problem::malformed(format!("{name} has {} bytes, {REGEX_BYTES_MAX} are the most", text.len())));
    }
    let built = RegexBuilder::new(text).size_limit(REGEX_COMPILED_BYTES_MAX).build();
    built.map(Some).map_err(|fault| Problem::malformed(format!("{name}: {fault}")))
}
