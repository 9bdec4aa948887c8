//! DescribeShareGroupOffsets: how far share groups have come. Written by hand: version 1, which adds the lag, is not the library's.

use bytes::{BufMut, Bytes, BytesMut};
use daybook_share_coordinator::{KeptOffset, ShareError};
use daybook_types::PartitionId;
use uuid::Uuid;

use super::member_ref::group_id;
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::DescribeShareGroupOffsetsRequest;
use crate::wire::messages::describe_share_group_offsets_request::DescribeShareGroupOffsetsRequestGroup;
use crate::wire::{Writer, uuid};

const LAG_FROM: i16 = 1;
/// A partition in which the group has kept nothing.
const NOT_STARTED: i64 = -1;

struct Topic {
    name: String,
    id: Uuid,
    partitions: Vec<Partition>,
}

struct Partition {
    index: i32,
    start: i64,
    lag: i64,
    error: Option<ErrorCode>,
}

pub(super) fn answer(
    broker: &Broker,
    caller: &Caller,
    correlation_id: i32,
    request: &DescribeShareGroupOffsetsRequest,
) -> Bytes {
    let mut out = Writer::new(true);
    out.i32(correlation_id);
    out.no_tags();
    out.i32(0); // throttle time
    out.length(request.groups.len());
    for asked in &request.groups {
        out.text(&asked.group_id.0);
        let (topics, error) = match topics(broker, asked) {
            Ok(topics) => (topics, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        out.length(topics.len());
        let leader_epoch = broker.reader.leader_epoch().0;
        topics.iter().for_each(|topic| write(&mut out, caller.version, leader_epoch, topic));
        out.i16(error_code::code(error.as_ref().map(error_code::of_share)));
        match error {
            Some(error) => out.text(&error.to_string()),
            None => out.null_list(),
        }
        out.no_tags();
    }
    out.no_tags();
    let body = out.split();
    let mut whole = BytesMut::with_capacity(4 + body.len());
    whole.put_i32(i32::try_from(body.len()).unwrap_or(i32::MAX));
    whole.extend_from_slice(&body);
    whole.freeze()
}

fn topics(broker: &Broker, asked: &DescribeShareGroupOffsetsRequestGroup) -> Result<Vec<Topic>, ShareError> {
    let kept = broker.share.offsets(&group_id(&asked.group_id))?;
    let catalog = broker.reader.catalog();
    let Some(names) = &asked.topics else {
        let of_topic = |of_topic: &[KeptOffset]| {
            let topic = catalog.topic_by_id(of_topic.first()?.partition.topic)?;
            let partitions = of_topic.iter().map(|kept| told(kept.partition, Some(kept))).collect();
            Some(Topic { name: topic.name.to_string(), id: uuid(topic.id), partitions })
        };
        return Ok(kept
            .chunk_by(|one, next| one.partition.topic == next.partition.topic)
            .filter_map(of_topic)
            .collect());
    };
    let one =
        |name: &crate::wire::messages::describe_share_group_offsets_request::DescribeShareGroupOffsetsRequestTopic| {
            let topic = catalog.topic(&name.topic_name.0);
            let partition = |index: &i32| match topic.and_then(|topic| topic.partition(*index)) {
                Some(id) => told(id, kept.iter().find(|kept| kept.partition == id)),
                None => Partition {
                    index: *index,
                    start: NOT_STARTED,
                    lag: -1,
                    error: Some(ErrorCode::UnknownTopicOrPartition),
                },
            };
            let partitions = name.partitions.iter().map(partition).collect();
            Topic {
                name: name.topic_name.to_string(),
                id: topic.map(|topic| uuid(topic.id)).unwrap_or_default(),
                partitions,
            }
        };
    Ok(names.iter().map(one).collect())
}

fn told(id: PartitionId, kept: Option<&KeptOffset>) -> Partition {
    let start = kept.map_or(NOT_STARTED, |kept| kept.start.0);
    Partition { index: id.index.0, start, lag: kept.and_then(|kept| kept.lag).unwrap_or(-1), error: None }
}

fn write(out: &mut Writer, version: i16, leader_epoch: i32, topic: &Topic) {
    out.text(&topic.name);
    out.uuid(topic.id);
    out.length(topic.partitions.len());
    for partition in &topic.partitions {
        out.i32(partition.index);
        out.i64(partition.start);
        out.i32(leader_epoch);
        if version >= LAG_FROM {
            out.i64(partition.lag);
        }
        out.i16(error_code::code(partition.error));
        out.null_list(); // error message
        out.no_tags();
    }
    out.no_tags();
}
