//! Produce: batches are checked here and handed to the log; the answer comes when they are applied.
//!
//! All partitions of a request go in one proposal, so they stand in one entry. A partition that is refused at the door doesn't keep
//! the others out, as in Kafka.

mod check;

use daybook_command::{
    AppendBatch, AppendRefusal, AppendToTransaction, Appended, Applied, Command, Outcome, Pending, ProposeError,
    TransactionRefusal,
};
use daybook_types::TransactionalId;
use uuid::Uuid;

use crate::answer::Answer;
use crate::broker::{Broker, Caller, now};
use crate::error_code::{self, ErrorCode};
use crate::frame::Head;
use crate::handlers::RequestError;
use crate::handlers::produce::check::{Refusal, check};
use crate::session::End;
use crate::topic_ref::TopicRef;
use crate::wire::messages::produce_response::{
    BatchIndexAndErrorMessage, PartitionProduceResponse, TopicProduceResponse,
};
use crate::wire::messages::{ProduceRequest, ProduceResponse, TopicName};
use crate::wire::{self, text};

/// From this version on topics are named by id (KIP-516).
const BY_ID_FROM: i16 = 13;
/// From this version on errors come with a text, and with the records at fault (KIP-467).
const RECORD_ERRORS_FROM: i16 = 8;
/// From this version on a batch adds its partition to the transaction (KIP-890).
const JOINS_FROM: i16 = 12;
/// From this version on TRANSACTION_ABORTABLE is known; before it INVALID_TXN_STATE says as much.
const ABORTABLE_FROM: i16 = 11;

/// A request that was handed to the log, and the form of its answer.
pub(crate) struct Waiting {
    acks: i16,
    topics: Vec<TopicSlots>,
    proposal: Proposal,
}

enum Proposal {
    /// Nothing of the request is worth one.
    None,
    Pending(Pending),
    Refused(ProposeError),
}

struct TopicSlots {
    name: TopicName,
    id: Uuid,
    partitions: Vec<Slot>,
}

struct Slot {
    index: i32,
    /// The commands stand in the order of those that weren't refused.
    refusal: Option<Refusal>,
}

/// A request whose every partition has its outcome.
pub(crate) struct Produced {
    acks: i16,
    topics: Vec<TopicSlots>,
    applied: Result<Applied, ProposeError>,
}

/// Checks a request. The commands, if any, are to be proposed, and [`Waiting::proposed`] told of it.
pub(crate) fn begin(broker: &Broker, caller: &Caller, request: ProduceRequest) -> (Vec<Command>, Waiting) {
    let catalog = broker.reader.catalog();
    let acks_refusal = (!matches!(request.acks, -1..=1)).then_some(ErrorCode::InvalidRequiredAcks);
    let now = now();
    let transactional_id = request.transactional_id.as_ref().map(|id| TransactionalId::new(&id.0));
    let joins = caller.version >= JOINS_FROM;
    let mut commands = Vec::new();
    let mut topics = Vec::with_capacity(request.topic_data.len());
    for asked in request.topic_data {
        let named = if caller.version >= BY_ID_FROM {
            TopicRef::Id(asked.topic_id)
        } else {
            TopicRef::Name(asked.name.0.clone())
        };
        let topic = named.find(&catalog);
        let mut partitions = Vec::with_capacity(asked.partition_data.len());
        for data in asked.partition_data {
            let checked = match (acks_refusal, &topic) {
                (Some(error), _) => Err(error.into()),
                (None, Err(error)) => Err((*error).into()),
                (None, Ok(topic)) => {
                    topic.partition(data.index).ok_or_else(|| ErrorCode::UnknownTopicOrPartition.into()).and_then(
                        |partition| check(topic, data.records, caller.version, now).map(|batch| (partition, batch)),
                    )
                }
            };
            let refusal = match checked {
                Ok((partition, (batch, false))) => {
                    commands.push(Command::AppendBatch(AppendBatch { partition, batch }));
                    None
                }
                Ok((partition, (batch, true))) => match transactional_id.clone() {
                    Some(transactional_id) => {
                        let append = AppendToTransaction { transactional_id, partition, joins, batch };
                        commands.push(Command::AppendToTransaction(append));
                        None
                    }
                    None => {
                        let refusal = TransactionRefusal::NoTransactionalId;
                        Some(Refusal::new(error_code::of_transaction(&refusal), refusal.to_string()))
                    }
                },
                Err(refusal) => Some(refusal),
            };
            partitions.push(Slot { index: data.index, refusal });
        }
        topics.push(TopicSlots { name: asked.name, id: asked.topic_id, partitions });
    }
    (commands, Waiting { acks: request.acks, topics, proposal: Proposal::None })
}

