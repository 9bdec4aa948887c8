//! `daybook stream append`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::client::{Client, HttpError, Target};
use crate::commands::produce::lines::Lines;
use crate::output::{print_json, print_line};
use crate::session::Session;

/// An append is sent once it has so many events or bytes of data, unless all have to be in one.
const APPEND_EVENTS_MAX: usize = 1000;
const APPEND_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Once an append went well, a server that goes away is waited for, as a producer waits.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
pub struct AppendArguments {
    /// Name of the stream, e.g. order-10491: stream of the category order.
    stream: String,
    /// Type of the events.
    #[arg(long = "type", value_name = "TYPE")]
    event_type: String,
    /// What the stream has to be: any, none, exists, deleted, or the version of its last event. Lines that are appended
    /// later expect what was appended before them.
    #[arg(long, default_value = "any", allow_hyphen_values = true)]
    expected: String,
    /// Data of an event, instead of lines; may be repeated.
    #[arg(long, value_name = "DATA", conflicts_with = "file", allow_hyphen_values = true)]
    data: Vec<String>,
    /// Read this file instead of standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Media type of the data; only lines of JSON are taken unless it is another one.
    #[arg(long, default_value = "application/json", value_name = "TYPE")]
    content_type: String,
    /// Tag of every event; may be repeated.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// When the events were true, RFC 3339, if that is not now.
    #[arg(long)]
    time: Option<String>,
    /// Metadata of every event, JSON.
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Append all lines at once, or none of them. Otherwise lines that are there together are appended together.
    #[arg(long)]
    atomic: bool,
}

#[derive(Debug, Deserialize)]
struct Answer {
    first_version: u64,
    last_version: u64,
    last_position: u64,
    repeated: bool,
    #[serde(rename = "daybook-token")]
    token: String,
}

#[derive(Serialize)]
struct Summary<'a> {
    stream: &'a str,
    events: usize,
    first_version: Option<u64>,
    last_version: Option<u64>,
    last_position: Option<u64>,
    token: Option<&'a str>,
}

pub async fn run(session: &Session, client: Client, arguments: AppendArguments) -> anyhow::Result<()> {
    let metadata = arguments.metadata.as_deref().map(serde_json::from_str::<Value>).transpose();
    let metadata = metadata.context("--metadata is no JSON")?;
    let mut writer = Writer {
        client,
        path: Target::stream(&arguments.stream).text(),
        expected: arguments.expected.clone(),
        is_json: is_json(&arguments.content_type),
        metadata,
        arguments: &arguments,
        events: Vec::new(),
        bytes: 0,
        count: 0,
        first_version: None,
        last: None,
    };
    if arguments.data.is_empty() {
        let mut lines = Lines::open(arguments.file.as_deref())?;
        let mut number = 0;
        while let Some(chunk) = lines.next().await? {
            for line in chunk.lines {
                number += 1;
                writer.add(&line, &format!("line {number}"))?;
            }
            // The input pauses: what is here is all that can be sent.
            if lines.is_idle() && !arguments.atomic {
                writer.flush()?;
            }
        }
    } else {
        for (place, data) in arguments.data.iter().enumerate() {
            writer.add(data.as_bytes(), &format!("--data number {}", place + 1))?;
        }
    }
    writer.flush()?;
    writer.print(session)
}

/// Gathers events and appends them.
struct Writer<'a> {
    client: Client,
    path: String,
    /// What the next append expects.
    expected: String,
    is_json: bool,
    metadata: Option<Value>,
    arguments: &'a AppendArguments,
    events: Vec<String>,
    bytes: usize,
    count: usize,
    first_version: Option<u64>,
    last: Option<Answer>,
}

impl Writer<'_> {
    fn add(&mut self, data: &[u8], place: &str) -> anyhow::Result<()> {
        if self.is_json && data.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let event = self.event(data).with_context(|| place.to_owned())?;
        if !self.arguments.atomic && self.bytes + event.len() > APPEND_BYTES_MAX {
            self.flush()?;
        }
        self.bytes += event.len();
        self.events.push(event);
        if !self.arguments.atomic && self.events.len() >= APPEND_EVENTS_MAX {
            self.flush()?;
        }
        Ok(())
    }

    fn event(&self, data: &[u8]) -> anyhow::Result<String> {
        let mut event = Map::new();
        // Made here, so that an append that is sent again is known.
        event.insert("id".to_owned(), Uuid::new_v4().to_string().into());
        event.insert("type".to_owned(), self.arguments.event_type.as_str().into());
        event.insert("content_type".to_owned(), self.arguments.content_type.as_str().into());
        event.insert("tags".to_owned(), self.arguments.tags.clone().into());
        if let Some(time) = &self.arguments.time {
            event.insert("time".to_owned(), time.as_str().into());
        }
        if let Some(metadata) = &self.metadata {
            event.insert("metadata".to_owned(), metadata.clone());
        }
        if !self.is_json {
            event.insert("data_base64".to_owned(), super::event::base64(data).into());
            return Ok(Value::Object(event).to_string());
        }
        // As text, so that the data stay as they were typed.
        let Ok(json) = serde_json::from_slice::<&RawValue>(data) else {
            bail!("it is no JSON; --content-type text/plain takes any line");
        };
        let mut text = Value::Object(event).to_string();
        text.pop();
        text.push_str(&format!(",\"data\":{}}}", json.get()));
        Ok(text)
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        if self.events.is_empty() {
            return Ok(());
        }
        let expected = json!(self.expected);
        let body = format!("{{\"expected\":{expected},\"events\":[{}]}}", self.events.join(","));
        let answer = self.send(&body)?;
        // Whatever was expected of the stream before, now it ends with what was appended.
        if self.expected != "any" {
            self.expected = answer.last_version.to_string();
        }
        self.count += self.events.len();
        self.first_version = self.first_version.or(Some(answer.first_version));
        self.last = Some(answer);
        self.events.clear();
        self.bytes = 0;
        Ok(())
    }

    fn send(&self, body: &str) -> anyhow::Result<Answer> {
        let started = Instant::now();
        loop {
            match self.client.post::<Answer>(&self.path, body) {
                Ok(answer) => return Ok(answer),
                Err(error) if self.last.is_some() && error.may_pass() && started.elapsed() < PATIENCE => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(self.told(error)),
            }
        }
    }

    /// What was done is told even when the rest failed.
    fn told(&self, error: HttpError) -> anyhow::Error {
        match &self.last {
            Some(answer) => {
                let (count, last) = (self.count, answer.last_version);
                anyhow::Error::from(error)
                    .context(format!("after {count} events were appended, the last one as version {last}"))
            }
            None => error.into(),
        }
    }

    fn print(&self, session: &Session) -> anyhow::Result<()> {
        let stream = &self.arguments.stream;
        if session.is_json {
            let last = self.last.as_ref();
            return print_json(&Summary {
                stream,
                events: self.count,
                first_version: self.first_version,
                last_version: last.map(|last| last.last_version),
                last_position: last.map(|last| last.last_position),
                token: last.map(|last| last.token.as_str()),
            });
        }
        let (Some(first), Some(last)) = (self.first_version, &self.last) else {
            return print_line(&format!("{stream}: no events"));
        };
        let versions = match last.last_version {
            version if version == first => format!("1 event, version {version}"),
            version => format!("{} events, versions {first} to {version}", self.count),
        };
        let repeated = if last.repeated { ", appended before" } else { "" };
        print_line(&format!("{stream}: {versions}, position {}, token {}{repeated}", last.last_position, last.token))
    }
}

/// Whether a media type is JSON's, or one of those built on it: what the server takes as such.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}
