//! `daybook topic`.

use std::collections::BTreeMap;

use anyhow::bail;
use clap::{Args, Subcommand};
use daybook_kafka_client::{
    ClientError, Cluster, ConfigChange, ConfigEntry, ConfigOrigin, KafkaCode, NewTopic, OffsetQuery, TopicPartition,
    TopicView,
};
use daybook_types::NodeId;
use serde::Serialize;

use crate::output::{Column, Table, print_json, print_line};
use crate::session::Session;
use crate::values::Pair;

#[derive(Debug, Args)]
pub struct TopicArguments {
    #[command(subcommand)]
    command: TopicCommand,
}

#[derive(Debug, Subcommand)]
enum TopicCommand {
    /// Make a topic.
    Create(CreateArguments),
    /// List topics.
    List(ListArguments),
    /// Show a topic's partitions and configs.
    Describe(DescribeArguments),
    /// Change configs, or add partitions.
    Alter(AlterArguments),
    /// Delete topics and what is in them.
    Delete(DeleteArguments),
}

#[derive(Debug, Args)]
struct CreateArguments {
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Number of partitions; the server's default unless given.
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    /// Number of copies; the server's default unless given.
    #[arg(long, value_parser = clap::value_parser!(i16).range(1..))]
    replication: Option<i16>,
    /// Sets a config of the topic; may be repeated.
    #[arg(long = "config", value_name = "KEY=VALUE")]
    configs: Vec<Pair>,
    /// Leave a topic that exists as it is, without an error.
    #[arg(long)]
    if_not_exists: bool,
}

#[derive(Debug, Args)]
struct ListArguments {
    /// List the server's own topics too.
    #[arg(long)]
    internal: bool,
}

#[derive(Debug, Args)]
struct DescribeArguments {
    topic: String,
    /// Show the configs that have their default, too.
    #[arg(long)]
    all_configs: bool,
}

#[derive(Debug, Args)]
struct AlterArguments {
    topic: String,
    /// Number of partitions the topic shall have in all; it can only grow.
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..), required_unless_present_any = ["configs", "deletions"])]
    partitions: Option<i32>,
    /// Sets a config; may be repeated.
    #[arg(long = "config", value_name = "KEY=VALUE")]
    configs: Vec<Pair>,
    /// Gives a config its default back; may be repeated.
    #[arg(long = "delete-config", value_name = "KEY")]
    deletions: Vec<String>,
}

#[derive(Debug, Args)]
struct DeleteArguments {
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Accept that a topic doesn't exist.
    #[arg(long)]
    if_exists: bool,
}

pub async fn run(session: &Session, arguments: TopicArguments) -> anyhow::Result<()> {
    let mut cluster = session.connect().await?;
    match arguments.command {
        TopicCommand::Create(arguments) => create(session, &mut cluster, arguments).await,
        TopicCommand::List(arguments) => list(session, &mut cluster, &arguments).await,
        TopicCommand::Describe(arguments) => describe(session, &mut cluster, &arguments).await,
        TopicCommand::Alter(arguments) => alter(session, &mut cluster, arguments).await,
        TopicCommand::Delete(arguments) => delete(session, &mut cluster, arguments).await,
    }
}

/// What became of a topic.
#[derive(Serialize)]
struct Outcome {
    topic: String,
    outcome: &'static str,
}

fn print_outcomes(session: &Session, outcomes: &[Outcome]) -> anyhow::Result<()> {
    if session.is_json {
        return print_json(&outcomes);
    }
    outcomes.iter().try_for_each(|row| print_line(&format!("{}: {}", row.topic, row.outcome)))
}

/// What was done is told even when the next one failed.
fn fail_after(session: &Session, outcomes: &[Outcome], error: ClientError) -> anyhow::Result<()> {
    if !outcomes.is_empty() {
        print_outcomes(session, outcomes)?;
    }
    Err(error.into())
}

