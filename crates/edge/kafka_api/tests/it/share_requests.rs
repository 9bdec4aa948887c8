//! Samples of the requests of share groups.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::StrBytes;

use super::{TOPIC_ID, encode, group, text, topic_name};

pub fn body(api: ApiKey, version: i16) -> Bytes {
    match api {
        ApiKey::ShareGroupHeartbeat => encode(
            version,
            &ShareGroupHeartbeatRequest::default()
                .with_group_id(group())
                .with_member_id(member())
                .with_rack_id(Some(text("r1")))
                .with_subscribed_topic_names(Some(vec![topic_name()])),
        ),
        ApiKey::ShareGroupDescribe => {
            encode(version, &ShareGroupDescribeRequest::default().with_group_ids(vec![group(), group()]))
        }
        ApiKey::ShareFetch => with_extras(version, encode(1, &share_fetch()), 6 * 4, &[1, 1]),
        ApiKey::ShareAcknowledge => with_extras(version, encode(1, &share_acknowledge()), 4, &[1]),
        ApiKey::DescribeShareGroupOffsets => encode(0, &describe_offsets()),
        ApiKey::AlterShareGroupOffsets => encode(version, &alter_offsets()),
        ApiKey::DeleteShareGroupOffsets => {
            use delete_share_group_offsets_request::DeleteShareGroupOffsetsRequestTopic;
            let topic = DeleteShareGroupOffsetsRequestTopic::default().with_topic_name(topic_name());
            encode(version, &DeleteShareGroupOffsetsRequest::default().with_group_id(group()).with_topics(vec![topic]))
        }
        other => panic!("there is no sample of {other:?}"),
    }
}

fn member() -> StrBytes {
    text("member")
}

/// Version 2 of what the library knows as version 1: `extras` stand behind group, member and some integers.
fn with_extras(version: i16, body: Bytes, integers_bytes: usize, extras: &[u8]) -> Bytes {
    if version < 2 {
        return body;
    }
    let at = 1 + group().len() + 1 + member().len() + integers_bytes;
    let mut out = BytesMut::from(&body[..at]);
    out.put_slice(extras);
    out.put_slice(&body[at..]);
    out.freeze()
}

fn share_fetch() -> ShareFetchRequest {
    use share_fetch_request::{AcknowledgementBatch, FetchPartition, FetchTopic, ForgottenTopic};
    let batch = AcknowledgementBatch::default().with_first_offset(3).with_last_offset(4);
    let batches = vec![batch.clone().with_acknowledge_types(vec![1]), batch.with_acknowledge_types(vec![2, 3])];
    let partition = FetchPartition::default().with_partition_index(2).with_acknowledgement_batches(batches);
    let topic = FetchTopic::default().with_topic_id(TOPIC_ID).with_partitions(vec![partition]);
    let forgotten = ForgottenTopic::default().with_topic_id(TOPIC_ID).with_partitions(vec![5, 6]);
    ShareFetchRequest::default()
        .with_group_id(Some(group()))
        .with_member_id(Some(member()))
        .with_share_session_epoch(1)
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_max_records(500)
        .with_batch_size(500)
        .with_topics(vec![topic])
        .with_forgotten_topics_data(vec![forgotten])
}

fn share_acknowledge() -> ShareAcknowledgeRequest {
    use share_acknowledge_request::{AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch};
    let batch =
        AcknowledgementBatch::default().with_first_offset(3).with_last_offset(4).with_acknowledge_types(vec![1, 2]);
    let partition = AcknowledgePartition::default().with_acknowledgement_batches(vec![batch]);
    let topic = AcknowledgeTopic::default().with_topic_id(TOPIC_ID).with_partitions(vec![partition]);
    ShareAcknowledgeRequest::default()
        .with_group_id(Some(group()))
        .with_member_id(Some(member()))
        .with_share_session_epoch(1)
        .with_topics(vec![topic])
}

fn describe_offsets() -> DescribeShareGroupOffsetsRequest {
    use describe_share_group_offsets_request::{
        DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic,
    };
    let topic = DescribeShareGroupOffsetsRequestTopic::default().with_topic_name(topic_name()).with_partitions(vec![0]);
    let asked = DescribeShareGroupOffsetsRequestGroup::default().with_group_id(group()).with_topics(Some(vec![topic]));
    DescribeShareGroupOffsetsRequest::default().with_groups(vec![asked])
}

fn alter_offsets() -> AlterShareGroupOffsetsRequest {
    use alter_share_group_offsets_request::{
        AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
    };
    let partition = AlterShareGroupOffsetsRequestPartition::default().with_partition_index(0).with_start_offset(5);
    let topic =
        AlterShareGroupOffsetsRequestTopic::default().with_topic_name(topic_name()).with_partitions(vec![partition]);
    AlterShareGroupOffsetsRequest::default().with_group_id(group()).with_topics(vec![topic])
}
