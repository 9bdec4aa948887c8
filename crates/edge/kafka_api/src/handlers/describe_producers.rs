//! DescribeProducers: who wrote to a partition, and whose transactions are open there (KIP-664).

use daybook_types::Offset;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::topic_ref::TopicRef;
use crate::wire::messages::describe_producers_response::{PartitionResponse, ProducerState, TopicResponse};
use crate::wire::messages::{DescribeProducersRequest, DescribeProducersResponse, ProducerId, TopicName};
use crate::wire::text;

const NO_SEQUENCE: i32 = -1;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: DescribeProducersRequest,
) -> DescribeProducersResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partition = |index: &i32| {
            match producers(broker, &topic.name, *index) {
                Ok(producers) => PartitionResponse::default().with_active_producers(producers),
                Err(error) => PartitionResponse::default()
                    .with_error_code(error_code::code(Some(error)))
                    .with_error_message(Some(text("this server has no such partition"))),
            }
            .with_partition_index(*index)
        };
        let partitions = topic.partition_indexes.iter().map(partition).collect();
        TopicResponse::default().with_name(topic.name).with_partitions(partitions)
    });
    DescribeProducersResponse::default().with_topics(topics.collect())
}

fn producers(broker: &Broker, topic: &TopicName, index: i32) -> Result<Vec<ProducerState>, ErrorCode> {
    let catalog = broker.reader.catalog();
    let topic = TopicRef::Name(topic.0.clone()).find(&catalog)?;
    let partition = topic.partition(index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let found = broker.reader.producers(partition).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let coordinator_epoch = broker.reader.leader_epoch().0;
    let state = |(id, window): (daybook_types::ProducerId, daybook_read::ProducerWindow)| {
        ProducerState::default()
            .with_producer_id(ProducerId(id.0))
            .with_producer_epoch(window.epoch().0.into())
            .with_last_sequence(window.last_sequence().unwrap_or(NO_SEQUENCE))
            .with_last_timestamp(window.last_time.0)
            .with_coordinator_epoch(coordinator_epoch)
            .with_current_txn_start_offset(window.open_from().unwrap_or(Offset::NONE).0)
    };
    Ok(found.into_iter().map(state).collect())
}
