//! A client of the HTTP API: JSON in and out, problem documents as errors.

use std::io::{BufReader, Read};
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

use crate::arguments::HTTP_VARIABLE;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Until an answer begins. An append waits for the disk, and a read for its token.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Largest answer; a page is far smaller, except of a few huge events.
const ANSWER_BYTES_MAX: u64 = 512 * 1024 * 1024;

#[derive(Debug, Args)]
pub struct HttpArguments {
    /// HTTP address of the server, HOST:PORT.
    #[arg(long, global = true, value_name = "ADDR", env = HTTP_VARIABLE, default_value = "127.0.0.1:2113")]
    http: String,
}

#[derive(Debug)]
pub struct Client {
    agent: Agent,
    address: String,
}

#[derive(Debug, Error)]
pub enum HttpError {
    /// Nothing is known of what became of the request.
    #[error("asking the server at {address}: {source}")]
    Unreachable { address: String, source: ureq::Error },
    /// The server says what is wrong.
    #[error("{}", problem_text(.title, .detail))]
    Problem { status: u16, kind: String, title: String, detail: String },
    #[error("the server at {address} answered {status}, and not as Daybook does")]
    Foreign { address: String, status: u16 },
}

/// What every problem document has, as far as people need it.
#[derive(Deserialize)]
struct ProblemDocument {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    #[serde(default)]
    detail: String,
}

fn problem_text(title: &str, detail: &str) -> String {
    if detail.is_empty() { title.to_owned() } else { detail.to_owned() }
}

impl HttpError {
    /// Whether the same request may go better later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Problem { status, .. } => *status == StatusCode::SERVICE_UNAVAILABLE.as_u16(),
            Self::Foreign { .. } => false,
        }
    }

    /// The problem of this document.
    pub fn of_document(document: &[u8]) -> Option<Self> {
        let ProblemDocument { kind, title, status, detail } = serde_json::from_slice(document).ok()?;
        // The part of the name that tells problems apart.
        let kind = kind.rsplit(':').next().unwrap_or_default().to_owned();
        Some(Self::Problem { status, kind, title, detail })
    }
}

impl Client {
    pub fn new(server: &HttpArguments) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A server of this machine or network is asked itself, whatever the environment says of the world's.
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(ANSWER_TIMEOUT))
            .build();
        Self { agent: config.into(), address: server.http.clone() }
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, HttpError> {
        self.answer(self.agent.get(self.url(path)).call())
    }

    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &str) -> Result<T, HttpError> {
        let request = self.agent.post(self.url(path)).header("content-type", "application/json");
        self.answer(request.send(body))
    }

    pub fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, HttpError> {
        self.answer(self.agent.delete(self.url(path)).call())
    }

    /// Begins an event stream, after the message of this id.
    pub fn follow(&self, path: &str, last_event_id: Option<u64>) -> Result<BufReader<impl Read + use<>>, HttpError> {
        let mut request = self.agent.get(self.url(path)).header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id.to_string());
        }
        let response = self.checked(request.call())?;
        Ok(BufReader::new(response.into_body().into_reader()))
    }

    fn answer<T: DeserializeOwned>(&self, answer: Result<Response<Body>, ureq::Error>) -> Result<T, HttpError> {
        let mut response = self.checked(answer)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let body = body.map_err(|source| self.unreachable(source))?;
        serde_json::from_slice(&body).map_err(|_| HttpError::Foreign { address: self.address.clone(), status })
    }

    fn checked(&self, answer: Result<Response<Body>, ureq::Error>) -> Result<Response<Body>, HttpError> {
        let mut response = answer.map_err(|source| self.unreachable(source))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.body_mut().read_to_vec().map_err(|source| self.unreachable(source))?;
        let foreign = HttpError::Foreign { address: self.address.clone(), status: status.as_u16() };
        Err(HttpError::of_document(&body).unwrap_or(foreign))
    }

    fn unreachable(&self, source: ureq::Error) -> HttpError {
        HttpError::Unreachable { address: self.address.clone(), source }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Text as a part of a path or of a query.
pub fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// A path and what is asked of it.
#[derive(Debug)]
pub struct Target {
    path: String,
    query: Vec<(&'static str, String)>,
}

impl Target {
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), query: Vec::new() }
    }

    pub fn stream(name: &str) -> Self {
        Self::new(format!("/streams/{}", encoded(name)))
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    #[must_use]
    pub fn with_any(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    #[must_use]
    pub fn with_all(mut self, name: &'static str, values: &[String]) -> Self {
        self.query.extend(values.iter().map(|value| (name, value.clone())));
        self
    }

    pub fn text(&self) -> String {
        let mut text = self.path.clone();
        for (place, (name, value)) in self.query.iter().enumerate() {
            let separator = if place == 0 { '?' } else { '&' };
            text.push_str(&format!("{separator}{name}={}", encoded(value)));
        }
        text
    }
}
