//! `daybook stream list`.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::client::{Client, Target};
use crate::output::{Column, Table, print_json};
use crate::session::Session;

/// What the server answers at once, at most.
const PAGE_MAX: u64 = 1000;

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only streams of this category.
    #[arg(long)]
    category: Option<String>,
    /// Only streams after this name.
    #[arg(long, value_name = "NAME")]
    after: Option<String>,
    /// Stop after so many streams.
    #[arg(long, default_value_t = 1000, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    max: u64,
}

#[derive(Deserialize)]
struct Page {
    streams: Vec<Stream>,
    next: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Stream {
    stream: String,
    state: String,
    version: Option<u64>,
    first_version: u64,
    next_version: u64,
    last_position: Option<u64>,
}

pub fn run(session: &Session, client: &Client, arguments: &ListArguments) -> anyhow::Result<()> {
    let mut streams = Vec::new();
    let mut after = arguments.after.clone();
    loop {
        let rest = arguments.max - streams.len() as u64;
        let target = Target::new("/streams")
            .with_any("category", arguments.category.as_ref())
            .with_any("after", after.as_ref())
            .with("limit", rest.min(PAGE_MAX));
        let mut page: Page = client.get(&target.text())?;
        streams.append(&mut page.streams);
        after = page.next;
        if after.is_none() || streams.len() as u64 >= arguments.max {
            break;
        }
    }
    if session.is_json {
        print_json(&streams)?;
    } else {
        print_table(&streams)?;
    }
    if let Some(after) = after {
        eprintln!("there may be more: --after {after} goes on, --max shows more at once");
    }
    Ok(())
}

fn print_table(streams: &[Stream]) -> anyhow::Result<()> {
    let columns = [
        Column::Text("STREAM"),
        Column::Text("STATE"),
        Column::Number("EVENTS"),
        Column::Number("FIRST"),
        Column::Number("LAST"),
        Column::Number("POSITION"),
    ];
    let mut table = Table::new(&columns);
    for stream in streams {
        let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let events = stream.next_version.saturating_sub(stream.first_version);
        table.row([
            stream.stream.clone(),
            stream.state.clone(),
            events.to_string(),
            number((events > 0).then_some(stream.first_version)),
            number(stream.version),
            number(stream.last_position),
        ]);
    }
    table.print()
}
