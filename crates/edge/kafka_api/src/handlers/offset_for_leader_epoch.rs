//! OffsetForLeaderEpoch (KIP-320): where a leader's records ended, for clients that look whether their position was cut off.
//!
//! Nothing is ever cut off here: an offset exists only once it is committed. So a position that any earlier leader gave out is good up
//! to the log's end, which is what is told for every epoch up to now.

use daybook_catalog::Catalog;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode, check_leader_epoch};
use crate::wire::StrBytes;
use crate::wire::messages::offset_for_leader_epoch_request::OffsetForLeaderPartition;
use crate::wire::messages::offset_for_leader_epoch_response::{EpochEndOffset, OffsetForLeaderTopicResult};
use crate::wire::messages::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

/// Epoch and end offset where there is none.
const UNDEFINED: i32 = -1;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse {
    let catalog = broker.reader.catalog();
    let topics = request.topics.into_iter().map(|topic| {
        let partition = |asked: &OffsetForLeaderPartition| {
            let found = end(broker, &catalog, &topic.topic.0, asked);
            let (leader_epoch, end_offset) = found.unwrap_or((UNDEFINED, UNDEFINED.into()));
            EpochEndOffset::default()
                .with_error_code(error_code::code(found.err()))
                .with_partition(asked.partition)
                .with_leader_epoch(leader_epoch)
                .with_end_offset(end_offset)
        };
        let partitions = topic.partitions.iter().map(partition).collect();
        OffsetForLeaderTopicResult::default().with_partitions(partitions).with_topic(topic.topic)
    });
    OffsetForLeaderEpochResponse::default().with_topics(topics.collect())
}

fn end(
    broker: &Broker,
    catalog: &Catalog,
    topic: &StrBytes,
    asked: &OffsetForLeaderPartition,
) -> Result<(i32, i64), ErrorCode> {
    let partition = catalog.topic(topic).and_then(|topic| topic.partition(asked.partition));
    let ends = partition.and_then(|partition| broker.reader.partition(partition));
    let ends = ends.ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let current = broker.reader.leader_epoch();
    check_leader_epoch(asked.current_leader_epoch, current)?;
    match asked.leader_epoch {
        epoch if (0..=current.0).contains(&epoch) => Ok((epoch, ends.end_offset.0)),
        _ => Ok((UNDEFINED, UNDEFINED.into())),
    }
}
