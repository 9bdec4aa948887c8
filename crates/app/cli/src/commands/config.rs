//! `daybook config`, and the flags by which every command that needs settings takes them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use daybook_settings::{Layers, Settings, SettingsError};
use serde::Serialize;

use crate::arguments::{BOOTSTRAP_VARIABLE, CONFIG_VARIABLE, HTTP_VARIABLE};
use crate::output::{Column, Table, print_json};
use crate::session::Session;
use crate::values::Pair;

/// Variables with our prefix that are no settings; the last is read by the scripts under `bench/`.
const FOREIGN_VARIABLES: [&str; 4] = [BOOTSTRAP_VARIABLE, HTTP_VARIABLE, CONFIG_VARIABLE, "DAYBOOK_PEERS"];

#[derive(Debug, Args)]
pub struct SettingFlags {
    /// TOML file with settings.
    #[arg(long, value_name = "FILE", env = CONFIG_VARIABLE)]
    config: Option<PathBuf>,

    /// Directory that holds everything the node stores [key: data].
    #[arg(long, value_name = "DIR")]
    data: Option<String>,

    /// Address for Kafka clients; port 0 picks a free one [key: kafka.listen].
    #[arg(long, value_name = "ADDR")]
    kafka: Option<String>,

    /// Address for HTTP; port 0 picks a free one [key: http.listen].
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,

    /// Sets any key; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<Pair>,
}

impl SettingFlags {
    /// The effective settings of this process.
    pub fn settle(&self) -> Result<Settings, SettingsError> {
        self.settle_with(std::env::vars_os())
    }

    pub(crate) fn settle_with(
        &self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Settings, SettingsError> {
        let mut layers = Layers::default();
        if let Some(path) = &self.config {
            layers.read_file(path)?;
        }
        layers.take_environment(environment, &FOREIGN_VARIABLES)?;
        for Pair { key, value } in &self.sets {
            layers.set_flag(key, value, "--set");
        }
        // After `--set`, so that the flag that was made for a key wins over the one for any.
        let named = [
            ("data", "--data", &self.data),
            ("kafka.listen", "--kafka", &self.kafka),
            ("http.listen", "--http", &self.http),
        ];
        for (key, flag, value) in named {
            if let Some(value) = value {
                layers.set_flag(key, value, flag);
            }
        }
        layers.settle()
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = key_help())]
pub struct ConfigArguments {
    #[command(flatten)]
    settings: SettingFlags,

    /// List all keys with their defaults and what they mean, instead of values.
    #[arg(long)]
    keys: bool,
}

#[derive(Serialize)]
struct ValueRow<'a> {
    key: &'a str,
    value: &'a str,
    source: String,
}

#[derive(Serialize)]
struct KeyRow {
    key: &'static str,
    environment: String,
    default: &'static str,
    accepted: String,
    meaning: String,
}

pub fn run(session: &Session, arguments: &ConfigArguments) -> anyhow::Result<()> {
    if arguments.keys {
        return print_keys(session);
    }
    let settings = arguments.settings.settle()?;
    let rows = settings.entries().iter().map(|entry| ValueRow {
        key: entry.key,
        value: &entry.value,
        source: entry.source.to_string(),
    });
    if session.is_json {
        return print_json(&rows.collect::<Vec<_>>());
    }
    let mut table = Table::new(&[Column::Text("KEY"), Column::Text("VALUE"), Column::Text("SOURCE")]);
    for row in rows {
        let value = if row.value.is_empty() { "(none)" } else { row.value };
        table.row([row.key.to_owned(), value.to_owned(), row.source]);
    }
    table.print()
}

fn print_keys(session: &Session) -> anyhow::Result<()> {
    let rows = Settings::keys().iter().map(|key| KeyRow {
        key: key.name,
        environment: key.environment_name(),
        default: key.default,
        accepted: (key.accepted)(),
        meaning: sentences(key.meaning),
    });
    if session.is_json {
        return print_json(&rows.collect::<Vec<_>>());
    }
    let columns = ["KEY", "ENVIRONMENT", "DEFAULT", "ACCEPTED", "MEANING"].map(Column::Text);
    let mut table = Table::new(&columns);
    for row in rows {
        table.row([row.key.to_owned(), row.environment, row.default.to_owned(), row.accepted, row.meaning]);
    }
    table.print()
}

fn sentences(meaning: &str) -> String {
    meaning.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// The part of `--help` that tells the keys.
pub fn key_help() -> String {
    let mut text = "Settings, later ones winning: defaults, the TOML file, the environment (DAYBOOK_KAFKA_LISTEN for \
                    kafka.listen), flags.\nKeys and their defaults:\n"
        .to_owned();
    for key in Settings::keys() {
        let default = if key.default.is_empty() { "none" } else { key.default };
        text.push_str(&format!("\n  {} [{default}]\n      {}", key.name, sentences(key.meaning)));
    }
    text
}
