//! DeleteRecords: partitions begin later from now on. What lies before is no longer read, and its files go.

use daybook_command::{Command, Outcome, TrimPartition};
use daybook_types::{Offset, PartitionId};

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::topic_ref::TopicRef;
use crate::wire::messages::delete_records_request::DeleteRecordsPartition;
use crate::wire::messages::delete_records_response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult};
use crate::wire::messages::{DeleteRecordsRequest, DeleteRecordsResponse, TopicName};

/// Asks for all that is there.
const HIGH_WATERMARK: i64 = -1;
/// The start that an answer names beside an error.
const INVALID_LOW_WATERMARK: i64 = -1;

pub(super) async fn handle(broker: &Broker, _caller: &Caller, request: DeleteRecordsRequest) -> DeleteRecordsResponse {
    let mut planned = Vec::new();
    for topic in &request.topics {
        for asked in &topic.partitions {
            planned.push(plan(broker, &topic.name, asked));
        }
    }
    // One proposal: all that is asked for in one request goes at one place of the log.
    let commands: Vec<Command> = planned.iter().flatten().copied().map(Command::TrimPartition).collect();
    let mut outcomes = match propose(broker, commands).await {
        Ok(outcomes) => outcomes.into_iter().map(Ok).collect::<Vec<_>>(),
        Err(error) => vec![Err(error); planned.len()],
    }
    .into_iter();
    let mut results = planned.into_iter().map(|plan| {
        plan?;
        match outcomes.next() {
            Some(Ok(Outcome::TrimPartition(Ok(start)))) => Ok(start),
            Some(Ok(Outcome::TrimPartition(Err(refusal)))) => Err(error_code::of_trim(&refusal)),
            Some(Err(error)) => Err(error),
            _ => Err(ErrorCode::UnknownServerError),
        }
    });
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let partitions = topic.partitions.iter().zip(results.by_ref()).map(|(asked, result)| {
            DeleteRecordsPartitionResult::default()
                .with_partition_index(asked.partition_index)
                .with_low_watermark(result.as_ref().map_or(INVALID_LOW_WATERMARK, |start| start.0))
                .with_error_code(error_code::code(result.err()))
        });
        let partitions = partitions.collect();
        topics.push(DeleteRecordsTopicResult::default().with_name(topic.name).with_partitions(partitions));
    }
    DeleteRecordsResponse::default().with_topics(topics)
}

fn plan(broker: &Broker, topic: &TopicName, asked: &DeleteRecordsPartition) -> Result<TrimPartition, ErrorCode> {
    let catalog = broker.reader.catalog();
    let topic = TopicRef::Name(topic.0.clone()).find(&catalog)?;
    let partition: PartitionId = topic.partition(asked.partition_index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    // Before the offset is looked at, as in Kafka; apply decides.
    if !topic.settings.cleanup_delete {
        return Err(ErrorCode::PolicyViolation);
    }
    match asked.offset {
        HIGH_WATERMARK => Ok(TrimPartition { partition, to: None }),
        to if to >= 0 => Ok(TrimPartition { partition, to: Some(Offset(to)) }),
        _ => Err(ErrorCode::OffsetOutOfRange),
    }
}

async fn propose(broker: &Broker, commands: Vec<Command>) -> Result<Vec<Outcome>, ErrorCode> {
    if commands.is_empty() {
        return Ok(Vec::new());
    }
    let applied = match broker.door.propose(commands).await {
        Ok(pending) => pending.await,
        Err(error) => Err(error),
    };
    applied.map(|applied| applied.outcomes).map_err(|error| error_code::of_propose(&error))
}
