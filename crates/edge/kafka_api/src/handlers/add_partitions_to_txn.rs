//! AddPartitionsToTxn: partitions that a producer is about to write to in its transaction. All of a request are added, or none.

use daybook_command::{AddToTransaction, Command, Outcome, TransactionalProducer};
use daybook_read::Reader;
use daybook_types::PartitionId;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::transactional;
use crate::topic_ref::TopicRef;
use crate::wire::messages::add_partitions_to_txn_request::{AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction};
use crate::wire::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult,
};
use crate::wire::messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};

/// From this version on it is other brokers that ask, for several transactions at once (KIP-890).
const BATCHED_FROM: i16 = 4;
const FENCED_FROM: i16 = 2;

pub(super) async fn handle(
    broker: &Broker,
    caller: &Caller,
    request: AddPartitionsToTxnRequest,
) -> AddPartitionsToTxnResponse {
    if caller.version < BATCHED_FROM {
        let id = &request.v3_and_below_transactional_id;
        let (producer_id, epoch) = (request.v3_and_below_producer_id, request.v3_and_below_producer_epoch);
        let producer = transactional::producer(id, producer_id, epoch);
        let results = add(broker, caller, producer, false, request.v3_and_below_topics).await;
        return AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(results);
    }
    let mut results = Vec::with_capacity(request.transactions.len());
    for asked in request.transactions {
        let AddPartitionsToTxnTransaction {
            transactional_id, producer_id, producer_epoch, verify_only, topics, ..
        } = asked;
        let producer = transactional::producer(&transactional_id, producer_id, producer_epoch);
        let of_topics = add(broker, caller, producer, verify_only, topics).await;
        let result = AddPartitionsToTxnResult::default().with_transactional_id(transactional_id);
        results.push(result.with_topic_results(of_topics));
    }
    AddPartitionsToTxnResponse::default().with_results_by_transaction(results)
}

async fn add(
    broker: &Broker,
    caller: &Caller,
    producer: TransactionalProducer,
    verify_only: bool,
    topics: Vec<AddPartitionsToTxnTopic>,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let found = find(broker, &topics);
    if found.iter().flatten().any(Result::is_err) {
        // None is added then; those that could have been are told that they weren't tried.
        let outcomes = found.into_iter().map(|of_topic| {
            of_topic.into_iter().map(|found| Some(found.err().unwrap_or(ErrorCode::OperationNotAttempted))).collect()
        });
        return results(topics, outcomes.collect());
    }
    let partitions: Vec<PartitionId> =
        found.iter().flatten().filter_map(|found| found.as_ref().ok()).copied().collect();
    let outcomes: Vec<Option<ErrorCode>> = if verify_only {
        verify(&broker.reader, &producer, &partitions)
    } else {
        let error = if producer.transactional_id.as_str().is_empty() {
            Some(ErrorCode::InvalidRequest)
        } else {
            let command = AddToTransaction { producer, partitions: partitions.clone(), groups: Vec::new() };
            let told = |outcome| match outcome {
                Outcome::AddToTransaction(result) => Some(result),
                _ => None,
            };
            transactional::apply(broker, Command::AddToTransaction(command), told).await.err()
        };
        let error = error.map(transactional::fenced_since(FENCED_FROM, caller.version)).map(|error| match error {
            // A topic that takes no transactions: ends the transaction, not the producer.
            ErrorCode::InvalidRecord => ErrorCode::InvalidTopicException,
            error => error,
        });
        vec![error; partitions.len()]
    };
    let mut outcomes = outcomes.into_iter();
    let by_topic = found.iter().map(|of_topic| outcomes.by_ref().take(of_topic.len()).collect()).collect();
    results(topics, by_topic)
}

fn find(broker: &Broker, topics: &[AddPartitionsToTxnTopic]) -> Vec<Vec<Result<PartitionId, ErrorCode>>> {
    let catalog = broker.reader.catalog();
    let of_topic = |asked: &AddPartitionsToTxnTopic| {
        let topic = TopicRef::Name(asked.name.0.clone()).find(&catalog);
        let of =
            |index: &i32| topic.and_then(|topic| topic.partition(*index).ok_or(ErrorCode::UnknownTopicOrPartition));
        asked.partitions.iter().map(of).collect()
    };
    topics.iter().map(of_topic).collect()
}

/// Whether each partition is part of the producer's open transaction.
fn verify(reader: &Reader, producer: &TransactionalProducer, partitions: &[PartitionId]) -> Vec<Option<ErrorCode>> {
    reader.look_at_transactions(|transactions| {
        let all = |error| vec![Some(error); partitions.len()];
        let Some(found) = transactions.get(&producer.transactional_id) else {
            return all(ErrorCode::InvalidProducerIdMapping);
        };
        if found.producer != producer.id {
            return all(ErrorCode::InvalidProducerIdMapping);
        }
        if found.epoch != producer.epoch {
            return all(ErrorCode::ProducerFenced);
        }
        let is_in = |partition| found.open().is_some_and(|open| open.partitions.contains(partition));
        let outcome = |partition| (!is_in(partition)).then_some(ErrorCode::TransactionAbortable);
        partitions.iter().map(outcome).collect()
    })
}

fn results(
    topics: Vec<AddPartitionsToTxnTopic>,
    outcomes: Vec<Vec<Option<ErrorCode>>>,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let of_topic = |(topic, outcomes): (AddPartitionsToTxnTopic, Vec<Option<ErrorCode>>)| {
        let of = |(index, error)| {
            AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(index)
                .with_partition_error_code(error_code::code(error))
        };
        let partitions = topic.partitions.into_iter().zip(outcomes).map(of).collect();
        AddPartitionsToTxnTopicResult::default().with_name(topic.name).with_results_by_partition(partitions)
    };
    topics.into_iter().zip(outcomes).map(of_topic).collect()
}
