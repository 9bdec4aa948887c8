//! What was answered holds for what is found, request by request; and positions follow the order of real time.

use std::collections::HashMap;

use crate::history::{Attempt, Event, History, Outcome, Request, event_data, event_id};
use crate::verdict::Violation;

/// Where each request's events stand, by their numbers. Empty: it didn't happen.
pub type Standing<'a> = Vec<Vec<&'a Event>>;

/// Finds each request's events: all of them side by side with the data they were given, or none.
pub fn locate(history: &History) -> Result<Standing<'_>, Violation> {
    let by_id: HashMap<&str, &Event> = history.found.all.iter().map(|event| (event.id.as_str(), event)).collect();
    let mut known = 0;
    let mut standing = Vec::with_capacity(history.requests.len());
    for (request, number) in history.requests.iter().zip(0..) {
        let mut events = Vec::new();
        let mut missing = None;
        for (event, stream) in request.events() {
            let Some(found) = by_id.get(event_id(number, event).as_str()) else {
                missing = Some(event_id(number, event));
                continue;
            };
            let tags = request.tag.as_slice();
            if found.stream.as_deref() != stream || found.data != event_data(number, event) || found.tags != tags {
                return Err(Violation::Altered { event: (*found).clone() });
            }
            events.push(*found);
        }
        match missing {
            Some(missing) if !events.is_empty() => return Err(Violation::Torn { request: number, missing }),
            _ => {}
        }
        check_side_by_side(number, request, &events)?;
        known += events.len();
        standing.push(events);
    }
    if known < history.found.all.len() {
        let is_known = |event: &&Event| standing.iter().flatten().any(|known| known.id == event.id);
        let event = history.found.all.iter().find(|event| !is_known(event)).expect("there are more than are known");
        return Err(Violation::Stranger { event: event.clone() });
    }
    Ok(standing)
}

/// One append stands in one piece, and its events of one stream in their order.
fn check_side_by_side(number: u32, request: &Request, events: &[&Event]) -> Result<(), Violation> {
    let positions = || events.iter().map(|event| event.position);
    let (Some(first), Some(last)) = (positions().min(), positions().max()) else { return Ok(()) };
    let ordered = |part: usize| {
        let begin = request.first_number(part) as usize;
        let versions: Vec<_> = events[begin..][..request.streams[part].events as usize]
            .iter()
            .map(|event| (event.version, event.position))
            .collect();
        versions.is_sorted()
    };
    if last - first + 1 != events.len() as u64 || !(0..request.streams.len()).all(ordered) {
        return Err(Violation::Scattered { request: number });
    }
    Ok(())
}

pub fn check(history: &History, standing: &Standing<'_>) -> Result<(), Violation> {
    // Whether any attempt may have done it.
    let mut may_stand = vec![false; history.requests.len()];
    for attempt in &history.attempts {
        let number = attempt.request as usize;
        may_stand[number] |= check_attempt(attempt, &history.requests[number], &standing[number])?;
    }
    for (request, events) in (0..).zip(standing) {
        if !events.is_empty() && !may_stand[request as usize] {
            return Err(Violation::RefusedStands { request });
        }
    }
    check_real_time(history, standing)
}

/// Whether the attempt may have done it.
fn check_attempt(attempt: &Attempt, request: &Request, events: &[&Event]) -> Result<bool, Violation> {
    let lost = || Violation::Lost { request: attempt.request, answer: attempt.outcome.clone() };
    match &attempt.outcome {
        Outcome::Unknown => return Ok(true),
        Outcome::Conflict(_) | Outcome::ConditionFailed { .. } | Outcome::Refused => return Ok(false),
        Outcome::Produced { partition, offset } => {
            let event = events.first().ok_or_else(lost)?;
            if (event.partition, event.offset) != (*partition, *offset) {
                return Err(Violation::Elsewhere { request: attempt.request, answer: attempt.outcome.clone() });
            }
        }
        Outcome::Appended { spans, last_position, repeated: _ } => {
            let elsewhere = || Violation::Elsewhere { request: attempt.request, answer: attempt.outcome.clone() };
            if events.is_empty() {
                return Err(lost());
            }
            if events.iter().map(|event| event.position).max() != Some(*last_position) {
                return Err(elsewhere());
            }
            let written: Vec<usize> =
                (0..request.streams.len()).filter(|part| request.streams[*part].events > 0).collect();
            if spans.len() != written.len() {
                return Err(elsewhere());
            }
            for (span, part) in spans.iter().zip(written) {
                let begin = request.first_number(part) as usize;
                let of_part = &events[begin..][..request.streams[part].events as usize];
                let (first, last) = (of_part[0], of_part[of_part.len() - 1]);
                let is_there = first.version == Some(span.first_version)
                    && last.version == Some(span.last_version)
                    && last.position == span.last_position;
                if !is_there {
                    return Err(elsewhere());
                }
            }
        }
    }
    Ok(true)
}

/// What had been answered before another was asked for stands before it, whatever stream it is of.
fn check_real_time(history: &History, standing: &Standing<'_>) -> Result<(), Violation> {
    // It happened between its first attempt and its first acknowledgement.
    let mut spans: HashMap<u32, (u64, Option<u64>)> = HashMap::new();
    for attempt in &history.attempts {
        let span = spans.entry(attempt.request).or_insert((attempt.begin, None));
        span.0 = span.0.min(attempt.begin);
        if matches!(attempt.outcome, Outcome::Appended { .. } | Outcome::Produced { .. }) {
            span.1 = Some(span.1.map_or(attempt.end, |end| end.min(attempt.end)));
        }
    }
    let mut begun: Vec<(u64, u64, u32)> = Vec::new();
    let mut ended: Vec<(u64, u64, u32)> = Vec::new();
    for (request, (begin, end)) in spans {
        let Some(position) = standing[request as usize].iter().map(|event| event.position).min() else { continue };
        begun.push((begin, position, request));
        ended.extend(end.map(|end| (end, position, request)));
    }
    begun.sort_unstable();
    ended.sort_unstable();
    let mut ended = ended.into_iter().peekable();
    let mut latest: Option<(u64, u32)> = None;
    for (begin, position, request) in begun {
        while let Some((_, before, earlier)) = ended.next_if(|(end, _, _)| *end < begin) {
            latest = latest.max(Some((before, earlier)));
        }
        if let Some((before, earlier)) = latest.filter(|(before, _)| *before > position) {
            return Err(Violation::RealTime { earlier, at: before, later: request, before: position });
        }
    }
    Ok(())
}
