//! WriteTxnMarkers: an administrator aborts what a producer has open in a partition (KIP-664).
//!
//! Between Kafka's brokers it also commits; here ending is the log's own affair, and a transaction is ended whole or not at all.

use daybook_command::{Command, Outcome, SweepTransaction};
use daybook_types::{ProducerEpoch, ProducerId};

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::transactional;
use crate::topic_ref::TopicRef;
use crate::wire::messages::write_txn_markers_request::WritableTxnMarker;
use crate::wire::messages::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};
use crate::wire::messages::{TopicName, WriteTxnMarkersRequest, WriteTxnMarkersResponse};

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: WriteTxnMarkersRequest,
) -> WriteTxnMarkersResponse {
    let mut results = Vec::with_capacity(request.markers.len());
    for marker in request.markers {
        let mut topics = Vec::with_capacity(marker.topics.len());
        for topic in &marker.topics {
            let mut partitions = Vec::with_capacity(topic.partition_indexes.len());
            for index in &topic.partition_indexes {
                let error = abort(broker, &marker, &topic.name, *index).await.err();
                let result = WritableTxnMarkerPartitionResult::default().with_partition_index(*index);
                partitions.push(result.with_error_code(error_code::code(error)));
            }
            let result = WritableTxnMarkerTopicResult::default().with_name(topic.name.clone());
            topics.push(result.with_partitions(partitions));
        }
        results.push(WritableTxnMarkerResult::default().with_producer_id(marker.producer_id).with_topics(topics));
    }
    WriteTxnMarkersResponse::default().with_markers(results)
}

async fn abort(broker: &Broker, marker: &WritableTxnMarker, topic: &TopicName, index: i32) -> Result<(), ErrorCode> {
    if marker.transaction_result {
        return Err(ErrorCode::InvalidTxnState);
    }
    let partition = {
        let catalog = broker.reader.catalog();
        let topic = TopicRef::Name(topic.0.clone()).find(&catalog)?;
        topic.partition(index).ok_or(ErrorCode::UnknownTopicOrPartition)?
    };
    let (producer, epoch) = (ProducerId(marker.producer_id.0), ProducerEpoch(marker.producer_epoch));
    let command = Command::SweepTransaction(SweepTransaction::Hanging { partition, producer, epoch });
    let aborted = transactional::apply(broker, command, |outcome| match outcome {
        Outcome::SweepTransaction(result) => Some(result),
        _ => None,
    });
    aborted.await.map_err(|error| match error {
        ErrorCode::ProducerFenced => ErrorCode::InvalidProducerEpoch,
        error => error,
    })
}
