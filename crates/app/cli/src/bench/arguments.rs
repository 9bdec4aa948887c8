//! The knobs of the bench.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use daybook_kafka_client::Acks;
use daybook_record::Compression;

use crate::arguments::HTTP_VARIABLE;
use crate::values;

#[derive(Debug, Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    pub command: BenchCommand,
}

#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Throughput of producers.
    Produce(ProduceBench),
    /// Throughput of consumers, hot or cold.
    Consume(ConsumeBench),
    /// From the moment a record was meant to be sent until a consumer has it, at a fixed rate.
    Latency(LatencyBench),
    /// One writer, one record at a time.
    Sync(SyncBench),
    /// Bare append and fdatasync on a preallocated file, for comparison with `sync`.
    Disk(DiskBench),
    /// The event store: appends on a condition, filling with many streams, reading streams.
    Events(EventsBench),
    /// Every combination that is usually asked for.
    All(AllBench),
}

impl BenchCommand {
    pub fn threads(&self) -> usize {
        match self {
            Self::Produce(bench) => bench.load.threads,
            Self::Consume(bench) => bench.load.threads,
            Self::Latency(bench) => bench.load.threads,
            Self::Sync(bench) => bench.load.threads,
            Self::All(bench) => bench.threads,
            Self::Events(bench) => bench.threads,
            Self::Disk(_) => 1,
        }
    }
}

/// What the load looks like.
#[derive(Clone, Debug, Args)]
pub struct Load {
    /// Bytes of a record's value; it has no key.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(16..=1_000_000))]
    pub record_bytes: u32,
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub partitions: u16,
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub connections: u16,
    /// 0, 1 or all.
    #[arg(long, default_value = "all", value_parser = values::acks)]
    pub acks: Acks,
    /// none, gzip, snappy, lz4 or zstd.
    #[arg(long, default_value = "none", value_parser = values::compression)]
    pub compression: Compression,
    /// Bytes of a batch; Kafka's own default for producers.
    #[arg(long, default_value = "16KiB", value_parser = values::byte_size)]
    pub batch_bytes: u64,
    /// Produce requests of a connection that wait for their answer; Kafka's own default.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub in_flight: u16,
    /// Topic to use and keep; unless given, one is made and deleted.
    #[arg(long)]
    pub topic: Option<String>,
    /// Config of the topic that is made; may be repeated.
    #[arg(long = "config", value_name = "KEY=VALUE")]
    pub configs: Vec<values::Pair>,
    /// Keep the topic that was made.
    #[arg(long)]
    pub keep_topic: bool,
    /// Process of the server: its CPU time and resident memory are reported too.
    #[arg(long)]
    pub pid: Option<u32>,
    /// Threads of this client.
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
}

/// How long.
#[derive(Clone, Debug, Args)]
pub struct Span {
    /// Seconds that are measured.
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    pub seconds: f64,
    /// Seconds before, under the same load.
    #[arg(long, default_value_t = 2.0, value_parser = not_negative)]
    pub warmup_seconds: f64,
}

#[derive(Clone, Debug, Args)]
pub struct ProduceBench {
    #[command(flatten)]
    pub load: Load,
    #[command(flatten)]
    pub span: Span,
    /// Write so many records instead of for a time; then there is no warm-up.
    #[arg(long, conflicts_with_all = ["seconds", "warmup_seconds"])]
    pub records: Option<u64>,
    /// Records a second in all; as many as possible unless given.
    #[arg(long, value_parser = positive)]
    pub rate: Option<f64>,
}

#[derive(Clone, Debug, Args)]
pub struct ConsumeBench {
    #[command(flatten)]
    pub load: Load,
    /// Records to write before, where no topic is given; else 512 MiB of them.
    #[arg(long)]
    pub records: Option<u64>,
    /// Before reading, write out and drop from the page cache every file under this directory: the server's data.
    #[arg(long, value_name = "DIR")]
    pub cold: Option<PathBuf>,
    /// Most bytes of an answer; the default of Kafka's own consumer.
    #[arg(long, default_value = "50MiB", value_parser = values::byte_size)]
    pub fetch_bytes: u64,
    /// Most bytes of a partition in an answer; the default of Kafka's own consumer.
    #[arg(long, default_value = "1MiB", value_parser = values::byte_size)]
    pub partition_fetch_bytes: u64,
    /// Check the CRC of every batch, as most clients do.
    #[arg(long)]
    pub check_crc: bool,
    /// Read everything so many times over.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "cold")]
    pub passes: u16,
}

