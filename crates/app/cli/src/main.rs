//! The binary `daybook`: reads what a person typed, runs it, and says what went wrong.
//!
//! One file a command under `commands/`, which takes its own arguments; `bench/` is the one command large enough to
//! have a folder. Exit codes: 0, done; 1, it failed, with cause and next step on standard error; 2, wrong usage.

mod advice;
mod arguments;
mod bench;
mod commands;
mod output;
mod progress;
mod session;
#[cfg(test)]
mod tests;
mod values;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough, as `head` does.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", advice::causes(&error));
            if let Some(step) = advice::next_step(&error) {
                eprintln!("  {step}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    let session = session::Session { bootstrap: arguments.bootstrap, is_json: arguments.json };
    match arguments.command {
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Config(arguments) => commands::config::run(&session, &arguments),
        Command::Bench(arguments) => bench::run(&session, &arguments),
        Command::Log(arguments) => commands::log::run(&session, &arguments),
        Command::Stream(arguments) => commands::stream::run(&session, arguments),
        Command::Category(arguments) => commands::category::run(&session, &arguments),
        Command::Topic(arguments) => session::block_on(commands::topic::run(&session, arguments)),
        Command::Produce(arguments) => session::block_on(commands::produce::run(&session, arguments)),
        Command::Consume(arguments) => session::block_on(commands::consume::run(&session, arguments)),
        Command::Group(arguments) => session::block_on(commands::group::run(&session, arguments)),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
        && !error.chain().any(|cause| cause.is::<daybook_kafka_client::WireError>())
}