async fn create(session: &Session, cluster: &mut Cluster, arguments: CreateArguments) -> anyhow::Result<()> {
    let configs: Vec<_> = arguments.configs.into_iter().map(|pair| (pair.key, pair.value)).collect();
    let mut outcomes = Vec::new();
    for name in arguments.topics {
        let topic = NewTopic {
            name: name.clone(),
            partitions: arguments.partitions,
            replication: arguments.replication,
            configs: configs.clone(),
        };
        let outcome = match cluster.create_topic(&topic).await {
            Ok(_) => "created",
            Err(error) if arguments.if_not_exists && error.code() == Some(KafkaCode::TOPIC_ALREADY_EXISTS) => "exists",
            Err(error) => return fail_after(session, &outcomes, error),
        };
        if outcome == "created" {
            // So that whoever runs the next command finds it led, everywhere.
            wait_until_led(cluster, &name).await?;
        }
        outcomes.push(Outcome { topic: name, outcome });
    }
    print_outcomes(session, &outcomes)
}

/// A cluster learns of a new topic bit by bit: it may be unknown to the broker asked, or to its leaders, for a moment.
pub(crate) async fn wait_until_led(cluster: &mut Cluster, name: &str) -> anyhow::Result<TopicView> {
    const ATTEMPTS_MAX: usize = 100;
    for _ in 0..ATTEMPTS_MAX {
        match cluster.topic(name, false).await {
            Err(error) if error.code() == Some(KafkaCode::UNKNOWN_TOPIC_OR_PARTITION) => {}
            Err(error) => return Err(error.into()),
            Ok(topic) => {
                // Only a leader that knows it is one can answer.
                let all =
                    topic.partitions.iter().map(|p| (TopicPartition::new(name, p.partition), OffsetQuery::Latest));
                cluster.list_offsets(&all.collect()).await?;
                return Ok(topic);
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    bail!("topic {name} was made, but the server doesn't know it yet");
}

#[derive(Serialize)]
struct ListRow {
    topic: String,
    id: String,
    partitions: usize,
    replication: usize,
    internal: bool,
}

async fn list(session: &Session, cluster: &mut Cluster, arguments: &ListArguments) -> anyhow::Result<()> {
    let topics = cluster.all_topics().await?;
    let shown = topics.iter().filter(|topic| arguments.internal || !topic.is_internal);
    let rows: Vec<_> = shown
        .map(|topic| ListRow {
            topic: topic.name.clone(),
            id: topic.id.to_string(),
            partitions: topic.partitions.len(),
            replication: topic.partitions.first().map_or(0, |partition| partition.replicas.len()),
            internal: topic.is_internal,
        })
        .collect();
    if session.is_json {
        return print_json(&rows);
    }
    let mut table = Table::new(&[Column::Text("TOPIC"), Column::Number("PARTITIONS"), Column::Number("REPLICATION")]);
    for row in rows {
        table.row([row.topic, row.partitions.to_string(), row.replication.to_string()]);
    }
    table.print()
}

#[derive(Serialize)]
struct Description {
    topic: String,
    id: String,
    internal: bool,
    partitions: Vec<PartitionRow>,
    configs: Vec<ConfigRow>,
}

#[derive(Serialize)]
struct PartitionRow {
    partition: i32,
    leader: Option<u32>,
    replicas: Vec<u32>,
    in_sync: Vec<u32>,
    start_offset: i64,
    end_offset: i64,
}

#[derive(Serialize)]
struct ConfigRow {
    name: String,
    value: Option<String>,
    source: &'static str,
}

async fn describe(session: &Session, cluster: &mut Cluster, arguments: &DescribeArguments) -> anyhow::Result<()> {
    let topic = cluster.topic(&arguments.topic, false).await?;
    let partitions = partition_rows(cluster, &topic).await?;
    let configs = cluster.topic_configs(&topic.name).await?;
    let is_shown =
        |config: &ConfigEntry| arguments.all_configs || session.is_json || config.origin == ConfigOrigin::Topic;
    let configs = configs.into_iter().filter(is_shown).map(config_row).collect();
    let description =
        Description { topic: topic.name, id: topic.id.to_string(), internal: topic.is_internal, partitions, configs };
    if session.is_json { print_json(&description) } else { print_description(&description) }
}

async fn partition_rows(cluster: &mut Cluster, topic: &TopicView) -> anyhow::Result<Vec<PartitionRow>> {
    let asked = |query: OffsetQuery| -> BTreeMap<TopicPartition, OffsetQuery> {
        topic.partitions.iter().map(|p| (TopicPartition::new(&topic.name, p.partition), query)).collect()
    };
    let starts = cluster.list_offsets(&asked(OffsetQuery::Earliest)).await?;
    let ends = cluster.list_offsets(&asked(OffsetQuery::Latest)).await?;
    let numbers = |nodes: &[NodeId]| nodes.iter().map(|node| node.0).collect();
    let rows = topic.partitions.iter().map(|p| {
        let partition = TopicPartition::new(&topic.name, p.partition);
        let offset = |found: &BTreeMap<TopicPartition, daybook_kafka_client::FoundOffset>| {
            found.get(&partition).and_then(|found| found.offset).map_or(-1, |offset| offset.0)
        };
        PartitionRow {
            partition: p.partition.0,
            leader: p.leader.map(|node| node.0),
            replicas: numbers(&p.replicas),
            in_sync: numbers(&p.in_sync),
            start_offset: offset(&starts),
            end_offset: offset(&ends),
        }
    });
    Ok(rows.collect())
}

fn config_row(config: ConfigEntry) -> ConfigRow {
    let source = match config.origin {
        ConfigOrigin::Topic => "topic",
        ConfigOrigin::Broker => "broker",
        ConfigOrigin::Default => "default",
        ConfigOrigin::Unknown => "unknown",
    };
    ConfigRow { name: config.name, value: config.value, source }
}

fn print_description(description: &Description) -> anyhow::Result<()> {
    let Description { topic, id, partitions, configs, .. } = description;
    print_line(&format!("topic {topic}, id {id}, {} partitions\n", partitions.len()))?;
    let columns = [
        Column::Number("PARTITION"),
        Column::Number("LEADER"),
        Column::Text("REPLICAS"),
        Column::Text("IN SYNC"),
        Column::Number("START"),
        Column::Number("END"),
    ];
    let list = |nodes: &[u32]| nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut table = Table::new(&columns);
    for row in partitions {
        table.row([
            row.partition.to_string(),
            row.leader.map_or("none".to_owned(), |leader| leader.to_string()),
            list(&row.replicas),
            list(&row.in_sync),
            row.start_offset.to_string(),
            row.end_offset.to_string(),
        ]);
    }
    table.print()?;
    if configs.is_empty() {
        return Ok(());
    }
    print_line("")?;
    let mut table = Table::new(&[Column::Text("CONFIG"), Column::Text("VALUE"), Column::Text("SOURCE")]);
    for row in configs {
        table.row([row.name.clone(), row.value.clone().unwrap_or_default(), row.source.to_owned()]);
    }
    table.print()
}

async fn alter(session: &Session, cluster: &mut Cluster, arguments: AlterArguments) -> anyhow::Result<()> {
    let AlterArguments { topic, partitions, configs, deletions } = arguments;
    let sets = configs.into_iter().map(|pair| ConfigChange::Set { name: pair.key, value: pair.value });
    let changes: Vec<_> = sets.chain(deletions.into_iter().map(|name| ConfigChange::Delete { name })).collect();
    if !changes.is_empty() {
        cluster.alter_topic_configs(&topic, &changes).await?;
    }
    if let Some(count) = partitions {
        cluster.create_partitions(&topic, count).await?;
    }
    print_outcomes(session, &[Outcome { topic, outcome: "altered" }])
}

async fn delete(session: &Session, cluster: &mut Cluster, arguments: DeleteArguments) -> anyhow::Result<()> {
    let mut outcomes = Vec::new();
    for topic in arguments.topics {
        let outcome = match cluster.delete_topic(&topic).await {
            Ok(()) => "deleted",
            Err(error) if arguments.if_exists && error.code() == Some(KafkaCode::UNKNOWN_TOPIC_OR_PARTITION) => {
                "does not exist"
            }
            Err(error) => return fail_after(session, &outcomes, error),
        };
        outcomes.push(Outcome { topic, outcome });
    }
    print_outcomes(session, &outcomes)
}