#[derive(Clone, Debug, Args)]
pub struct LatencyBench {
    #[command(flatten)]
    pub load: Load,
    #[command(flatten)]
    pub span: Span,
    /// Records a second in all.
    #[arg(long, default_value_t = 5000.0, value_parser = positive)]
    pub rate: f64,
    /// Wait so long for more records before a batch is sent.
    #[arg(long, default_value_t = 0.0, value_parser = not_negative)]
    pub linger_ms: f64,
}

#[derive(Clone, Debug, Args)]
pub struct SyncBench {
    #[command(flatten)]
    pub load: Load,
    #[command(flatten)]
    pub span: Span,
}

#[derive(Clone, Debug, Args)]
pub struct EventsBench {
    #[command(subcommand)]
    pub what: EventsCommand,
    /// Bytes of an event's data.
    #[arg(long, global = true, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub event_bytes: u32,
    /// Topic to use; made as an event topic if there is none, and kept.
    #[arg(long, global = true, default_value = "bench")]
    pub topic: String,
    /// Process of the server.
    #[arg(long, global = true)]
    pub pid: Option<u32>,
    /// Threads of this client.
    #[arg(long, global = true, default_value_t = 1)]
    pub threads: usize,
}

#[derive(Clone, Debug, Subcommand)]
pub enum EventsCommand {
    /// Each writer appends to streams of its own, one after the other, each append on the exact version it knows.
    Append {
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
        writers: u16,
        /// Connections that the writers share; one each unless given.
        #[arg(long, value_parser = clap::value_parser!(u16).range(1..=10_000))]
        connections: Option<u16>,
        /// Streams of a writer.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        streams: u32,
        /// Events of an append.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        events: u32,
        #[command(flatten)]
        span: Span,
    },
    /// Writes events of many streams, in great batches and without conditions.
    Fill {
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
        streams: u64,
        /// Events of each stream, one round after the other.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        events: u32,
        /// Make a plain topic instead, to see what the index costs.
        #[arg(long)]
        plain: bool,
    },
    /// Reads whole streams at random over HTTP.
    Read {
        /// So many streams were filled.
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
        streams: u64,
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
        readers: u16,
        /// Events that each of them must have.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        events: u32,
        /// HTTP address of the server, HOST:PORT.
        #[arg(long, value_name = "ADDR", env = HTTP_VARIABLE, default_value = "127.0.0.1:2113")]
        http: String,
        #[command(flatten)]
        span: Span,
    },
}

#[derive(Clone, Debug, Args)]
pub struct DiskBench {
    /// Directory on the file system to measure; the file made in it is deleted.
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
    /// Bytes of an append.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub record_bytes: u32,
    /// Seconds that each of the two files is measured.
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    pub seconds: f64,
}

#[derive(Clone, Debug, Args)]
pub struct AllBench {
    /// Seconds that each run is measured.
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    pub seconds: f64,
    #[arg(long, default_value_t = 2.0, value_parser = not_negative)]
    pub warmup_seconds: f64,
    /// Sizes of records.
    #[arg(long, value_delimiter = ',', default_value = "100,1024", value_parser = clap::value_parser!(u32).range(16..=1_000_000))]
    pub record_bytes: Vec<u32>,
    #[arg(long, value_delimiter = ',', default_value = "1,16", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub partitions: Vec<u16>,
    #[arg(long, value_delimiter = ',', default_value = "1,8", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub connections: Vec<u16>,
    /// 0, 1 or all.
    #[arg(long, default_value = "all", value_parser = values::acks)]
    pub acks: Acks,
    /// none, gzip, snappy, lz4 or zstd.
    #[arg(long, default_value = "none", value_parser = values::compression)]
    pub compression: Compression,
    #[arg(long, default_value = "16KiB", value_parser = values::byte_size)]
    pub batch_bytes: u64,
    /// Records a second of the latency run.
    #[arg(long, default_value_t = 5000.0, value_parser = positive)]
    pub rate: f64,
    /// Also read cold, dropping every file under this directory from the page cache: the server's data.
    #[arg(long, value_name = "DIR")]
    pub cold: Option<PathBuf>,
    /// Config of the topics that are made; may be repeated.
    #[arg(long = "config", value_name = "KEY=VALUE")]
    pub configs: Vec<values::Pair>,
    /// Process of the server.
    #[arg(long)]
    pub pid: Option<u32>,
    /// Threads of this client.
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
}

fn positive(text: &str) -> anyhow::Result<f64> {
    let number: f64 = text.parse()?;
    if number > 0.0 && number < 1e9 { Ok(number) } else { Err(anyhow::anyhow!("a number above 0 is expected")) }
}

fn not_negative(text: &str) -> anyhow::Result<f64> {
    let number: f64 = text.parse()?;
    if (0.0..1e9).contains(&number) { Ok(number) } else { Err(anyhow::anyhow!("a number of 0 or more is expected")) }
}
