//! `daybook log verify` and `daybook log dump`: looks at a data directory that is not being served.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use daybook_command::{Command, StreamCheck, SweepTransaction, TransactionalProducer};
use daybook_node::inspect::{self, Dumped, Said};
use daybook_types::Lsn;
use serde_json::{Value, json};

use crate::output::{print_json, print_line};
use crate::progress::{Progress, Unit};
use crate::session::Session;

#[derive(Debug, Args)]
pub struct LogArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read the write-ahead log, the segments and the indexes, and report the first damage with file, byte and LSN.
    Verify(DataArgument),
    /// Print the log's entries: LSN, term, commands.
    Dump(DumpArguments),
}

#[derive(Debug, Args)]
struct DataArgument {
    /// The data directory; no daybook may be serving it.
    #[arg(long, value_name = "DIR", default_value = "./data")]
    data: PathBuf,
}

#[derive(Debug, Args)]
struct DumpArguments {
    #[command(flatten)]
    data: DataArgument,
    /// First LSN.
    #[arg(long, value_name = "LSN", default_value_t = 0)]
    from: u64,
    /// LSN to stop before.
    #[arg(long, value_name = "LSN")]
    to: Option<u64>,
}

pub fn run(session: &Session, arguments: &LogArguments) -> anyhow::Result<()> {
    match &arguments.action {
        Action::Verify(data) => verify(session, data),
        Action::Dump(arguments) => dump(session, arguments),
    }
}

fn verify(session: &Session, arguments: &DataArgument) -> anyhow::Result<()> {
    let mut progress = Progress::new(Unit::Bytes, None);
    let verified = inspect::verify(&arguments.data, |bytes| progress.advance(bytes));
    progress.finish();
    let verified = verified?;
    let lsn = |lsn: Option<Lsn>| lsn.map(|lsn| lsn.0);
    if session.is_json {
        return print_json(&json!({
            "log": {
                "records": verified.wal_records,
                "bytes": verified.wal_bytes,
                "torn_bytes": verified.wal_torn_bytes,
                "first_lsn": lsn(verified.first_lsn),
                "last_lsn": lsn(verified.last_lsn),
            },
            "checkpoint_lsn": verified.checkpoint.0,
            "topics": verified.topics,
            "partitions": verified.partitions,
            "segments": verified.segments,
            "batches": verified.batches,
            "records": verified.records,
            "segment_bytes": verified.segment_bytes,
            "index_entries": verified.index_entries,
            "streams": verified.streams,
            "events": verified.events,
        }));
    }
    let range = match (verified.first_lsn, verified.last_lsn) {
        (Some(first), Some(last)) => format!("LSN {first} to {last}"),
        _ => "empty".to_owned(),
    };
    print_line(&format!("log         {range}, {} records, {} bytes", verified.wal_records, verified.wal_bytes))?;
    if verified.wal_torn_bytes > 0 {
        print_line(&format!(
            "            {} bytes of an unfinished write at its end, which the next start cuts",
            verified.wal_torn_bytes
        ))?;
    }
    print_line(&format!(
        "checkpoint  LSN {}, {} topics, {} partitions",
        verified.checkpoint, verified.topics, verified.partitions
    ))?;
    print_line(&format!(
        "segments    {} files, {} batches, {} records, {} bytes, {} index entries",
        verified.segments, verified.batches, verified.records, verified.segment_bytes, verified.index_entries
    ))?;
    if verified.events > 0 {
        print_line(&format!("streams     {} streams, {} events", verified.streams, verified.events))?;
    }
    print_line("no damage found")
}

fn dump(session: &Session, arguments: &DumpArguments) -> anyhow::Result<()> {
    inspect::dump(&arguments.data.data, Lsn(arguments.from), arguments.to.map(Lsn), |entry| {
        if session.is_json {
            print_line(&to_json(&entry).to_string())
        } else {
            to_lines(&entry).iter().try_for_each(|line| print_line(line))
        }
    })
}

fn to_lines(entry: &Dumped) -> Vec<String> {
    let head = format!("lsn {} term {}", entry.lsn, entry.term);
    match &entry.what {
        Said::Blank => vec![format!("{head} begins a term")],
        Said::Members => vec![format!("{head} members")],
        Said::Commands(commands) => {
            let count = commands.commands.len();
            let mut lines = vec![format!("{head} time {} bytes {} commands {count}", commands.time, entry.bytes)];
            lines.extend(commands.commands.iter().map(|command| format!("  {}", describe(command))));
            lines
        }
    }
}

fn to_json(entry: &Dumped) -> Value {
    let (kind, time, commands) = match &entry.what {
        Said::Blank => ("blank", None, Vec::new()),
        Said::Members => ("members", None, Vec::new()),
        Said::Commands(commands) => {
            let list =
                commands.commands.iter().map(|command| json!({"name": command.name(), "text": describe(command)}));
            ("commands", Some(commands.time.0), list.collect())
        }
    };
    json!({
        "lsn": entry.lsn.0,
        "term": entry.term.0,
        "bytes": entry.bytes,
        "kind": kind,
        "time_ms": time,
        "commands": commands,
    })
}

