//! Where reading starts and ends.

use std::collections::BTreeMap;

use anyhow::bail;
use daybook_kafka_client::{Cluster, OffsetQuery, TopicPartition};
use daybook_types::{Offset, PartitionIndex, TimestampMs};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    Beginning,
    End,
    At(Offset),
    /// So many records before the end.
    BeforeEnd(u64),
    Time(TimestampMs),
    /// Where the group stands, else at the beginning.
    Committed(String),
}

/// The partitions of the topic that are wanted; all when none is named.
pub async fn select(
    cluster: &mut Cluster,
    topic: &str,
    wanted: &[PartitionIndex],
) -> anyhow::Result<Vec<TopicPartition>> {
    let view = cluster.topic(topic, false).await?;
    if let Some(missing) = wanted.iter().find(|index| !view.partitions.iter().any(|p| p.partition == **index)) {
        bail!("topic {topic} has no partition {missing}, it has {}", view.partitions.len());
    }
    let is_wanted = |index: &PartitionIndex| wanted.is_empty() || wanted.contains(index);
    let partitions = view.partitions.iter().map(|p| p.partition).filter(is_wanted);
    Ok(partitions.map(|index| TopicPartition::new(topic, index)).collect())
}

pub async fn find(
    cluster: &mut Cluster,
    partitions: &[TopicPartition],
    start: &Start,
) -> anyhow::Result<BTreeMap<TopicPartition, Offset>> {
    let each = |offset: &dyn Fn(&TopicPartition) -> Offset| -> BTreeMap<_, _> {
        partitions.iter().map(|partition| (partition.clone(), offset(partition))).collect()
    };
    Ok(match start {
        Start::Beginning => at(cluster, partitions, OffsetQuery::Earliest).await?,
        Start::End => ends(cluster, partitions).await?,
        Start::At(offset) => {
            // Outside of what there is, the nearest end of it.
            let starts = at(cluster, partitions, OffsetQuery::Earliest).await?;
            let ends = ends(cluster, partitions).await?;
            each(&|partition| (*offset).max(starts[partition]).min(ends[partition]))
        }
        Start::BeforeEnd(count) => {
            let starts = at(cluster, partitions, OffsetQuery::Earliest).await?;
            let ends = ends(cluster, partitions).await?;
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            each(&|partition| Offset(ends[partition].0.saturating_sub(count)).max(starts[partition]))
        }
        // After the newest record stands none: reading starts at the end.
        Start::Time(time) => at(cluster, partitions, OffsetQuery::AtOrAfter(*time)).await?,
        Start::Committed(group) => {
            let starts = at(cluster, partitions, OffsetQuery::Earliest).await?;
            let committed = cluster.committed_offsets(group).await?;
            each(&|partition| committed.get(partition).map_or(starts[partition], |committed| committed.offset))
        }
    })
}

pub async fn ends(
    cluster: &mut Cluster,
    partitions: &[TopicPartition],
) -> anyhow::Result<BTreeMap<TopicPartition, Offset>> {
    at(cluster, partitions, OffsetQuery::Latest).await
}

/// What the query finds in each partition; where it finds nothing, the end.
pub async fn at(
    cluster: &mut Cluster,
    partitions: &[TopicPartition],
    query: OffsetQuery,
) -> anyhow::Result<BTreeMap<TopicPartition, Offset>> {
    let ask = |query: OffsetQuery| partitions.iter().map(|partition| (partition.clone(), query)).collect();
    let found = cluster.list_offsets(&ask(query)).await?;
    if found.values().all(|found| found.offset.is_some()) {
        return Ok(found.into_iter().map(|(partition, found)| (partition, found.offset.unwrap_or_default())).collect());
    }
    let ends = cluster.list_offsets(&ask(OffsetQuery::Latest)).await?;
    let or_end = |(partition, found): (TopicPartition, daybook_kafka_client::FoundOffset)| {
        let end = ends.get(&partition).and_then(|end| end.offset).unwrap_or_default();
        let offset = found.offset.unwrap_or(end);
        (partition, offset)
    };
    Ok(found.into_iter().map(or_end).collect())
}
