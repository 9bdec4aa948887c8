//! The judgement: all rules, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::history::{Actual, Attempt, Event, History, LookedAt, Outcome, Request, TopicRecord};
use crate::lanes::{Operation, is_linearizable};
use crate::places;
use crate::promises::{Standing, check, locate};
use crate::stream_model::{StreamModel, StreamOp, StreamRet};
use crate::tag_model::{After, TagModel, TagOp, TagRet};

/// A rule that was broken.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Violation {
    #[error("$all has position {found} where {expected} should be")]
    Position { found: u64, expected: u64 },
    #[error("event {id} stands at position {first} and again at {second}")]
    Doubled { id: String, first: u64, second: u64 },
    #[error("its version should be {expected:?}: {event:?}")]
    Version { event: Event, expected: Option<u64> },
    #[error("stream {stream} is in $all, but nobody wrote to it")]
    UnknownStream { stream: String },
    #[error("stream {stream} read by itself differs from $all from version {version} on")]
    StreamDiffers { stream: String, version: u64 },
    #[error("{topic} partition {partition} has offset {found} where {expected} should be")]
    Offset { topic: String, partition: i32, found: i64, expected: i64 },
    #[error("{event:?} is, to a Kafka consumer, {record:?}")]
    Record { event: Event, record: Option<TopicRecord> },
    #[error("$all has {events} events, the topics have {records} records")]
    Records { events: usize, records: usize },
    #[error("it is not as it was sent: {event:?}")]
    Altered { event: Event },
    #[error("nobody sent it: {event:?}")]
    Stranger { event: Event },
    #[error("request {request} stands in part: {missing} is missing")]
    Torn { request: u32, missing: String },
    #[error("request {request} does not stand in one piece")]
    Scattered { request: u32 },
    #[error("request {request} was answered {answer:?} and is not there")]
    Lost { request: u32, answer: Outcome },
    #[error("request {request} was answered {answer:?} and stands elsewhere")]
    Elsewhere { request: u32, answer: Outcome },
    #[error("request {request} was refused and is there")]
    RefusedStands { request: u32 },
    #[error("request {later} was sent after {earlier} was answered, but stands at {before}, before {at}")]
    RealTime { earlier: u32, at: u64, later: u32, before: u64 },
    #[error("the answers about stream {stream} fit no order: {operations}")]
    Stream { stream: String, operations: String },
    #[error("the answers about tag {tag} fit no order: {operations}")]
    Tag { tag: String, operations: String },
}

/// What a history that is in order consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub events: usize,
    pub appended: usize,
    pub produced: usize,
    pub repeated: usize,
    pub refused: usize,
    pub unknown: usize,
    /// Of those, by Kafka's clients, who don't ask again.
    pub unknown_produced: usize,
    /// Of those, requests that are there.
    pub unknown_found: usize,
    pub looks: usize,
    pub streams: usize,
    pub tags: usize,
    /// Operations on the stream that had the most.
    pub busiest_stream: usize,
    pub busiest_tag: usize,
}

type StreamOperation = Operation<StreamOp, StreamRet>;
type TagOperation = Operation<TagOp, TagRet>;

/// Whether a store that does one thing after the other, and forgets nothing, could have given these answers.
pub fn judge(history: &History) -> Result<Summary, Violation> {
    places::check(&history.found)?;
    let standing = locate(history)?;
    check(history, &standing)?;
    let mut summary = count(history, &standing);
    let mut objects = Objects::default();
    for attempt in &history.attempts {
        let request = &history.requests[attempt.request as usize];
        objects.add(attempt, request, &standing[attempt.request as usize]);
    }
    objects.add_looks(history);
    objects.add_ends(history, &standing);
    summary.streams = objects.streams.len();
    summary.tags = objects.tags.len();
    summary.busiest_stream = objects.streams.values().map(Vec::len).max().unwrap_or(0);
    summary.busiest_tag = objects.tags.values().map(Vec::len).max().unwrap_or(0);
    for (stream, operations) in objects.streams {
        if !is_linearizable(StreamModel::default(), &operations) {
            let stream = stream.to_owned();
            return Err(Violation::Stream { stream, operations: listed(&operations) });
        }
    }
    for (tag, operations) in objects.tags {
        if !is_linearizable(TagModel::default(), &operations) {
            return Err(Violation::Tag { tag: tag.to_owned(), operations: listed(&operations) });
        }
    }
    Ok(summary)
}

