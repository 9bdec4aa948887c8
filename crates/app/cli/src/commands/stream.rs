//! `daybook stream`: the event store from the command line, over its HTTP API.

mod append;
pub mod client;
mod delete;
mod event;
mod list;
mod read;
mod scavenge;
mod source;
mod subscribe;
#[cfg(test)]
mod tests;

use anyhow::Context;
use clap::{Args, Subcommand};

use self::client::{Client, HttpArguments};
use crate::session::{Session, block_on};

#[derive(Debug, Args)]
pub struct StreamArguments {
    #[command(flatten)]
    server: HttpArguments,
    #[command(subcommand)]
    command: StreamCommand,
}

#[derive(Debug, Subcommand)]
enum StreamCommand {
    /// Append events to a stream: each line is the data of one.
    Append(append::AppendArguments),
    /// Read a stream, a category or all events.
    Read(read::ReadArguments),
    /// Follow a stream, a category or all events until interrupted.
    Subscribe(subscribe::SubscribeArguments),
    /// Delete a stream.
    Delete(delete::DeleteArguments),
    /// List streams.
    List(list::ListArguments),
    /// Give back the space of events that their streams keep no more.
    Scavenge(scavenge::ScavengeArguments),
}

pub fn run(session: &Session, arguments: StreamArguments) -> anyhow::Result<()> {
    let client = Client::new(&arguments.server);
    match arguments.command {
        StreamCommand::Append(arguments) => block_on(append::run(session, client, arguments)),
        StreamCommand::Read(arguments) => read::run(session, &client, &arguments),
        StreamCommand::Subscribe(arguments) => {
            let is_json = session.is_json;
            // An interrupted subscriber has seen what it has printed.
            block_on(async move {
                let following = tokio::task::spawn_blocking(move || subscribe::run(is_json, &client, &arguments));
                tokio::select! {
                    followed = following => followed.context("the thread that follows")?,
                    interrupt = tokio::signal::ctrl_c() => interrupt.context("waiting for an interrupt"),
                }
            })
        }
        StreamCommand::Delete(arguments) => delete::run(session, &client, &arguments),
        StreamCommand::List(arguments) => list::run(session, &client, &arguments),
        StreamCommand::Scavenge(arguments) => scavenge::run(session, &client, &arguments),
    }
}
