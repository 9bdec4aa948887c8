//! `daybook produce`: each line of the input is a record.

pub(crate) mod lines;
mod writer;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use daybook_kafka_client::Acks;
use daybook_record::Compression;
use daybook_types::PartitionIndex;
use serde::Serialize;

use self::lines::Lines;
use self::writer::{PartitionEnd, RecordWriter, WriterOptions};
use crate::output::{print_json, print_line};
use crate::progress::{Progress, Unit};
use crate::session::Session;
use crate::values::{self, Pair};

#[derive(Debug, Args)]
pub struct ProduceArguments {
    topic: String,
    /// Read this file instead of standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// What stands between key and value; a line without it has no key. \t is a tab.
    #[arg(long, value_name = "TEXT", value_parser = values::unescaped)]
    key_separator: Option<Bytes>,
    /// Header of every record; may be repeated.
    #[arg(long = "header", value_name = "KEY=VALUE")]
    headers: Vec<Pair>,
    /// none, gzip, snappy, lz4 or zstd.
    #[arg(long, default_value = "none", value_parser = values::compression)]
    compression: Compression,
    /// Which copies an answer waits for: 0, 1 or all.
    #[arg(long, default_value = "all", value_parser = values::acks)]
    acks: Acks,
    /// Write to this partition, whatever the key.
    #[arg(long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Write a record without a value where the value is empty: a deletion in a compacted topic.
    #[arg(long)]
    empty_is_null: bool,
    /// Send a batch once it has so many bytes, and whenever the input pauses.
    #[arg(long, default_value = "512KiB", value_name = "BYTES", value_parser = values::byte_size)]
    batch_bytes: u64,
}

#[derive(Serialize)]
struct Summary {
    topic: String,
    records: u64,
    bytes: u64,
    seconds: f64,
    partitions: Vec<PartitionEnd>,
}

pub async fn run(session: &Session, arguments: ProduceArguments) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut cluster = session.connect_patiently().await?;
    let topic = cluster.topic(&arguments.topic, true).await?;
    let options = WriterOptions {
        acks: arguments.acks,
        compression: arguments.compression,
        partition: arguments.partition.map(PartitionIndex),
        batch_bytes: usize::try_from(arguments.batch_bytes).unwrap_or(usize::MAX),
        headers: arguments.headers.into_iter().map(|Pair { key, value }| (key.into(), Some(value.into()))).collect(),
    };
    let mut writer = RecordWriter::open(&mut cluster, &topic, options).await?;
    let total = match &arguments.file {
        Some(path) => Some(std::fs::metadata(path).with_context(|| format!("reading {}", path.display()))?.len()),
        None => None,
    };
    let mut lines = Lines::open(arguments.file.as_deref())?;
    let mut progress = Progress::new(Unit::Bytes, total);
    let mut bytes = 0;
    while let Some(chunk) = lines.next().await? {
        for line in &chunk.lines {
            let (key, value) = split(line, arguments.key_separator.as_deref());
            let value = (!(arguments.empty_is_null && value.is_empty())).then_some(value);
            writer.write(key, value).await?;
        }
        bytes += chunk.bytes;
        progress.advance(chunk.bytes);
        // The input pauses: what is here is all that can be sent.
        if lines.is_idle() {
            writer.flush().await?;
        }
    }
    writer.flush().await?;
    progress.finish();
    let seconds = started.elapsed().as_secs_f64();
    let (records, partitions) = writer.finish();
    if session.is_json {
        return print_json(&Summary { topic: arguments.topic, records, bytes, seconds, partitions });
    }
    print_line(&format!("{}: {records} records, {bytes} bytes in {seconds:.2} s", arguments.topic))
}

/// Key and value of a line.
pub(crate) fn split<'a>(line: &'a [u8], separator: Option<&[u8]>) -> (Option<&'a [u8]>, &'a [u8]) {
    let Some(separator) = separator.filter(|separator| !separator.is_empty()) else { return (None, line) };
    match line.windows(separator.len()).position(|window| window == separator) {
        Some(at) => (Some(&line[..at]), &line[at + separator.len()..]),
        None => (None, line),
    }
}
