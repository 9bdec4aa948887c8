//! `daybook group`.

mod reset;

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use daybook_kafka_client::{Cluster, GroupDescription, TopicPartition};
use serde::Serialize;

use self::reset::ResetArguments;
use crate::commands::consume::positions;
use crate::output::{Column, Table, print_json, print_line};
use crate::session::Session;

#[derive(Debug, Args)]
pub struct GroupArguments {
    #[command(subcommand)]
    command: GroupCommand,
}

#[derive(Debug, Subcommand)]
enum GroupCommand {
    /// List groups.
    List,
    /// Show a group's members, offsets and lag.
    Describe(DescribeArguments),
    /// Move a group that has no members to other offsets.
    Reset(ResetArguments),
    /// Delete groups that have no members, with their offsets.
    Delete(DeleteArguments),
}

#[derive(Debug, Args)]
struct DescribeArguments {
    group: String,
}

#[derive(Debug, Args)]
struct DeleteArguments {
    #[arg(required = true, value_name = "GROUP")]
    groups: Vec<String>,
}

pub async fn run(session: &Session, arguments: GroupArguments) -> anyhow::Result<()> {
    let mut cluster = session.connect().await?;
    match arguments.command {
        GroupCommand::List => list(session, &mut cluster).await,
        GroupCommand::Describe(arguments) => describe(session, &mut cluster, &arguments.group).await,
        GroupCommand::Reset(arguments) => reset::run(session, &mut cluster, &arguments).await,
        GroupCommand::Delete(arguments) => delete(session, &mut cluster, arguments.groups).await,
    }
}

#[derive(Serialize)]
struct ListRow {
    group: String,
    state: String,
    #[serde(rename = "type")]
    group_type: String,
    coordinator: u32,
}

async fn list(session: &Session, cluster: &mut Cluster) -> anyhow::Result<()> {
    let rows = cluster.list_groups().await?.into_iter().map(|row| ListRow {
        group: row.group,
        state: row.state,
        group_type: row.group_type,
        coordinator: row.coordinator.0,
    });
    if session.is_json {
        return print_json(&rows.collect::<Vec<_>>());
    }
    let columns = [Column::Text("GROUP"), Column::Text("STATE"), Column::Text("TYPE"), Column::Number("COORDINATOR")];
    let mut table = Table::new(&columns);
    for row in rows {
        table.row([row.group, row.state, row.group_type, row.coordinator.to_string()]);
    }
    table.print()
}

#[derive(Serialize)]
struct Description {
    group: String,
    state: String,
    assignor: String,
    coordinator: u32,
    members: Vec<MemberRow>,
    offsets: Vec<OffsetRow>,
    /// `None` while nothing is committed.
    lag: Option<i64>,
}

#[derive(Serialize)]
struct MemberRow {
    member: String,
    instance: Option<String>,
    client: String,
    host: String,
    partitions: usize,
}

#[derive(Serialize)]
struct OffsetRow {
    topic: String,
    partition: i32,
    /// `None` where a member holds the partition and hasn't committed.
    committed: Option<i64>,
    /// `None` where the topic is gone.
    end: Option<i64>,
    lag: Option<i64>,
    member: Option<String>,
}

async fn describe(session: &Session, cluster: &mut Cluster, group: &str) -> anyhow::Result<()> {
    let described = cluster.describe_group(group).await?;
    let offsets = offset_rows(cluster, group, &described).await?;
    let lags = offsets.iter().filter_map(|row| row.lag);
    let lag = offsets.iter().any(|row| row.lag.is_some()).then(|| lags.sum());
    let members = described.members.into_iter().map(|member| MemberRow {
        member: member.member_id,
        instance: member.instance_id,
        client: member.client_id,
        host: member.host,
        partitions: member.assignment.len(),
    });
    let description = Description {
        group: group.to_owned(),
        state: described.state,
        assignor: described.assignor,
        coordinator: described.coordinator.0,
        members: members.collect(),
        offsets,
        lag,
    };
    if session.is_json { print_json(&description) } else { print_description(&description) }
}

/// What is committed, and what members hold.
async fn offset_rows(
    cluster: &mut Cluster,
    group: &str,
    described: &GroupDescription,
) -> anyhow::Result<Vec<OffsetRow>> {
    let committed = cluster.committed_offsets(group).await?;
    let mut holders: BTreeMap<&TopicPartition, &str> = BTreeMap::new();
    for member in &described.members {
        holders.extend(member.assignment.iter().map(|partition| (partition, member.member_id.as_str())));
    }
    let mut partitions: Vec<_> = committed.keys().chain(holders.keys().copied()).cloned().collect();
    partitions.sort();
    partitions.dedup();
    // Offsets outlive the topics they are of, so each topic is asked for by itself.
    let mut ends = BTreeMap::new();
    for of_topic in partitions.chunk_by(|a, b| a.topic == b.topic) {
        if let Ok(found) = positions::ends(cluster, of_topic).await {
            ends.extend(found);
        }
    }
    let rows = partitions.into_iter().map(|partition| {
        let committed = committed.get(&partition).map(|committed| committed.offset.0);
        let end = ends.get(&partition).map(|end| end.0);
        OffsetRow {
            committed,
            end,
            lag: committed.zip(end).map(|(committed, end)| (end - committed).max(0)),
            member: holders.get(&partition).map(|member| (*member).to_owned()),
            partition: partition.partition.0,
            topic: partition.topic,
        }
    });
    Ok(rows.collect())
}

fn print_description(description: &Description) -> anyhow::Result<()> {
    let Description { group, state, assignor, coordinator, members, offsets, lag } = description;
    let or_dash = |number: &Option<i64>| number.map_or("-".to_owned(), |number| number.to_string());
    let assignor = if assignor.is_empty() { String::new() } else { format!(", assignor {assignor}") };
    print_line(&format!("group {group}, {state}{assignor}, coordinator {coordinator}, lag {}", or_dash(lag)))?;
    if !members.is_empty() {
        print_line("")?;
        let columns = ["MEMBER", "INSTANCE", "CLIENT", "HOST"].map(Column::Text);
        let mut table = Table::new(&[&columns[..], &[Column::Number("PARTITIONS")]].concat());
        for row in members {
            let instance = row.instance.clone().unwrap_or_default();
            table.row([row.member.clone(), instance, row.client.clone(), row.host.clone(), row.partitions.to_string()]);
        }
        table.print()?;
    }
    if offsets.is_empty() {
        return Ok(());
    }
    print_line("")?;
    let columns = [
        Column::Text("TOPIC"),
        Column::Number("PARTITION"),
        Column::Number("COMMITTED"),
        Column::Number("END"),
        Column::Number("LAG"),
        Column::Text("MEMBER"),
    ];
    let mut table = Table::new(&columns);
    for row in offsets {
        table.row([
            row.topic.clone(),
            row.partition.to_string(),
            or_dash(&row.committed),
            or_dash(&row.end),
            or_dash(&row.lag),
            row.member.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table.print()
}

#[derive(Serialize)]
struct Outcome {
    group: String,
    outcome: &'static str,
}

async fn delete(session: &Session, cluster: &mut Cluster, groups: Vec<String>) -> anyhow::Result<()> {
    let mut outcomes = Vec::new();
    for group in groups {
        cluster.delete_group(&group).await?;
        outcomes.push(Outcome { group, outcome: "deleted" });
    }
    if session.is_json {
        return print_json(&outcomes);
    }
    outcomes.iter().try_for_each(|row| print_line(&format!("{}: {}", row.group, row.outcome)))
}
