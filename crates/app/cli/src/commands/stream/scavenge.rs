//! `daybook stream scavenge`.

use std::thread::sleep;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use serde::{Deserialize, Serialize};

use super::client::Client;
use crate::output::{print_json, print_line};
use crate::session::Session;

const PATH: &str = "/scavenge";
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
pub struct ScavengeArguments {
    /// Begin it and don't wait for its end.
    #[arg(long)]
    no_wait: bool,
    /// Only show how far the one that is running has come, or how the last one ended.
    #[arg(long, conflicts_with = "no_wait")]
    show: bool,
    /// End the one that is running. What it has done stays done.
    #[arg(long, conflicts_with_all = ["no_wait", "show"])]
    stop: bool,
}

/// A run; `state` alone if there was none.
#[derive(Debug, Deserialize, Serialize)]
struct Report {
    state: String,
    #[serde(flatten)]
    run: Option<Run>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Run {
    id: String,
    cause: Option<String>,
    began_ms: i64,
    ended_ms: Option<i64>,
    partitions: u64,
    partitions_done: u64,
    segments: u64,
    segments_rewritten: u64,
    segments_skipped: u64,
    events_removed: u64,
    bytes_read: u64,
    bytes_freed: u64,
}

pub fn run(session: &Session, client: &Client, arguments: &ScavengeArguments) -> anyhow::Result<()> {
    let mut report: Report = if arguments.show {
        client.get(PATH)?
    } else if arguments.stop {
        client.delete(PATH)?
    } else {
        client.post(PATH, "")?
    };
    while report.state == "running" && !arguments.no_wait && !arguments.show {
        sleep(LOOK_INTERVAL);
        report = client.get(PATH)?;
    }
    if session.is_json {
        print_json(&report)?;
    } else {
        print_line(&text(&report))?;
    }
    match report.run.and_then(|run| run.cause) {
        Some(cause) if !arguments.show => bail!("the scavenge failed: {cause}. What was done stays done"),
        _ => Ok(()),
    }
}

fn text(report: &Report) -> String {
    let Some(run) = &report.run else { return "no scavenge since the server started".to_owned() };
    let mut text = format!(
        "scavenge {}: {}, {} events removed, {} bytes freed, {} of {} segments written anew, {} of {} partitions done",
        run.id,
        report.state,
        run.events_removed,
        run.bytes_freed,
        run.segments_rewritten,
        run.segments,
        run.partitions_done,
        run.partitions
    );
    if run.segments_skipped > 0 {
        text.push_str(&format!(", {} segments left for the next run", run.segments_skipped));
    }
    text
}
