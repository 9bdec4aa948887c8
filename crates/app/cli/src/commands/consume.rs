//! `daybook consume`: reads records without joining a group.

pub(crate) mod format;
pub(crate) mod positions;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use anyhow::Context;
use clap::Args;
use daybook_kafka_client::{Cluster, FetchLimits, TopicPartition};
use daybook_record::{Record, batches, records, verify};
use daybook_types::{Offset, PartitionIndex, TimestampMs};

pub(crate) use self::format::Format;
use self::positions::Start;
use crate::progress::{Progress, Unit};
use crate::session::Session;
use crate::values;

#[derive(Debug, Args)]
pub struct ConsumeArguments {
    topic: String,
    /// Start with the oldest record; so does a run without --follow unless told otherwise.
    #[arg(long, group = "start")]
    from_beginning: bool,
    /// Start after the newest record; so does --follow unless told otherwise.
    #[arg(long, group = "start")]
    from_end: bool,
    /// Start at this offset; a negative one counts from the end.
    #[arg(long, group = "start", allow_negative_numbers = true)]
    offset: Option<i64>,
    /// Start with the first record at or after this time: RFC 3339, or milliseconds since 1970.
    #[arg(long, group = "start", value_name = "TIME", value_parser = values::timestamp)]
    timestamp: Option<TimestampMs>,
    /// Start where this group stands, and commit for it what was read. It must have no members.
    #[arg(long, group = "start", value_name = "GROUP")]
    group: Option<String>,
    /// Read only this partition; may be repeated.
    #[arg(long = "partition", value_parser = clap::value_parser!(i32).range(0..))]
    partitions: Vec<i32>,
    /// Stop after so many records.
    #[arg(long)]
    count: Option<u64>,
    /// Wait for more records at the end instead of stopping there.
    #[arg(long, short)]
    follow: bool,
    /// How a record is printed: %t topic, %p partition, %o offset, %k key, %s value, %h headers, %T timestamp in
    /// milliseconds, %K and %S lengths of key and value, %% percent; \n, \t and \xHH.
    #[arg(long, default_value = r"%s\n", value_parser = format::parse, conflicts_with = "json")]
    format: Format,
}

pub async fn run(session: &Session, arguments: ConsumeArguments) -> anyhow::Result<()> {
    let mut cluster = session.connect_patiently().await?;
    let wanted: Vec<_> = arguments.partitions.iter().copied().map(PartitionIndex).collect();
    let partitions = positions::select(&mut cluster, &arguments.topic, &wanted).await?;
    let start = start(&arguments);
    let positions = positions::find(&mut cluster, &partitions, &start).await?;
    let ends = match arguments.follow {
        true => None,
        false => Some(positions::ends(&mut cluster, &partitions).await?),
    };
    let total = ends.as_ref().map(|ends| {
        let ahead = positions.iter().map(|(partition, from)| ends[partition].0.saturating_sub(from.0).max(0));
        ahead.sum::<i64>().unsigned_abs().min(arguments.count.unwrap_or(u64::MAX))
    });
    let printer = Printer {
        out: BufWriter::with_capacity(256 * 1024, io::stdout()),
        format: arguments.format,
        is_json: session.is_json,
        rest: arguments.count.unwrap_or(u64::MAX),
        progress: Progress::new(Unit::Records, total),
    };
    let mut reader = Reader { cluster, positions, ends, printer };
    // An interrupted reader has read what it has printed.
    tokio::select! {
        result = reader.run() => result?,
        interrupt = tokio::signal::ctrl_c() => interrupt.context("waiting for an interrupt")?,
    }
    reader.printer.progress.finish();
    reader.printer.out.flush()?;
    if let Some(group) = &arguments.group {
        reader.cluster.commit_offsets(group, &reader.positions).await?;
    }
    Ok(())
}

fn start(arguments: &ConsumeArguments) -> Start {
    match (&arguments.group, arguments.offset, arguments.timestamp) {
        (Some(group), ..) => Start::Committed(group.clone()),
        (_, Some(offset), _) if offset < 0 => Start::BeforeEnd(offset.unsigned_abs()),
        (_, Some(offset), _) => Start::At(Offset(offset)),
        (_, _, Some(time)) => Start::Time(time),
        _ if arguments.from_end || (arguments.follow && !arguments.from_beginning) => Start::End,
        _ => Start::Beginning,
    }
}

struct Reader {
    cluster: Cluster,
    /// What is read next.
    positions: BTreeMap<TopicPartition, Offset>,
    /// Where each partition is done; `None` when it never is.
    ends: Option<BTreeMap<TopicPartition, Offset>>,
    printer: Printer,
}

impl Reader {
    async fn run(&mut self) -> anyhow::Result<()> {
        let limits = FetchLimits::default();
        loop {
            let ends = &self.ends;
            let is_open = |(partition, from): &(&TopicPartition, &Offset)| {
                ends.as_ref().is_none_or(|ends| **from < ends[*partition])
            };
            let open: BTreeMap<_, _> =
                self.positions.iter().filter(is_open).map(|(partition, from)| (partition.clone(), *from)).collect();
            if open.is_empty() || self.printer.rest == 0 {
                break;
            }
            // Whoever watches sees all there is before we wait for more.
            self.printer.out.flush()?;
            for (partition, bytes) in self.cluster.fetch(limits, &open).await? {
                self.take(&partition, bytes)?;
            }
        }
        Ok(())
    }

    /// Prints the records of a partition from its position on, and moves the position.
    fn take(&mut self, partition: &TopicPartition, bytes: bytes::Bytes) -> anyhow::Result<()> {
        let place = || format!("reading partition {} of {}", partition.partition, partition.topic);
        let end = self.ends.as_ref().map_or(Offset(i64::MAX), |ends| ends[partition]);
        let position = self.positions.get_mut(partition).expect("only partitions with a position are fetched");
        for batch in batches(bytes) {
            // The last batch of an answer may be cut; it comes again.
            let Ok((header, batch)) = batch else { break };
            if !header.is_control() {
                verify(&batch).with_context(place)?;
                for record in records(&batch).with_context(place)? {
                    let record = record.with_context(place)?;
                    if record.offset < *position {
                        continue;
                    }
                    if record.offset >= end || self.printer.rest == 0 {
                        return Ok(());
                    }
                    self.printer.print(partition, &record)?;
                    *position = record.offset.next();
                }
            }
            *position = (*position).max(header.next_offset());
        }
        Ok(())
    }
}

struct Printer {
    out: BufWriter<io::Stdout>,
    format: Format,
    is_json: bool,
    /// Records still to print.
    rest: u64,
    progress: Progress,
}

impl Printer {
    fn print(&mut self, partition: &TopicPartition, record: &Record) -> anyhow::Result<()> {
        if self.is_json {
            format::write_json(&mut self.out, partition, record)?;
        } else {
            self.format.write(&mut self.out, partition, record)?;
        }
        self.rest -= 1;
        self.progress.advance(1);
        Ok(())
    }
}
