//! ListOffsets: the offset that stands at a time, or at an end.

use std::collections::HashSet;

use daybook_read::{Isolation, ReadError, Reader};
use daybook_types::{Offset, PartitionId, TimestampMs};
use tracing::error;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::isolation;
use crate::topic_ref::TopicRef;
use crate::wire::messages::list_offsets_request::ListOffsetsPartition;
use crate::wire::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use crate::wire::messages::{ListOffsetsRequest, ListOffsetsResponse, TopicName};

/// What a negative timestamp asks for, and from which version on it may.
const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: (i64, i16) = (-3, 7);
const EARLIEST_LOCAL: (i64, i16) = (-4, 8);
const LATEST_TIERED: (i64, i16) = (-5, 9);

/// From this version on the answer names the leader epoch in which the offset was written (KIP-320).
const LEADER_EPOCH_FROM: i16 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Latest,
    Earliest,
    AtOrAfter(TimestampMs),
    MaxTimestamp,
    /// The last offset that an object store has. Nothing is tiered yet.
    LatestTiered,
}

/// -1 where there is none.
#[derive(Clone, Copy, Debug)]
struct Found {
    offset: i64,
    timestamp: i64,
    leader_epoch: i32,
}

const NOTHING: Found = Found { offset: -1, timestamp: -1, leader_epoch: -1 };

impl Found {
    /// Nothing, if it isn't before `end`, where the asker's records end.
    fn before(self, end: Offset) -> Self {
        if self.offset < end.0 { self } else { NOTHING }
    }
}

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: ListOffsetsRequest) -> ListOffsetsResponse {
    let duplicates = duplicates(&request);
    let isolation = isolation::of(request.isolation_level);
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for asked in topic.partitions {
            let found = if duplicates.contains(&(topic.name.clone(), asked.partition_index)) {
                Err(ErrorCode::InvalidRequest)
            } else {
                answer(broker, caller.version, isolation, &topic.name, &asked).await
            };
            partitions.push(response(caller.version, asked.partition_index, found));
        }
        topics.push(ListOffsetsTopicResponse::default().with_name(topic.name).with_partitions(partitions));
    }
    ListOffsetsResponse::default().with_topics(topics)
}

fn duplicates(request: &ListOffsetsRequest) -> HashSet<(TopicName, i32)> {
    let mut seen = HashSet::new();
    let mut duplicates = HashSet::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            let at = (topic.name.clone(), partition.partition_index);
            if !seen.insert(at.clone()) {
                duplicates.insert(at);
            }
        }
    }
    duplicates
}

fn response(version: i16, index: i32, found: Result<Found, ErrorCode>) -> ListOffsetsPartitionResponse {
    let Found { offset, timestamp, leader_epoch } = *found.as_ref().unwrap_or(&NOTHING);
    let response = ListOffsetsPartitionResponse::default()
        .with_partition_index(index)
        .with_error_code(error_code::code(found.err()))
        .with_offset(offset)
        .with_timestamp(timestamp);
    if version >= LEADER_EPOCH_FROM { response.with_leader_epoch(leader_epoch) } else { response }
}

async fn answer(
    broker: &Broker,
    version: i16,
    isolation: Isolation,
    topic: &TopicName,
    asked: &ListOffsetsPartition,
) -> Result<Found, ErrorCode> {
    let what = what(asked.timestamp, version)?;
    let leader_epoch = broker.reader.leader_epoch();
    let partition = {
        let catalog = broker.reader.catalog();
        let topic = TopicRef::Name(topic.0.clone()).find(&catalog)?.clone();
        topic.partition(asked.partition_index).ok_or(ErrorCode::UnknownTopicOrPartition)?
    };
    error_code::check_leader_epoch(asked.current_leader_epoch, leader_epoch)?;
    let ends = broker.reader.partition(partition).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let end = match isolation {
        Isolation::Uncommitted => ends.end_offset,
        Isolation::Committed => ends.stable_offset,
    };
    let at_end = |offset: Offset| Found { offset: offset.0, timestamp: -1, leader_epoch: leader_epoch.0 };
    match what {
        Asked::Latest => Ok(at_end(end)),
        Asked::Earliest => Ok(at_end(ends.start_offset)),
        Asked::LatestTiered => Ok(NOTHING),
        // Look-ups by time may have to ask the disk.
        Asked::AtOrAfter(timestamp) => {
            let look = move |reader: &Reader| reader.offset_for_timestamp(partition, timestamp);
            look_up(broker, partition, leader_epoch.0, look).await.map(|found| found.before(end))
        }
        Asked::MaxTimestamp => {
            let look = move |reader: &Reader| reader.max_timestamp(partition);
            look_up(broker, partition, leader_epoch.0, look).await.map(|found| found.before(end))
        }
    }
}

async fn look_up(
    broker: &Broker,
    partition: PartitionId,
    leader_epoch: i32,
    how: impl FnOnce(&Reader) -> Result<Option<(Offset, TimestampMs)>, ReadError> + Send + 'static,
) -> Result<Found, ErrorCode> {
    let reader = broker.reader.clone();
    match tokio::task::spawn_blocking(move || how(&reader)).await {
        Ok(Ok(Some((offset, timestamp)))) => Ok(Found { offset: offset.0, timestamp: timestamp.0, leader_epoch }),
        Ok(Ok(None)) => Ok(NOTHING),
        Ok(Err(fault)) => {
            error!(%partition, %fault, "an offset can't be looked up");
            Err(error_code::of_read(&fault))
        }
        Err(fault) => {
            error!(%partition, %fault, "a look-up ended without a result");
            Err(ErrorCode::UnknownServerError)
        }
    }
}

fn what(timestamp: i64, version: i16) -> Result<Asked, ErrorCode> {
    let since = |(code, first_version): (i64, i16)| timestamp == code && version >= first_version;
    match timestamp {
        LATEST => Ok(Asked::Latest),
        EARLIEST => Ok(Asked::Earliest),
        _ if timestamp >= 0 => Ok(Asked::AtOrAfter(TimestampMs(timestamp))),
        _ if since(MAX_TIMESTAMP) => Ok(Asked::MaxTimestamp),
        // All that is kept is kept here.
        _ if since(EARLIEST_LOCAL) => Ok(Asked::Earliest),
        _ if since(LATEST_TIERED) => Ok(Asked::LatestTiered),
        _ => Err(ErrorCode::UnsupportedVersion),
    }
}

#[cfg(test)]
mod tests;
