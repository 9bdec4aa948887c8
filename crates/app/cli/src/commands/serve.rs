//! `daybook serve`.

use anyhow::bail;
use clap::Args;

use crate::commands::config::{SettingFlags, key_help};

#[derive(Debug, Args)]
#[command(after_long_help = key_help())]
pub struct ServeArguments {
    #[command(flatten)]
    settings: SettingFlags,
}

pub fn run(arguments: &ServeArguments) -> anyhow::Result<()> {
    let _settings = arguments.settings.settle()?;
    bail!("this build has no server in it yet");
}
