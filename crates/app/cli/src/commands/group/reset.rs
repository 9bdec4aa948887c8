//! `daybook group reset`: commits other offsets for a group that has no members.

use anyhow::bail;
use clap::Args;
use daybook_kafka_client::{Cluster, KafkaCode, TopicPartition};
use daybook_types::{Offset, PartitionIndex, TimestampMs};
use serde::Serialize;

use crate::commands::consume::positions::{self, Start};
use crate::output::{Column, Table, print_json, print_line};
use crate::session::Session;
use crate::values::{self, TopicSelection};

#[derive(Debug, Args)]
pub struct ResetArguments {
    group: String,
    /// Topic, or one partition of it, to move; may be repeated. Unless given, all the group has offsets of.
    #[arg(long = "topic", value_name = "TOPIC[:PARTITION]")]
    topics: Vec<TopicSelection>,
    #[command(flatten)]
    target: Target,
    /// Show what would be committed, and commit nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// To the oldest record.
    #[arg(long)]
    to_earliest: bool,
    /// After the newest record.
    #[arg(long)]
    to_latest: bool,
    /// To this offset, or the nearest there is.
    #[arg(long, value_name = "OFFSET", allow_negative_numbers = true, value_parser = clap::value_parser!(i64).range(0..))]
    to_offset: Option<i64>,
    /// To the first record at or after this time: RFC 3339, or milliseconds since 1970.
    #[arg(long, value_name = "TIME", value_parser = values::timestamp)]
    to_timestamp: Option<TimestampMs>,
}

impl Target {
    fn start(&self) -> Start {
        match (self.to_offset, self.to_timestamp) {
            (Some(offset), _) => Start::At(Offset(offset)),
            (_, Some(time)) => Start::Time(time),
            _ if self.to_latest => Start::End,
            _ => Start::Beginning,
        }
    }
}

#[derive(Serialize)]
struct ResetRow {
    topic: String,
    partition: i32,
    /// `None` where nothing was committed.
    from: Option<i64>,
    to: i64,
}

#[derive(Serialize)]
struct Reset {
    group: String,
    committed: bool,
    partitions: Vec<ResetRow>,
}

pub async fn run(session: &Session, cluster: &mut Cluster, arguments: &ResetArguments) -> anyhow::Result<()> {
    let group = &arguments.group;
    refuse_if_in_use(cluster, group).await?;
    let committed = cluster.committed_offsets(group).await?;
    let mut partitions: Vec<TopicPartition> = Vec::new();
    if arguments.topics.is_empty() {
        partitions.extend(committed.keys().cloned());
        if partitions.is_empty() {
            bail!("group {group} has no offsets; name what to set with --topic");
        }
    }
    for selection in &arguments.topics {
        let wanted: Vec<PartitionIndex> = selection.partition.into_iter().collect();
        partitions.extend(positions::select(cluster, &selection.topic, &wanted).await?);
    }
    partitions.sort();
    partitions.dedup();
    let targets = positions::find(cluster, &partitions, &arguments.target.start()).await?;
    if !arguments.dry_run {
        cluster.commit_offsets(group, &targets).await?;
    }
    let rows = targets.iter().map(|(partition, to)| ResetRow {
        topic: partition.topic.clone(),
        partition: partition.partition.0,
        from: committed.get(partition).map(|committed| committed.offset.0),
        to: to.0,
    });
    let reset = Reset { group: group.clone(), committed: !arguments.dry_run, partitions: rows.collect() };
    if session.is_json { print_json(&reset) } else { print_reset(&reset) }
}

/// The server refuses the commit too, but can't say whom to stop.
async fn refuse_if_in_use(cluster: &mut Cluster, group: &str) -> anyhow::Result<()> {
    match cluster.describe_group(group).await {
        Ok(description) if !description.members.is_empty() => {
            let clients: Vec<_> = description.members.iter().map(|member| member.client_id.as_str()).collect();
            bail!("group {group} has members ({}); stop them, then reset", clients.join(", "))
        }
        Ok(_) => Ok(()),
        // A group begins with its first commit.
        Err(error) if error.code() == Some(KafkaCode::GROUP_ID_NOT_FOUND) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn print_reset(reset: &Reset) -> anyhow::Result<()> {
    let columns = [Column::Text("TOPIC"), Column::Number("PARTITION"), Column::Number("FROM"), Column::Number("TO")];
    let mut table = Table::new(&columns);
    for row in &reset.partitions {
        let from = row.from.map_or("-".to_owned(), |from| from.to_string());
        table.row([row.topic.clone(), row.partition.to_string(), from, row.to.to_string()]);
    }
    table.print()?;
    if reset.committed { Ok(()) } else { print_line("\nnothing was committed; leave out --dry-run to do it") }
}
