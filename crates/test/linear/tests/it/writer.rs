//! Writers: each asks for one thing after the other, by what it or another last saw, and asks again for what got no answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use daybook_linear::{Actual, Condition, Expected, LookedAt, Outcome, Request, StreamPart};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rdkafka::producer::FutureProducer;
use tokio::sync::watch;

use crate::http::Connection;
use crate::recorder::Recorder;
use crate::{kafka, store};

pub const CATEGORIES: [&str; 3] = ["order", "account", "cart"];
/// Times that one request is sent.
const ATTEMPTS_MAX: u32 = 10;

/// What all writers share.
pub struct Shared {
    pub http: String,
    pub recorder: Recorder,
    pub streams: Vec<Seen>,
    /// So many of them, the first, are those that many writers meet at.
    pub hot_streams: usize,
    pub tags: Vec<Seen>,
    pub producers: Vec<FutureProducer>,
    /// Whether there is a server, which of them, and whether to go on.
    pub server: watch::Receiver<ServerState>,
    pub fault: parking_lot::Mutex<Option<String>>,
    pub is_over: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    Up,
    Down,
}

/// The end of a stream or of a tag as somebody last saw it; others may have written since.
pub struct Seen {
    pub name: String,
    /// One more than the version or position; 0: nothing.
    next: AtomicU64,
}

pub struct Writer {
    shared: Arc<Shared>,
    number: usize,
    dice: StdRng,
    connection: Option<Connection>,
}

impl Seen {
    pub fn new(name: String) -> Self {
        Self { name, next: AtomicU64::new(0) }
    }

    fn see(&self, last: Option<u64>) {
        self.next.store(last.map_or(0, |last| last + 1), Ordering::Relaxed);
    }

    fn last(&self) -> Option<u64> {
        self.next.load(Ordering::Relaxed).checked_sub(1)
    }
}

impl Shared {
    fn fail(&self, fault: String) {
        self.fault.lock().get_or_insert(fault);
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn stream(&self, name: &str) -> Option<&Seen> {
        self.streams.iter().find(|seen| seen.name == name)
    }
}

impl Writer {
    pub fn new(shared: Arc<Shared>, number: usize, seed: u64) -> Self {
        Self { shared, number, dice: StdRng::seed_from_u64(seed ^ (number as u64) << 32), connection: None }
    }

    /// Works until all is over.
    pub async fn run(mut self) {
        while !self.shared.is_over.load(Ordering::Relaxed) {
            match self.dice.random_range(0..100) {
                0..12 => self.look().await,
                12..22 => self.produce().await,
                _ => self.append().await,
            }
        }
    }

    async fn append(&mut self) {
        let request = self.next_request();
        let body_of = |number| store::body(number, &request);
        let number = self.shared.recorder.request(request.clone());
        let body = body_of(number);
        for _ in 0..ATTEMPTS_MAX {
            let Some(outcome) = self.attempt(number, &request, &body).await else { return };
            // Some give up, and so never learn what came of it.
            if outcome != Outcome::Unknown || self.dice.random_bool(0.2) {
                self.learn(&request, &outcome);
                return;
            }
        }
    }

    /// One sending over HTTP, written down unless it can't have reached the server. `None`: all is over.
    async fn attempt(&mut self, number: u32, request: &Request, body: &str) -> Option<Outcome> {
        let mut connection = self.connect().await?;
        let begin = self.shared.recorder.tick();
        let outcome = match connection.post("/append", body).await {
            Ok(answer) => {
                self.connection = Some(connection);
                match store::outcome(request, &answer) {
                    Ok(outcome) => outcome,
                    Err(fault) => {
                        self.shared.fail(fault);
                        return None;
                    }
                }
            }
            Err(_) => Outcome::Unknown,
        };
        self.shared.recorder.attempt(number, begin, outcome.clone());
        Some(outcome)
    }

    /// A conditional produce. It is not tried again: Kafka's producers have no ids that would make it the same.
    async fn produce(&mut self) {
        let part = self.next_part(1);
        let tag = self.dice.random_bool(0.2).then(|| self.next_tag());
        let request = Request { streams: vec![part], tag, by_kafka: true, ..Request::default() };
        let number = self.shared.recorder.request(request.clone());
        let producer = &self.shared.producers[self.number % self.shared.producers.len()];
        let begin = self.shared.recorder.tick();
        match kafka::produce(producer, number, &request).await {
            Ok(outcome) => {
                self.shared.recorder.attempt(number, begin, outcome.clone());
                self.learn(&request, &outcome);
            }
            Err(fault) => self.shared.fail(fault),
        }
    }

