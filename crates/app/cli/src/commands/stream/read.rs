//! `daybook stream read`.

use std::io::{self, BufWriter, Write};

use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::client::{Client, Target};
use super::event::{Event, shortened};
use super::source::SourceArguments;
use crate::output::{Column, Table};
use crate::session::Session;

/// A table has at most so many characters of data a row; `--json` shows all.
const DATA_LENGTH_MAX: usize = 72;
/// What the server answers at once, at most.
const PAGE_MAX: u64 = 1000;

#[derive(Debug, Args)]
pub struct ReadArguments {
    #[command(flatten)]
    source: SourceArguments,
    /// Where to begin: start, end, or the version (of all events: the position) of an event. Unless given, at the
    /// start, or backwards at the end.
    #[arg(long, value_name = "PLACE")]
    from: Option<String>,
    /// The newest first.
    #[arg(long)]
    backwards: bool,
    /// Stop after so many events.
    #[arg(long, default_value_t = 100, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    max: u64,
    /// Wait until the server has applied this write, of which `stream append` told the token.
    #[arg(long)]
    token: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    events: Vec<Box<RawValue>>,
    next: Value,
    at_end: bool,
}

pub fn run(session: &Session, client: &Client, arguments: &ReadArguments) -> anyhow::Result<()> {
    let mut from = arguments.from.clone();
    let mut rest = arguments.max;
    let mut shown = Shown::new(session.is_json, arguments.source.stream.is_some());
    loop {
        let target = target(arguments, from.as_deref(), rest.min(PAGE_MAX))?;
        let page: Page = client.get(&target.text())?;
        rest -= rest.min(page.events.len() as u64);
        page.events.iter().try_for_each(|event| shown.add(event))?;
        let next = match &page.next {
            Value::String(text) => text.clone(),
            number => number.to_string(),
        };
        if page.at_end || rest == 0 {
            shown.finish()?;
            if !page.at_end {
                eprintln!("there are more: --from {next} goes on, --max shows more at once");
            }
            return Ok(());
        }
        from = Some(next);
    }
}

fn target(arguments: &ReadArguments, from: Option<&str>, limit: u64) -> anyhow::Result<Target> {
    let target = arguments.source.target()?;
    let target = target.with_any("from", from).with("limit", limit).with_any("token", arguments.token.as_ref());
    Ok(if arguments.backwards { target.with("direction", "backwards") } else { target })
}

/// Events on their way to the terminal: a document a line, or a table at the end.
struct Shown {
    is_json: bool,
    is_one_stream: bool,
    out: BufWriter<io::Stdout>,
    events: Vec<Event>,
}

impl Shown {
    fn new(is_json: bool, is_one_stream: bool) -> Self {
        Self { is_json, is_one_stream, out: BufWriter::new(io::stdout()), events: Vec::new() }
    }

    fn add(&mut self, event: &RawValue) -> anyhow::Result<()> {
        if self.is_json {
            writeln!(self.out, "{event}")?;
        } else {
            self.events.push(Event::of(event)?);
        }
        Ok(())
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        if self.is_json {
            self.out.flush()?;
            return Ok(());
        }
        let has_tags = self.events.iter().any(|event| !event.tags.is_empty());
        let mut columns = Vec::new();
        if !self.is_one_stream {
            columns.extend([Column::Number("POSITION"), Column::Text("STREAM")]);
        }
        columns.extend([Column::Number("VERSION"), Column::Text("TYPE"), Column::Text("TIME")]);
        if has_tags {
            columns.push(Column::Text("TAGS"));
        }
        columns.push(Column::Text("DATA"));
        let mut table = Table::new(&columns);
        for event in &self.events {
            let mut cells = Vec::new();
            if !self.is_one_stream {
                cells.extend([event.position.to_string(), event.stream.clone().unwrap_or_default()]);
            }
            let version = event.version.map_or(String::new(), |version| version.to_string());
            cells.extend([version, event.event_type.clone(), event.time().to_owned()]);
            if has_tags {
                cells.push(event.tags.join(","));
            }
            cells.push(shortened(&event.data_line(), DATA_LENGTH_MAX));
            table.row(cells);
        }
        table.print()
    }
}