/// Operations by the object they are on.
#[derive(Default)]
struct Objects<'a> {
    streams: BTreeMap<&'a str, Vec<StreamOperation>>,
    tags: BTreeMap<&'a str, Vec<TagOperation>>,
}

impl<'a> Objects<'a> {
    fn add(&mut self, attempt: &Attempt, request: &'a Request, events: &[&Event]) {
        // What got no answer and isn't there didn't happen: whoever was answered as if it had is found out.
        if attempt.outcome == Outcome::Unknown && events.is_empty() {
            return;
        }
        let mut written = 0;
        for (place, part) in request.streams.iter().enumerate() {
            let span = written;
            written += usize::from(part.events > 0);
            let found = events.get(request.first_number(place) as usize).and_then(|event| event.version);
            let append = StreamOp::Append {
                request: attempt.request,
                expected: part.expected,
                events: part.events,
                knows_repeats: !request.by_kafka,
                found,
            };
            let op = if part.events > 0 { append } else { StreamOp::Check(part.expected) };
            let (op, ret) = match &attempt.outcome {
                // A repeat says nothing of what was only checked.
                Outcome::Appended { repeated: true, .. } | Outcome::Unknown if part.events == 0 => continue,
                Outcome::Unknown => (op, None),
                Outcome::Appended { .. } if part.events == 0 => (op, Some(StreamRet::Fits)),
                Outcome::Appended { spans, repeated, .. } => {
                    let first = spans.get(span).map(|span| span.first_version);
                    (op, Some(StreamRet::Appended { first, repeated: Some(*repeated) }))
                }
                Outcome::Produced { .. } => (op, Some(StreamRet::Appended { first: found, repeated: Some(false) })),
                Outcome::Refused => (op, Some(StreamRet::Conflict { next: None })),
                Outcome::Conflict(conflicts) => match conflicts.iter().find(|(stream, _)| *stream == place) {
                    Some((_, actual)) => (op, Some(StreamRet::Conflict { next: Some(events_of(*actual)) })),
                    // It was looked at in the same moment and found as expected.
                    None => (StreamOp::Check(part.expected), Some(StreamRet::Fits)),
                },
                // It was refused for another reason.
                Outcome::ConditionFailed { .. } => continue,
            };
            let ret = ret.map(|ret| (attempt.end, ret));
            self.streams.entry(&part.stream).or_default().push(Operation { begin: attempt.begin, op, ret });
        }
        self.add_tag(attempt, request, events);
    }

    fn add_tag(&mut self, attempt: &Attempt, request: &'a Request, events: &[&Event]) {
        let Some(tag) = &request.tag else { return };
        let after = match &request.condition {
            None => After::Unconditional,
            Some(condition) => condition.after.map_or(After::Nothing, After::Position),
        };
        let mut positions: Vec<u64> = events.iter().map(|event| event.position).collect();
        positions.sort_unstable();
        let ret = match &attempt.outcome {
            Outcome::Unknown => None,
            Outcome::Appended { repeated, .. } => Some(TagRet::Appended { repeated: *repeated }),
            Outcome::Produced { .. } => Some(TagRet::Appended { repeated: false }),
            Outcome::ConditionFailed { position } => Some(TagRet::Refused { position: *position }),
            // Refused before the tag was looked at.
            Outcome::Conflict(_) | Outcome::Refused => return,
        };
        let op = TagOp::Append { request: attempt.request, after, positions };
        let ret = ret.map(|ret| (attempt.end, ret));
        self.tags.entry(tag).or_default().push(Operation { begin: attempt.begin, op, ret });
    }

