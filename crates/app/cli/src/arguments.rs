//! What can be typed.

use clap::{Parser, Subcommand};

use crate::bench::BenchArguments;
use crate::commands::category::CategoryArguments;
use crate::commands::config::ConfigArguments;
use crate::commands::consume::ConsumeArguments;
use crate::commands::group::GroupArguments;
use crate::commands::log::LogArguments;
use crate::commands::produce::ProduceArguments;
use crate::commands::serve::ServeArguments;
use crate::commands::stream::StreamArguments;
use crate::commands::topic::TopicArguments;

/// Where commands find a server unless told otherwise.
pub const BOOTSTRAP_VARIABLE: &str = "DAYBOOK_BOOTSTRAP";
/// Where commands find its event store unless told otherwise.
pub const HTTP_VARIABLE: &str = "DAYBOOK_HTTP";
/// Path of the configuration file.
pub const CONFIG_VARIABLE: &str = "DAYBOOK_CONFIG";

/// One durable log that Kafka clients write and read.
#[derive(Debug, Parser)]
#[command(name = "daybook", version, propagate_version = true, max_term_width = 110)]
pub struct Arguments {
    /// Kafka address of the server, HOST:PORT; several with commas between.
    #[arg(long, global = true, value_name = "ADDR", env = BOOTSTRAP_VARIABLE, default_value = "127.0.0.1:9092")]
    pub bootstrap: String,

    /// Print JSON instead of a table.
    #[arg(long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a log.
    Serve(ServeArguments),
    /// Show the effective configuration and where each value came from.
    Config(ConfigArguments),
    /// Create, list, describe, alter and delete topics.
    Topic(TopicArguments),
    /// Write lines as records.
    Produce(ProduceArguments),
    /// Read records.
    Consume(ConsumeArguments),
    /// List, describe, reset and delete consumer groups.
    Group(GroupArguments),
    /// Append to streams of events, read, follow, list and delete them.
    Stream(StreamArguments),
    /// List categories of streams.
    Category(CategoryArguments),
    /// Look at the data directory of a node that isn't running.
    Log(LogArguments),
    /// Measure a Kafka server, this one or another, always with the same client code.
    Bench(BenchArguments),
}
