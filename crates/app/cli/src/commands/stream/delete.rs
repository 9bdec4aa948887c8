//! `daybook stream delete`.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::client::{Client, Target};
use crate::output::{print_json, print_line};
use crate::session::Session;

#[derive(Debug, Args)]
pub struct DeleteArguments {
    stream: String,
    /// What the stream has to be: any, exists, or the version of its last event.
    #[arg(long, default_value = "any", allow_hyphen_values = true)]
    expected: String,
    /// For ever: the stream can't be written again. Otherwise it can, and its versions go on.
    #[arg(long)]
    tombstone: bool,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "daybook-token")]
    token: String,
}

#[derive(Serialize)]
struct Outcome<'a> {
    stream: &'a str,
    outcome: &'static str,
    token: String,
}

pub fn run(session: &Session, client: &Client, arguments: &DeleteArguments) -> anyhow::Result<()> {
    let target = Target::stream(&arguments.stream).with("expected", &arguments.expected);
    let target = if arguments.tombstone { target.with("tombstone", true) } else { target };
    let answer: Answer = client.delete(&target.text())?;
    let outcome = if arguments.tombstone { "deleted for ever" } else { "deleted" };
    if session.is_json {
        return print_json(&Outcome { stream: &arguments.stream, outcome, token: answer.token });
    }
    print_line(&format!("{}: {outcome}, token {}", arguments.stream, answer.token))
}
