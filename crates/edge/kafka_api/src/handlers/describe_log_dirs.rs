//! DescribeLogDirs: the data directory, and how many bytes each partition takes of it.

use std::collections::BTreeSet;

use daybook_catalog::Topic;

use crate::broker::{Broker, Caller};
use crate::wire::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use crate::wire::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse, TopicName};
use crate::wire::text;

/// Where a size isn't known.
const UNKNOWN: i64 = -1;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: DescribeLogDirsRequest,
) -> DescribeLogDirsResponse {
    let catalog = broker.reader.catalog();
    let topics: Vec<DescribeLogDirsTopic> = match request.topics {
        None => catalog.topics().map(|topic| described(broker, topic, 0..topic.partitions)).collect(),
        // What doesn't exist isn't told of, as in Kafka.
        Some(asked) => (asked.into_iter())
            .filter_map(|asked| {
                let topic = catalog.topic(&asked.topic.0)?;
                Some(described(broker, topic, asked.partitions.into_iter().collect::<BTreeSet<_>>()))
            })
            .filter(|topic| !topic.partitions.is_empty())
            .collect(),
    };
    let (total_bytes, usable_bytes) = space(&broker.options.log_dir);
    let directory = DescribeLogDirsResult::default()
        .with_log_dir(text(broker.options.log_dir.clone()))
        .with_topics(topics)
        .with_total_bytes(total_bytes)
        .with_usable_bytes(usable_bytes);
    DescribeLogDirsResponse::default().with_results(vec![directory])
}

fn described(broker: &Broker, topic: &Topic, indexes: impl IntoIterator<Item = i32>) -> DescribeLogDirsTopic {
    let partition = |index| {
        let bytes = broker.reader.partition_bytes(topic.partition(index)?)?;
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        Some(DescribeLogDirsPartition::default().with_partition_index(index).with_partition_size(bytes))
    };
    DescribeLogDirsTopic::default()
        .with_name(TopicName(text(topic.name.as_str())))
        .with_partitions(indexes.into_iter().filter_map(partition).collect())
}

/// Bytes of the file system, and those that are free.
fn space(directory: &str) -> (i64, i64) {
    let bytes = |blocks: u64, block_bytes: u64| i64::try_from(blocks.saturating_mul(block_bytes)).unwrap_or(i64::MAX);
    match rustix::fs::statvfs(directory) {
        Ok(found) => (bytes(found.f_blocks, found.f_frsize), bytes(found.f_bavail, found.f_frsize)),
        Err(_) => (UNKNOWN, UNKNOWN),
    }
}
