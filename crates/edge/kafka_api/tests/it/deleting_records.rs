//! DeleteRecords, and what a consumer and ListOffsets see of it.

use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{BrokerId, DeleteRecordsRequest, ListOffsetsRequest};

use crate::fetching::fetch_request;
use crate::harness::{Client, Node, batch, options, topic_name, values};

const OFFSET_OUT_OF_RANGE: i16 = 1;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const POLICY_VIOLATION: i16 = 44;

/// Error and start of each partition asked for.
async fn delete(client: &mut Client, version: i16, asked: &[(&'static str, i32, i64)]) -> Vec<(i16, i64)> {
    let topic = |(name, partition, offset): &(&'static str, i32, i64)| {
        let partition = DeleteRecordsPartition::default().with_partition_index(*partition).with_offset(*offset);
        DeleteRecordsTopic::default().with_name(topic_name(name)).with_partitions(vec![partition])
    };
    let request = DeleteRecordsRequest::default().with_timeout_ms(1_000).with_topics(asked.iter().map(topic).collect());
    let answer = client.call(version, &request).await;
    let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|partition| (partition.error_code, partition.low_watermark)).collect()
}

async fn offset_at(client: &mut Client, timestamp: i64) -> i64 {
    let partition = ListOffsetsPartition::default().with_current_leader_epoch(-1).with_timestamp(timestamp);
    let topic = ListOffsetsTopic::default().with_name(topic_name("t")).with_partitions(vec![partition]);
    let request = ListOffsetsRequest::default().with_replica_id(BrokerId(-1)).with_topics(vec![topic]);
    client.call(7, &request).await.topics[0].partitions[0].offset
}

async fn fetched(client: &mut Client, offset: i64) -> (i16, i64, Vec<i64>) {
    let answer = client.call(11, &fetch_request("t", &[(0, offset)])).await;
    let partition = &answer.responses[0].partitions[0];
    let offsets = values(partition.records.clone()).into_iter().map(|(offset, _)| offset).collect();
    (partition.error_code, partition.log_start_offset, offsets)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_start_moves_forward_only_and_stays_after_a_restart() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    client.create_topic("compacted", 1, &[("cleanup.policy", "compact")]).await;
    client.create_topic("both", 1, &[("cleanup.policy", "compact,delete")]).await;
    // Batches of three, so that a start can lie within one.
    for _ in 0..4 {
        client.produce("t", 0, batch(&[b"a", b"b", b"c"])).await;
    }
    for (version, to, start) in [(0, 2, 2), (1, 1, 2), (2, 4, 4)] {
        assert_eq!(delete(&mut client, version, &[("t", 0, to)]).await, [(0, start)], "version {version}");
    }
    assert_eq!(fetched(&mut client, 3).await.0, OFFSET_OUT_OF_RANGE);
    // Whole batches come; a consumer skips what lies before the offset it asked for.
    assert_eq!(fetched(&mut client, 4).await, (0, 4, (3..12).collect()));
    assert_eq!((offset_at(&mut client, -2).await, offset_at(&mut client, 0).await), (4, 4));
    assert_eq!(delete(&mut client, 2, &[("t", 0, 13)]).await, [(OFFSET_OUT_OF_RANGE, -1)]);
    assert_eq!(delete(&mut client, 2, &[("t", 0, -2)]).await, [(OFFSET_OUT_OF_RANGE, -1)]);
    let several = [("t", 1, 0), ("none", 0, 0), ("compacted", 0, 0), ("both", 0, 0), ("t", 0, 5)];
    let expected =
        [(UNKNOWN_TOPIC_OR_PARTITION, -1), (UNKNOWN_TOPIC_OR_PARTITION, -1), (POLICY_VIOLATION, -1), (0, 0), (0, 5)];
    assert_eq!(delete(&mut client, 2, &several).await, expected);
    drop(client);

    let node = node.restart(options()).await;
    let mut client = node.connect().await;
    assert_eq!(fetched(&mut client, 4).await.0, OFFSET_OUT_OF_RANGE);
    assert_eq!(fetched(&mut client, 5).await, (0, 5, (3..12).collect()));
    // All there is, and what comes then.
    assert_eq!(delete(&mut client, 2, &[("t", 0, -1)]).await, [(0, 12)]);
    assert_eq!(fetched(&mut client, 12).await, (0, 12, vec![]));
    assert_eq!((offset_at(&mut client, -2).await, offset_at(&mut client, -1).await), (12, 12));
    assert_eq!((offset_at(&mut client, 0).await, offset_at(&mut client, -3).await), (-1, -1));
    assert_eq!(client.produce("t", 0, batch(&[b"d"])).await.base_offset, 12);
    drop(client);
    let node = node.restart(options()).await;
    let mut client = node.connect().await;
    assert_eq!(fetched(&mut client, 12).await, (0, 12, vec![12]));
}
