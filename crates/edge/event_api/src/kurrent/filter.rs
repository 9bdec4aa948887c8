//! Which events of `$all` a client wants.

use daybook_event_store::{Filter, Query, QueryItem, Recorded};
use regex::Regex;
use tonic::Status;

use super::error_code;
use super::event;
use super::options::{LOOKING_STEPS_MAX, WINDOW_DEFAULT};
use crate::proto::event_store::client::streams::read_req::options::FilterOptions;
use crate::proto::event_store::client::streams::read_req::options::filter_options::{Filter as Asked, Window};

/// What a client's expression is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Stream,
    EventType,
}

/// Names that begin so are no streams but KurrentDB's secondary indexes.
const INDEX_PREFIX: &str = "$idx-";
const CATEGORY_INDEX_PREFIX: &str = "$idx-ce-";
const TYPE_INDEX_PREFIX: &str = "$idx-et-";
const ALL_INDEX: &str = "$idx-all";

/// A filter, as far as the store can apply it, and what is left to be applied here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) filter: Filter,
    /// An expression that looks ahead or back, which the store's language has not: clients write *not this* so.
    looking: Option<(Subject, fancy_regex::Regex)>,
}

impl Wanted {
    /// An expression is a regular expression or, if that is empty, a list of prefixes.
    pub(crate) fn new(subject: Subject, regex: &str, prefixes: Vec<String>) -> Result<Self, Status> {
        let mut wanted = Self::default();
        if regex.is_empty() {
            if prefixes.is_empty() {
                return Err(error_code::invalid("the filter is empty; give it a regular expression or a prefix"));
            }
            match subject {
                Subject::Stream if prefixes.iter().any(|prefix| prefix.starts_with(INDEX_PREFIX)) => {
                    wanted.filter = index(&prefixes)?;
                }
                Subject::Stream => wanted.filter.stream_prefixes = prefixes,
                Subject::EventType => wanted.filter.type_prefixes = prefixes,
            }
            return Ok(wanted);
        }
        match Regex::new(regex) {
            Ok(regex) => match subject {
                Subject::Stream => wanted.filter.stream_regex = Some(regex),
                Subject::EventType => wanted.filter.type_regex = Some(regex),
            },
            Err(_) => {
                let regex = fancy_regex::RegexBuilder::new(regex)
                    .backtrack_limit(LOOKING_STEPS_MAX)
                    .build()
                    .map_err(|fault| error_code::invalid(format!("the filter's regular expression: {fault}")))?;
                wanted.looking = Some((subject, regex));
            }
        }
        Ok(wanted)
    }

    /// The filter of a read, and how many events its subscription looks at between two checkpoints.
    pub(super) fn of(options: FilterOptions) -> Result<(Self, usize), Status> {
        let wanted = match options.filter {
            Some(Asked::StreamIdentifier(asked)) => Self::new(Subject::Stream, &asked.regex, asked.prefix)?,
            Some(Asked::EventType(asked)) => Self::new(Subject::EventType, &asked.regex, asked.prefix)?,
            None => return Err(error_code::invalid("the filter says neither stream nor event type")),
        };
        let window = match options.window {
            Some(Window::Max(window)) => window,
            Some(Window::Count(_)) => WINDOW_DEFAULT,
            None => return Err(error_code::invalid("the filter's window is missing; send max or count")),
        };
        let interval = u64::from(window).saturating_mul(u64::from(options.checkpoint_interval_multiplier)).max(1);
        Ok((wanted, usize::try_from(interval).unwrap_or(usize::MAX)))
    }

    /// Whether all that passes the store's filter is wanted.
    pub(crate) fn is_the_stores(&self) -> bool {
        self.looking.is_none()
    }

    /// Whether an event that passed the store's filter is wanted.
    pub(crate) fn passes(&self, recorded: &Recorded) -> Result<bool, Status> {
        let Some((subject, regex)) = &self.looking else { return Ok(true) };
        let found = match (subject, &recorded.stream) {
            (Subject::EventType, _) => regex.is_match(&recorded.event_type),
            (Subject::Stream, Some(stream)) => regex.is_match(stream.as_str()),
            (Subject::Stream, None) => regex.is_match(event::STREAM_OF_STREAMLESS),
        };
        found.map_err(|fault| error_code::invalid(format!("the filter's regular expression: {fault}; simplify it")))
    }
}

/// The events of a secondary index, which clients name as if it were the prefix of streams.
fn index(prefixes: &[String]) -> Result<Filter, Status> {
    let [name] = prefixes else {
        return Err(error_code::invalid("an index can't be read together with streams or other indexes"));
    };
    if name == ALL_INDEX {
        return Ok(Filter { without_system: true, ..Filter::default() });
    }
    if let Some(category) = name.strip_prefix(CATEGORY_INDEX_PREFIX) {
        return Ok(Filter { category: Some(category.to_owned()), ..Filter::default() });
    }
    let Some(event_type) = name.strip_prefix(TYPE_INDEX_PREFIX) else { return Err(error_code::no_index(name)) };
    let item = QueryItem { types: vec![event_type.to_owned()], tags: Vec::new() };
    Ok(Filter { query: Query { items: vec![item] }, ..Filter::default() })
}
