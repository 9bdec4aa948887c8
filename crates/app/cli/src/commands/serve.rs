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
    let filter = EnvFilter::try_new(filter).context("log.level is not understood")?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(std::io::stderr().is_terminal()).init();
    Ok(())
}
