//! Requests of every API that is answered, in the first and the last version, empty and with something in them.

use bytes::{BufMut, Bytes, BytesMut};
use daybook_kafka_api::versions;
use daybook_record::{BatchBuilder, Compression};
use daybook_types::TimestampMs;
use kafka_protocol::messages::{
    AlterConfigsRequest, ApiVersionsRequest, CreatePartitionsRequest, CreateTopicsRequest, DeleteGroupsRequest,
    DeleteTopicsRequest, DescribeClusterRequest, DescribeConfigsRequest, DescribeGroupsRequest, FetchRequest,
    FindCoordinatorRequest, GroupId, HeartbeatRequest, IncrementalAlterConfigsRequest, InitProducerIdRequest,
    JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, ProduceRequest, SyncGroupRequest, TopicName, create_topics_request, fetch_request,
    join_group_request, metadata_request, offset_commit_request, produce_request,
};
use kafka_protocol::protocol::{Request, StrBytes};

use super::Seed;

/// A whole frame: length, header, body.
fn frame<R: Request>(request: &R, version: i16) -> Vec<u8> {
    let mut out = BytesMut::new();
    out.put_i32(0);
    out.put_i16(R::KEY);
    out.put_i16(version);
    out.put_i32(7);
    out.put_i16(4);
    out.put_slice(b"seed");
    if R::header_version(version) >= 2 {
        out.put_u8(0);
    }
    request.encode(&mut out, version).unwrap();
    let length = out.len() as i32 - 4;
    out[..4].copy_from_slice(&length.to_be_bytes());
    out.to_vec()
}

fn both_ends<R: Request + Default + PartialEq>(seeds: &mut Vec<Seed>, full: R) {
    let row = versions::find(R::KEY).unwrap();
    let name = row.name.to_ascii_lowercase();
    for version in [row.first_version, row.last_version] {
        let seed = Seed::new("kafka_request", format!("ok-{name}-v{version}"), frame(&R::default(), version));
        if seeds.iter().all(|known| known.name != seed.name) {
            seeds.push(seed);
        }
    }
    if full != R::default() {
        seeds.push(Seed::new("kafka_request", format!("ok-{name}-full"), frame(&full, row.last_version)));
    }
}

fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

fn topic() -> TopicName {
    TopicName(text("seeds"))
}

fn group() -> GroupId {
    GroupId(text("sowers"))
}

fn batch() -> Bytes {
    let mut batch = BatchBuilder::new(Compression::None);
    batch.push(TimestampMs(1), Some(b"key"), Some(b"value"), &[]);
    batch.build().unwrap()
}

pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let produced = produce_request::PartitionProduceData::default().with_records(Some(batch()));
    let produced = produce_request::TopicProduceData::default().with_name(topic()).with_partition_data(vec![produced]);
    // Written last so that its version, which has names of topics, is the one it is tried in.
    let produce = ProduceRequest::default().with_acks(-1).with_timeout_ms(1000);
    both_ends(&mut seeds, produce.clone());
    seeds.push(Seed::new("kafka_request", "ok-produce-batch", frame(&produce.with_topic_data(vec![produced]), 9)));

    let wanted = fetch_request::FetchPartition::default().with_fetch_offset(3).with_partition_max_bytes(1024);
    let wanted = fetch_request::FetchTopic::default().with_partitions(vec![wanted]);
    both_ends(&mut seeds, FetchRequest::default().with_max_wait_ms(500).with_topics(vec![wanted]));

    let asked = metadata_request::MetadataRequestTopic::default().with_name(Some(topic()));
    both_ends(&mut seeds, MetadataRequest::default().with_topics(Some(vec![asked])));

    let config = create_topics_request::CreatableTopicConfig::default()
        .with_name(text("retention.ms"))
        .with_value(Some(text("1000")));
    let made = create_topics_request::CreatableTopic::default()
        .with_name(topic())
        .with_num_partitions(3)
        .with_replication_factor(1)
        .with_configs(vec![config]);
    both_ends(&mut seeds, CreateTopicsRequest::default().with_topics(vec![made]));

    let protocol = join_group_request::JoinGroupRequestProtocol::default()
        .with_name(text("range"))
        .with_metadata(Bytes::from_static(&[0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]));
    let join = JoinGroupRequest::default()
        .with_group_id(group())
        .with_session_timeout_ms(6000)
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol]);
    both_ends(&mut seeds, join);

    let committed = offset_commit_request::OffsetCommitRequestPartition::default()
        .with_committed_offset(5)
        .with_committed_metadata(Some(text("five")));
    let committed =
        offset_commit_request::OffsetCommitRequestTopic::default().with_name(topic()).with_partitions(vec![committed]);
    both_ends(&mut seeds, OffsetCommitRequest::default().with_group_id(group()).with_topics(vec![committed]));

    both_ends(&mut seeds, ApiVersionsRequest::default().with_client_software_name(text("seed")));
    both_ends(&mut seeds, ListOffsetsRequest::default());
    both_ends(&mut seeds, OffsetFetchRequest::default());
    both_ends(&mut seeds, FindCoordinatorRequest::default());
    both_ends(&mut seeds, HeartbeatRequest::default().with_group_id(group()));
    both_ends(&mut seeds, LeaveGroupRequest::default().with_group_id(group()));
    both_ends(&mut seeds, SyncGroupRequest::default().with_group_id(group()));
    both_ends(&mut seeds, DescribeGroupsRequest::default().with_groups(vec![group()]));
    both_ends(&mut seeds, ListGroupsRequest::default());
    both_ends(&mut seeds, DeleteGroupsRequest::default().with_groups_names(vec![group()]));
    both_ends(&mut seeds, DeleteTopicsRequest::default());
    both_ends(&mut seeds, InitProducerIdRequest::default());
    both_ends(&mut seeds, DescribeConfigsRequest::default());
    both_ends(&mut seeds, AlterConfigsRequest::default());
    both_ends(&mut seeds, IncrementalAlterConfigsRequest::default());
    both_ends(&mut seeds, CreatePartitionsRequest::default());
    both_ends(&mut seeds, DescribeClusterRequest::default());

    let metadata = frame(&MetadataRequest::default(), 12);
    seeds.push(Seed::new("kafka_request", "bad-cut-short", &metadata[..metadata.len() - 1]));
    seeds.push(Seed::new("kafka_request", "bad-http", "GET / HTTP/1.1\r\n\r\n"));
    // A list that claims to have two thousand million items.
    let mut huge = frame(&DescribeGroupsRequest::default(), 0);
    let end = huge.len();
    huge[end - 4..].copy_from_slice(&i32::MAX.to_be_bytes());
    seeds.push(Seed::new("kafka_request", "bad-huge-list", huge));
    seeds
}