    fn add_looks(&mut self, history: &'a History) {
        for look in &history.looks {
            match &look.at {
                LookedAt::Stream { stream, last_version } => {
                    let next = last_version.map_or(0, |version| version + 1);
                    let ret = Some((look.end, StreamRet::Looked { next }));
                    let operation = Operation { begin: look.begin, op: StreamOp::Look, ret };
                    self.streams.entry(stream).or_default().push(operation);
                }
                LookedAt::Tag { tag, last_position } => {
                    let ret = Some((look.end, TagRet::Looked { last: *last_position }));
                    let operation = Operation { begin: look.begin, op: TagOp::Look, ret };
                    self.tags.entry(tag).or_default().push(operation);
                }
            }
        }
    }

    /// After everything else, what is found is read.
    fn add_ends(&mut self, history: &History, standing: &Standing<'_>) {
        const BEGIN: u64 = u64::MAX - 1;
        let mut streams: BTreeMap<&str, Vec<(u64, u32)>> = BTreeMap::new();
        let mut tags: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for ((request, number), events) in history.requests.iter().zip(0_u32..).zip(standing) {
            for event in events {
                if let (Some(stream), Some(version)) = (&event.stream, event.version) {
                    streams.entry(stream).or_default().push((version, number));
                }
                if let Some(tag) = &request.tag {
                    tags.entry(tag).or_default().push(event.position);
                }
            }
        }
        for (stream, operations) in &mut self.streams {
            let mut log = streams.remove(stream).unwrap_or_default();
            log.sort_unstable();
            let log = log.into_iter().map(|(_, request)| request).collect();
            let ret = Some((u64::MAX, StreamRet::All(log)));
            operations.push(Operation { begin: BEGIN, op: StreamOp::ReadAll, ret });
        }
        for (tag, operations) in &mut self.tags {
            let mut positions = tags.remove(tag).unwrap_or_default();
            positions.sort_unstable();
            let ret = Some((u64::MAX, TagRet::All(positions)));
            operations.push(Operation { begin: BEGIN, op: TagOp::ReadAll, ret });
        }
    }
}

fn events_of(actual: Actual) -> u64 {
    match actual {
        Actual::None => 0,
        Actual::At(version) => version + 1,
    }
}

/// Operations in the order in which they began, for whoever has to find out.
fn listed<Op: std::fmt::Debug, Ret: std::fmt::Debug>(operations: &[Operation<Op, Ret>]) -> String {
    let mut lines: Vec<_> = operations
        .iter()
        .map(|Operation { begin, op, ret }| {
            let answer = ret.as_ref().map_or("no answer".to_owned(), |(end, ret)| format!("at {end} {ret:?}"));
            (*begin, format!("\n  at {begin} {op:?}: {answer}"))
        })
        .collect();
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

fn count(history: &History, standing: &Standing<'_>) -> Summary {
    let mut summary = Summary { events: history.found.all.len(), looks: history.looks.len(), ..Summary::default() };
    let mut unknown = BTreeSet::new();
    for attempt in &history.attempts {
        match attempt.outcome {
            Outcome::Appended { repeated: true, .. } => summary.repeated += 1,
            Outcome::Appended { .. } => summary.appended += 1,
            Outcome::Produced { .. } => summary.produced += 1,
            Outcome::Unknown => {
                summary.unknown += 1;
                summary.unknown_produced += usize::from(history.requests[attempt.request as usize].by_kafka);
                unknown.insert(attempt.request);
            }
            _ => summary.refused += 1,
        }
    }
    summary.unknown_found = unknown.iter().filter(|request| !standing[**request as usize].is_empty()).count();
    summary
}