fn describe(command: &Command) -> String {
    let name = command.name();
    match command {
        Command::AppendBatch(append) => match daybook_record::BatchHeader::read(&append.batch) {
            Ok(header) => format!(
                "{name} partition {} records {} bytes {} producer {} sequence {}",
                append.partition,
                header.record_count,
                append.batch.len(),
                header.producer_id,
                header.base_sequence
            ),
            Err(error) => format!("{name} partition {} damaged: {error}", append.partition),
        },
        Command::CreateTopic(create) => {
            format!(
                "{name} {} id {} partitions {} configs {:?}",
                create.name, create.id, create.partitions, create.configs
            )
        }
        Command::DeleteTopic(delete) => format!("{name} id {}", delete.id),
        Command::AlterTopicConfigs(alter) => format!("{name} id {} {:?}", alter.id, alter.changes),
        Command::CreatePartitions(create) => format!("{name} id {} total {}", create.id, create.total),
        Command::AllocateProducerId(_) => name.to_owned(),
        Command::CommitOffsets(commit) => {
            let offsets: Vec<String> =
                commit.offsets.iter().map(|offset| format!("{}@{}", offset.partition, offset.offset)).collect();
            format!("{name} group {} {}", commit.group, offsets.join(" "))
        }
        Command::DeleteGroup(delete) => format!("{name} group {}", delete.group),
        Command::DeleteOffsets(delete) => {
            format!("{name} group {} {} partitions", delete.group, delete.partitions.len())
        }
        Command::AppendEvents(append) => {
            let stream = |check: &StreamCheck| {
                format!("{} expecting {}", String::from_utf8_lossy(&check.name).escape_default(), check.expected)
            };
            let streams: Vec<String> = append.streams.iter().map(stream).collect();
            let bytes: usize = append.batches.iter().map(|batch| batch.batch.len()).sum();
            let condition = if append.condition.is_some() { " on a condition" } else { "" };
            format!("{name} {} bytes {bytes}{condition}", streams.join(", "))
        }
        Command::IndexRecords(index) => {
            format!("{name} partition {} offsets {} to {}", index.partition, index.from, index.to)
        }
        Command::PutSubscription(put) => format!("{name} {} bytes {}", put.name, put.body.len()),
        Command::DeleteSubscription(delete) => format!("{name} {}", delete.name),
        Command::TrimPartition(trim) => {
            let to = trim.to.map_or("its end".to_owned(), |to| to.to_string());
            format!("{name} partition {} to {to}", trim.partition)
        }
        Command::CompactedTo(compacted) => format!("{name} partition {} to {}", compacted.partition, compacted.to),
        Command::PutSharePartition(put) => {
            let (state, runs) = (&put.state, put.state.runs.len());
            format!(
                "{name} group {} {} epoch {} start {} runs {runs}",
                put.group, put.partition, state.epoch, state.start
            )
        }
        Command::DeleteShareState(delete) => {
            let partitions = delete.partitions.as_ref().map(Vec::len);
            let which = partitions.map_or("all partitions".to_owned(), |count| format!("{count} partitions"));
            format!("{name} group {} {which}", delete.group)
        }
        Command::AlterGroupConfigs(alter) => format!("{name} group {} {:?}", alter.group, alter.changes),
        Command::AlterConfigs(alter) => format!("{name} {} changes {}", alter.resource, alter.changes.len()),
        Command::AppendToTransaction(append) => {
            format!("{name} {} partition {} bytes {}", append.transactional_id, append.partition, append.batch.len())
        }
        Command::InitProducer(init) => format!("{name} {}", init.transactional_id),
        Command::AddToTransaction(add) => format!("{name} {}", producer(&add.producer)),
        Command::CommitOffsetsInTransaction(commit) => {
            format!("{name} {} group {}", producer(&commit.producer), commit.commit.group)
        }
        Command::EndTransaction(end) => {
            format!("{name} {} {}", producer(&end.producer), if end.commits { "commit" } else { "abort" })
        }
        Command::SweepTransaction(sweep) => match sweep {
            SweepTransaction::TimedOut { producer: of, .. } => format!("{name} timed out: {}", producer(of)),
            SweepTransaction::Unused { transactional_id, .. } => format!("{name} unused: {transactional_id}"),
            SweepTransaction::Hanging { partition, producer, epoch } => {
                format!("{name} hanging: partition {partition} producer {producer} epoch {epoch}")
            }
        },
    }
}

fn producer(producer: &TransactionalProducer) -> String {
    format!("{} producer {} epoch {}", producer.transactional_id, producer.id, producer.epoch)
}