impl Waiting {
    pub fn proposed(&mut self, proposed: Result<Pending, ProposeError>) {
        self.proposal = match proposed {
            Ok(pending) => Proposal::Pending(pending),
            Err(error) => Proposal::Refused(error),
        };
    }

    /// What became of the request. To be asked until it answers once; nothing is lost if the future is dropped before.
    pub async fn outcome(&mut self) -> Produced {
        let applied = match &mut self.proposal {
            Proposal::None => None,
            Proposal::Pending(pending) => Some(pending.await),
            Proposal::Refused(error) => Some(Err(error.clone())),
        };
        let nothing = Applied { lsn: Default::default(), stage: daybook_command::Stage::Applied, outcomes: Vec::new() };
        Produced { acks: self.acks, topics: std::mem::take(&mut self.topics), applied: applied.unwrap_or(Ok(nothing)) }
    }
}

/// The answer; none where the producer asked for none and nothing went wrong.
pub(crate) fn answer(head: &Head, produced: Produced, throttle_ms: u32) -> Result<Option<Answer>, End> {
    let Produced { acks, topics, applied } = produced;
    let version = head.version;
    let mut outcomes = applied.map(|applied| applied.outcomes.into_iter());
    let mut first_error = None;
    let mut responses = Vec::with_capacity(topics.len());
    for topic in topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for slot in topic.partitions {
            let result = match (slot.refusal, &mut outcomes) {
                (Some(refusal), _) => Err(refusal),
                (None, Ok(outcomes)) => appended(version, outcomes.next()),
                (None, Err(error)) => Err(Refusal::new(error_code::of_propose(error), error.to_string())),
            };
            if let Err(refusal) = &result {
                first_error.get_or_insert(refusal.error);
            }
            partitions.push(partition_response(version, slot.index, result));
        }
        let response = TopicProduceResponse::default().with_name(topic.name).with_topic_id(topic.id);
        responses.push(response.with_partition_responses(partitions));
    }
    match (acks, first_error) {
        (0, Some(error)) => Err(End::Unacknowledged(error)),
        (0, None) => Ok(None),
        _ => {
            let response =
                ProduceResponse::default().with_responses(responses).with_throttle_time_ms(throttle_ms as i32);
            let bytes = wire::encode(head.correlation_id, version, &response).map_err(RequestError::from)?;
            Ok(Some(bytes.into()))
        }
    }
}

fn appended(version: i16, outcome: Option<Outcome>) -> Result<Appended, Refusal> {
    match outcome {
        Some(Outcome::AppendBatch(result) | Outcome::AppendToTransaction(result)) => result.map_err(|refusal| {
            let records = match &refusal {
                AppendRefusal::WrongVersion { record, .. } => vec![*record],
                _ => Vec::new(),
            };
            let error = match error_code::of_append(&refusal) {
                ErrorCode::TransactionAbortable if version < ABORTABLE_FROM => ErrorCode::InvalidTxnState,
                error => error,
            };
            Refusal { error, message: Some(refusal.to_string()), records }
        }),
        // One outcome of its kind a command is the door's promise; were it broken, nobody could say what happened.
        _ => Err(ErrorCode::UnknownServerError.into()),
    }
}

fn partition_response(version: i16, index: i32, result: Result<Appended, Refusal>) -> PartitionProduceResponse {
    let response = PartitionProduceResponse::default().with_index(index);
    match result {
        Ok(appended) => response
            .with_base_offset(appended.base_offset.0)
            .with_log_append_time_ms(appended.log_append_time.0)
            .with_log_start_offset(appended.start_offset.0),
        Err(Refusal { error, message, records }) => {
            let response = response
                .with_error_code(error_code::code(Some(error)))
                .with_base_offset(-1)
                .with_log_append_time_ms(-1)
                .with_log_start_offset(-1);
            if version < RECORD_ERRORS_FROM {
                return response;
            }
            let message = message.map(text);
            let record_errors = records.into_iter().map(|index| {
                BatchIndexAndErrorMessage::default()
                    .with_batch_index(index)
                    .with_batch_index_error_message(message.clone())
            });
            response.with_record_errors(record_errors.collect()).with_error_message(message)
        }
    }
}
