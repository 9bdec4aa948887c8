//! Event streams: history first, then what comes, for as long as the peer listens.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use daybook_event_store::{FollowFrom, Followed, ReadError, Subscription, Target};
use futures::{FutureExt, stream};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Duration, sleep};

use super::limits::{CHECKPOINT_INTERVAL, FOLLOW_CHUNK_BYTES};
use super::meter::Following;
use super::parameters::Parameters;
use super::problem::Problem;
use super::{SharedApi, call, event_json::EventOut, sse};

/// Asked for by a parameter, or by what the client accepts.
pub fn is_wanted(parameters: &Parameters, headers: &HeaderMap) -> Result<bool, Problem> {
    parameters.flag("follow", call::wants_events(headers))
}

/// Who follows has no pages.
pub fn refuse_paging(parameters: &Parameters) -> Result<(), Problem> {
    match ["limit", "direction"].into_iter().find(|name| parameters.has(name)) {
        Some(name) => Err(Problem::malformed(format!("{name} has no meaning for an event stream; leave it out"))),
        None => Ok(()),
    }
}

/// Where a client that was cut off goes on: after the version or position that it had last.
pub fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    match call::text(headers, "last-event-id")? {
        None | Some("") => Ok(None),
        Some(text) => match text.parse() {
            Ok(id) => Ok(Some(id)),
            Err(_) => Err(Problem::malformed(format!("last-event-id: {text} is no number"))),
        },
    }
}

pub fn respond(api: &SharedApi, target: Target, from: FollowFrom) -> Result<Response, Problem> {
    let Ok(permit) = api.followers.clone().try_acquire_owned() else {
        let followers_max = api.options.followers_max;
        let detail = format!("{followers_max} event streams are open, which is the most");
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too-many-followers",
            "too many event streams",
            detail,
        ));
    };
    let numbering = match target {
        Target::Stream(_) => Numbering::Version,
        Target::All(_) => Numbering::Position,
    };
    let follower = Follower {
        subscription: api.store.subscribe(target, from, CHECKPOINT_INTERVAL),
        numbering,
        stopping: api.options.stopping.clone(),
        keep_alive: api.options.keep_alive,
        is_over: false,
        _permit: permit,
        _following: Following::begin(),
    };
    let chunks = stream::unfold(follower, |mut follower| async move {
        let chunk = follower.next_chunk().await?;
        Some((Ok::<_, Infallible>(chunk), follower))
    });
    let head = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // Proxies that gather answers would hold back what is live.
        ("x-accel-buffering", "no"),
    ];
    Ok((head, Body::from_stream(chunks)).into_response())
}

/// What the ids of the stream's messages are.
#[derive(Clone, Copy, Debug)]
enum Numbering {
    Version,
    Position,
}

struct Follower {
    subscription: Subscription,
    numbering: Numbering,
    stopping: watch::Receiver<bool>,
    keep_alive: Duration,
    is_over: bool,
    _permit: OwnedSemaphorePermit,
    _following: Following,
}

impl Follower {
    /// What is there, as much as fits; waits if nothing is. `None` at the end.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let mut out = Vec::new();
        let first = tokio::select! {
            // An error means that the node is gone.
            _ = self.stopping.wait_for(|stopping| *stopping) => return None,
            first = self.subscription.next() => first,
            () = sleep(self.keep_alive) => {
                sse::push_comment(&mut out, "nothing new");
                return Some(out.into());
            }
        };
        self.push(&mut out, first);
        while !self.is_over && out.len() < FOLLOW_CHUNK_BYTES {
            match self.subscription.next().now_or_never() {
                Some(message) => self.push(&mut out, message),
                None => break,
            }
        }
        (!out.is_empty()).then(|| out.into())
    }

    fn push(&mut self, out: &mut Vec<u8>, message: Option<Result<Followed, ReadError>>) {
        match message {
            None => self.is_over = true,
            Some(Err(error)) => {
                self.is_over = true;
                sse::push(out, Some("problem"), None, Problem::from(error).body().as_bytes());
            }
            Some(Ok(Followed::Event(event))) => {
                let id = match self.numbering {
                    Numbering::Version => event.version.map(|version| version.0),
                    Numbering::Position => Some(event.position.0),
                };
                let data = serde_json::to_vec(&EventOut::of(&event)).expect("text for keys, numbers that JSON has");
                sse::push(out, None, id, &data);
            }
            Some(Ok(Followed::Checkpoint(position))) => {
                let id = match self.numbering {
                    Numbering::Version => None,
                    Numbering::Position => Some(position.0),
                };
                sse::push(out, Some("checkpoint"), id, json!({ "position": position.0 }).to_string().as_bytes());
            }
            Some(Ok(Followed::CaughtUp { end })) => {
                let last_position = end.0.checked_sub(1);
                sse::push(
                    out,
                    Some("caught-up"),
                    None,
                    json!({ "last_position": last_position }).to_string().as_bytes(),
                );
            }
            Some(Ok(Followed::FellBehind { end })) => {
                let last_position = end.0.checked_sub(1);
                sse::push(
                    out,
                    Some("fell-behind"),
                    None,
                    json!({ "last_position": last_position }).to_string().as_bytes(),
                );
            }
        }
    }
}