    async fn look(&mut self) {
        let is_stream = self.dice.random_bool(0.6);
        let at = if is_stream { self.next_stream() } else { self.dice.random_range(0..self.shared.tags.len()) };
        let shared = Arc::clone(&self.shared);
        let seen = if is_stream { &shared.streams[at] } else { &shared.tags[at] };
        let Some(mut connection) = self.connect().await else { return };
        let begin = shared.recorder.tick();
        let looked = match is_stream {
            true => store::last_version(&mut connection, &seen.name).await,
            false => store::last_position(&mut connection, &seen.name).await,
        };
        match looked {
            Ok(last) => {
                self.connection = Some(connection);
                seen.see(last);
                let name = seen.name.clone();
                shared.recorder.look(
                    begin,
                    match is_stream {
                        true => LookedAt::Stream { stream: name, last_version: last },
                        false => LookedAt::Tag { tag: name, last_position: last },
                    },
                );
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => shared.fail(error.to_string()),
            // Without an answer nothing was seen.
            Err(_) => {}
        }
    }

    /// The connection, or a new one as soon as there is a server. `None`: all is over.
    async fn connect(&mut self) -> Option<Connection> {
        if let Some(connection) = self.connection.take() {
            return Some(connection);
        }
        loop {
            let mut server = self.shared.server.clone();
            server.wait_for(|state| *state == ServerState::Up).await.ok()?;
            if self.shared.is_over.load(Ordering::Relaxed) {
                return None;
            }
            match Connection::open(&self.shared.http).await {
                Ok(connection) => return Some(connection),
                // It was killed in this moment.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    }

    /// Shares what an answer tells of ends. Answers come in any order, so what is shared may be old.
    fn learn(&self, request: &Request, outcome: &Outcome) {
        match outcome {
            Outcome::Appended { spans, last_position, .. } => {
                let written = request.streams.iter().filter(|part| part.events > 0);
                for (span, part) in spans.iter().zip(written) {
                    if let Some(seen) = self.shared.stream(&part.stream) {
                        seen.see(Some(span.last_version));
                    }
                }
                if let Some(tag) = &request.tag
                    && let Some(seen) = self.shared.tags.iter().find(|seen| seen.name == *tag)
                {
                    seen.see(Some(*last_position));
                }
            }
            Outcome::Conflict(conflicts) => {
                for (place, actual) in conflicts {
                    let seen = self.shared.stream(&request.streams[*place].stream);
                    let last = match actual {
                        Actual::None => None,
                        Actual::At(version) => Some(*version),
                    };
                    seen.into_iter().for_each(|seen| seen.see(last));
                }
            }
            Outcome::ConditionFailed { position } => {
                let tag = request.tag.as_ref().and_then(|tag| self.shared.tags.iter().find(|seen| seen.name == *tag));
                tag.into_iter().for_each(|seen| seen.see(Some(*position)));
            }
            Outcome::Produced { .. } => {
                // The answer names no version: it is the one after what was expected.
                let StreamPart { stream, expected, .. } = &request.streams[0];
                let last = match expected {
                    Expected::Exact(version) => Some(version + 1),
                    Expected::NoStream => Some(0),
                    Expected::Any => return,
                };
                self.shared.stream(stream).into_iter().for_each(|seen| seen.see(last));
            }
            Outcome::Refused | Outcome::Unknown => {}
        }
    }
}

/// What is asked for next.
impl Writer {
    fn next_request(&mut self) -> Request {
        match self.dice.random_range(0..100) {
            // One stream.
            0..60 => {
                let events = if self.dice.random_bool(0.8) { 1 } else { self.dice.random_range(2..=5) };
                let tag = self.dice.random_bool(0.15).then(|| self.next_tag());
                Request { streams: vec![self.next_part(events)], tag, ..Request::default() }
            }
            // Several, some of them only looked at.
            60..80 => {
                let mut request = Request::default();
                for place in 0..self.dice.random_range(2..=4) {
                    let events =
                        if place > 0 && self.dice.random_bool(0.25) { 0 } else { self.dice.random_range(1..=3) };
                    let part = self.next_part(events);
                    if request.streams.iter().all(|other| other.stream != part.stream) {
                        request.streams.push(part);
                    }
                }
                if self.dice.random_bool(0.1) {
                    request.tag = Some(self.next_tag());
                }
                request
            }
            // Events of no stream, on a condition.
            80..94 => {
                let (tag, condition) = self.next_condition();
                let loose = self.dice.random_range(1..=2);
                Request { loose, tag: Some(tag), condition: Some(condition), ..Request::default() }
            }
            // A stream's events on a condition.
            _ => {
                let (tag, condition) = self.next_condition();
                let streams = vec![StreamPart { expected: Expected::Any, ..self.next_part(1) }];
                Request { streams, tag: Some(tag), condition: Some(condition), ..Request::default() }
            }
        }
    }

    fn next_part(&mut self, events: u32) -> StreamPart {
        let at = self.next_stream();
        let seen = &self.shared.streams[at];
        let (stream, last) = (seen.name.clone(), seen.last());
        let expected = match self.dice.random_range(0..100) {
            0..15 => Expected::Any,
            15..20 => Expected::NoStream,
            _ => last.map_or(Expected::NoStream, Expected::Exact),
        };
        StreamPart { stream, expected, events }
    }

    fn next_stream(&mut self) -> usize {
        let count = self.shared.streams.len();
        let among = if self.dice.random_bool(0.1) { self.shared.hot_streams.min(count) } else { count };
        self.dice.random_range(0..among)
    }

    fn next_tag(&mut self) -> String {
        let at = self.dice.random_range(0..self.shared.tags.len());
        self.shared.tags[at].name.clone()
    }

    fn next_condition(&mut self) -> (String, Condition) {
        let at = self.dice.random_range(0..self.shared.tags.len());
        let seen = &self.shared.tags[at];
        let tag = seen.name.clone();
        let condition = Condition { tag: tag.clone(), after: seen.last() };
        (tag, condition)
    }
}
