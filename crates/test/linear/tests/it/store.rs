//! The event store by HTTP: a request of the history as JSON, its answer as an outcome, and looks.

use std::io;

use daybook_linear::{Actual, Expected, Outcome, Request, Span, event_data, event_id};
use serde_json::{Value, json};

use crate::http::{Answer, Connection};

/// A request as `POST /append` wants it.
pub fn body(number: u32, request: &Request) -> String {
    let events = |range: std::ops::Range<u32>| -> Vec<Value> {
        let tags = request.tag.as_slice();
        let event = |event| {
            let data: Value = serde_json::from_slice(&event_data(number, event)).unwrap();
            json!({ "id": event_id(number, event), "type": "noted", "tags": tags, "data": data })
        };
        range.map(event).collect()
    };
    let streams: Vec<Value> = (0..request.streams.len())
        .map(|place| {
            let part = &request.streams[place];
            let first = request.first_number(place);
            let expected = match part.expected {
                Expected::Exact(version) => version.into(),
                expected => Value::from(expected.text()),
            };
            json!({ "stream": part.stream, "expected": expected, "events": events(first..first + part.events) })
        })
        .collect();
    let first = request.first_number(request.streams.len());
    let condition = request
        .condition
        .as_ref()
        .map(|condition| json!({ "unless": { "items": [{ "tags": [condition.tag] }] }, "after": condition.after }));
    json!({ "streams": streams, "events": events(first..first + request.loose), "condition": condition }).to_string()
}

/// What an answer says. An answer that no history should have is an error.
pub fn outcome(request: &Request, answer: &Answer) -> Result<Outcome, String> {
    let body = &answer.body;
    let unexpected = || format!("{request:?} is answered {} {body}", answer.status);
    let kind = body["type"].as_str().map_or("", |kind| kind.trim_start_matches("urn:daybook:problem:"));
    let outcome = match (answer.status, kind) {
        (200 | 201, _) => appended(body),
        (409, "conflict") => conflict(request, body),
        (412, "condition-failed") => body["position"].as_u64().map(|position| Outcome::ConditionFailed { position }),
        (503, "outcome-unknown" | "unavailable") => Some(Outcome::Unknown),
        _ => None,
    };
    outcome.ok_or_else(unexpected)
}

fn appended(body: &Value) -> Option<Outcome> {
    let span = |span: &Value| {
        Some(Span {
            first_version: span["first_version"].as_u64()?,
            last_version: span["last_version"].as_u64()?,
            last_position: span["last_position"].as_u64()?,
        })
    };
    Some(Outcome::Appended {
        spans: body["streams"].as_array()?.iter().map(span).collect::<Option<_>>()?,
        last_position: body["last_position"].as_u64()?,
        repeated: body["repeated"].as_bool()?,
    })
}

fn conflict(request: &Request, body: &Value) -> Option<Outcome> {
    let one = |conflict: &Value| {
        let stream = conflict["stream"].as_str()?;
        let place = request.streams.iter().position(|part| part.stream == stream)?;
        let actual = match &conflict["actual"] {
            Value::Number(version) => Actual::At(version.as_u64()?),
            Value::String(state) if state == "none" => Actual::None,
            _ => return None,
        };
        Some((place, actual))
    };
    Some(Outcome::Conflict(body["conflicts"].as_array()?.iter().map(one).collect::<Option<_>>()?))
}

/// Version of a stream's last event.
pub async fn last_version(connection: &mut Connection, stream: &str) -> io::Result<Option<u64>> {
    let answer = connection.get(&format!("/streams/{stream}?from=end&direction=backwards&limit=1")).await?;
    match (answer.status, &answer.body["events"][0]["version"]) {
        (200, Value::Number(version)) => Ok(version.as_u64()),
        (404, _) if answer.body["type"] == "urn:daybook:problem:no-stream" => Ok(None),
        _ => Err(unexpected(&answer)),
    }
}

/// Position of the last event that has the tag.
pub async fn last_position(connection: &mut Connection, tag: &str) -> io::Result<Option<u64>> {
    let mut from = "end".to_owned();
    loop {
        let path = format!("/all?tag={tag}&from={from}&direction=backwards&limit=1");
        let answer = connection.get(&path).await?;
        let body = &answer.body;
        match (answer.status, &body["events"][0]["position"], body["at_end"].as_bool(), body["next"].as_u64()) {
            (200, Value::Number(position), _, _) => return Ok(position.as_u64()),
            (200, _, Some(true), _) => return Ok(None),
            // A page that looked at many events and found none: the first page fixed where it began.
            (200, _, Some(false), Some(next)) => from = next.to_string(),
            _ => return Err(unexpected(&answer)),
        }
    }
}

/// A server that is stopping takes no more reads either, which is no answer; anything else that wasn't asked for is a fault.
pub fn unexpected(answer: &Answer) -> io::Error {
    let kind = if answer.status == 503 { io::ErrorKind::ConnectionAborted } else { io::ErrorKind::InvalidData };
    io::Error::new(kind, format!("{} {}", answer.status, answer.body))
}
