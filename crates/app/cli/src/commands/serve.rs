//! `daybook serve`.

use std::io::IsTerminal;

use anyhow::Context;
use clap::Args;
use tracing_subscriber::EnvFilter;

use crate::commands::config::{SettingFlags, key_help};

#[derive(Debug, Args)]
#[command(after_long_help = key_help())]
pub struct ServeArguments {
    #[command(flatten)]
    settings: SettingFlags,
}

pub fn run(arguments: &ServeArguments) -> anyhow::Result<()> {
    let settings = arguments.settings.settle()?;
    start_log(settings.log.level.as_str())?;
    daybook_node::serve(&settings)
}

/// Standard output is for the line that says the node is ready.
fn start_log(filter: &str) -> anyhow::Result<()> {
    // The consensus library tells its every step at INFO and below, in its own words; what matters of it is told by
    // our own crates. A filter that names it gets it all.
    let filter = EnvFilter::try_new(format!("openraft=error,{filter}")).context("log.level is not understood")?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(std::io::stderr().is_terminal()).init();
    Ok(())
}
