//! `daybook stream subscribe`.

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::client::{Client, HttpError, Target};
use super::event::Event;
use super::source::SourceArguments;

/// A server that goes away is waited for.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(250);
/// Longest line of an event stream.
const LINE_BYTES_MAX: u64 = 512 * 1024 * 1024;

#[derive(Debug, Args)]
pub struct SubscribeArguments {
    #[command(flatten)]
    source: SourceArguments,
    /// Where to begin: start, end, or the version (of all events: the position) of an event.
    #[arg(long, default_value = "start", value_name = "PLACE")]
    from: String,
    /// Stop after so many events.
    #[arg(long, value_name = "COUNT")]
    max: Option<u64>,
}

/// A message of an event stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Empty for an event.
    pub name: String,
    pub id: Option<u64>,
    pub data: String,
}

pub fn run(is_json: bool, client: &Client, arguments: &SubscribeArguments) -> anyhow::Result<()> {
    let target = arguments.source.target()?;
    let from = match arguments.from.as_str() {
        // Found once, so that nothing is missed between two connections.
        "end" => end(client, arguments)?,
        from => from.to_owned(),
    };
    let path = target.with("from", from).text();
    let mut follower = Follower {
        is_json,
        is_one_stream: arguments.source.stream.is_some(),
        rest: arguments.max.unwrap_or(u64::MAX),
        last_id: None,
        last_heard: Instant::now(),
    };
    let mut was_connected = false;
    while follower.rest > 0 {
        match client.follow(&path, follower.last_id) {
            Ok(mut stream) => {
                was_connected = true;
                follower.last_heard = Instant::now();
                follower.take(&mut stream)?;
            }
            Err(error) if was_connected && error.may_pass() && follower.last_heard.elapsed() < PATIENCE => {}
            Err(error) => return Err(error.into()),
        }
        if follower.rest > 0 {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// Where the events end now.
fn end(client: &Client, arguments: &SubscribeArguments) -> anyhow::Result<String> {
    #[derive(Deserialize)]
    struct Info {
        next_version: u64,
    }
    #[derive(Deserialize)]
    struct Newest {
        last_position: Option<u64>,
    }
    Ok(match &arguments.source.stream {
        Some(stream) => {
            let path = format!("{}/info", Target::stream(stream).text());
            client.get::<Info>(&path)?.next_version.to_string()
        }
        None => {
            let newest: Newest = client.get("/all?direction=backwards&limit=1")?;
            newest.last_position.map_or(0, |position| position + 1).to_string()
        }
    })
}

struct Follower {
    is_json: bool,
    is_one_stream: bool,
    /// Events still to be shown.
    rest: u64,
    /// What a new connection goes on after.
    last_id: Option<u64>,
    last_heard: Instant,
}

impl Follower {
    /// Shows what comes until the stream ends. An error is what can't be mended by a new connection.
    fn take(&mut self, stream: &mut impl BufRead) -> anyhow::Result<()> {
        // An end in the midst of a message is a connection that broke; the message comes again.
        while let Ok(Some(message)) = next_message(stream) {
            self.last_heard = Instant::now();
            self.show(&message)?;
            self.last_id = message.id.or(self.last_id);
            if self.rest == 0 {
                break;
            }
        }
        Ok(())
    }

    fn show(&mut self, message: &Message) -> anyhow::Result<()> {
        match message.name.as_str() {
            "" => {
                self.rest -= 1;
                self.show_event(&message.data)
            }
            "problem" => match HttpError::of_document(message.data.as_bytes()) {
                Some(error) if error.may_pass() => Ok(()),
                Some(error) => Err(error.into()),
                None => Ok(()),
            },
            // What programs read is events only.
            _ if self.is_json => Ok(()),
            "caught-up" => {
                eprintln!("caught up; waiting for more");
                Ok(())
            }
            "fell-behind" => {
                eprintln!("fell behind; reading what was missed");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn show_event(&self, data: &str) -> anyhow::Result<()> {
        // Locked for each event and flushed: whoever watches sees it now.
        let mut out = io::stdout().lock();
        if self.is_json {
            writeln!(out, "{data}")?;
        } else {
            let json: &RawValue = serde_json::from_str(data).context("an event of the server is no JSON")?;
            let event = Event::of(json)?;
            if !self.is_one_stream {
                let stream = event.stream.as_deref().unwrap_or("-");
                write!(out, "{}  {stream}  ", event.position)?;
            }
            let version = event.version.map_or("-".to_owned(), |version| version.to_string());
            writeln!(out, "{version}  {}  {}", event.event_type, event.data_line())?;
        }
        Ok(out.flush()?)
    }
}

/// The next message; `None` at the end.
pub fn next_message(stream: &mut impl BufRead) -> io::Result<Option<Message>> {
    let mut message = Message::default();
    let mut line = String::new();
    loop {
        line.clear();
        if io::Read::take(&mut *stream, LINE_BYTES_MAX).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            if message == Message::default() {
                // Only comments so far.
                continue;
            }
            return Ok(Some(message));
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => message.name = value.to_owned(),
            "id" => message.id = value.parse().ok(),
            "data" => {
                if !message.data.is_empty() {
                    message.data.push('\n');
                }
                message.data.push_str(value);
            }
            _ => {}
        }
    }
}
