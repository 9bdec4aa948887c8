//! `daybook bench`: measures a Kafka server, this one or another, always with the same client code.
//!
//! What is measured is the server: batches are built before the clock runs, a connection is driven by one task, and
//! the client's own CPU time stands in every report, so that a figure limited by the client shows it. Latencies count
//! from the moment a record was meant to be sent, so that a stall of the server isn't left out by a client that
//! waited for it.

mod all;
mod arguments;
mod cold;
mod consume;
mod disk;
mod events;
mod lanes;
mod latency;
mod pacer;
mod payload;
mod process;
mod produce;
mod report;
mod single;
#[cfg(test)]
mod tests;

use anyhow::Context;

pub use self::arguments::BenchArguments;
use self::arguments::BenchCommand;
use self::report::print_reports;
use crate::session::Session;

pub fn run(session: &Session, arguments: &BenchArguments) -> anyhow::Result<()> {
    if let BenchCommand::Disk(arguments) = &arguments.command {
        return disk::run(session, arguments);
    }
    let threads = arguments.command.threads();
    let mut builder = match threads {
        0 | 1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(threads.max(1)).enable_all().build().context("starting the runtime")?;
    let reports = runtime.block_on(async {
        match &arguments.command {
            BenchCommand::Produce(arguments) => Ok(vec![produce::run(session, arguments).await?]),
            BenchCommand::Consume(arguments) => Ok(vec![consume::run(session, arguments).await?]),
            BenchCommand::Latency(arguments) => Ok(vec![latency::run(session, arguments).await?]),
            BenchCommand::Sync(arguments) => Ok(vec![single::run(session, arguments).await?]),
            BenchCommand::Events(arguments) => Ok(vec![events::run(session, arguments).await?]),
            BenchCommand::All(arguments) => all::run(session, arguments).await,
            BenchCommand::Disk(_) => unreachable!("answered above"),
        }
    });
    print_reports(session, &reports?)
}
