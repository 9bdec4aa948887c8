//! What the requests of transactions share: how they name a producer, and which codes their versions know.

use daybook_command::{Command, Outcome, ProposeError, TransactionRefusal, TransactionalProducer};
use daybook_types::{ProducerEpoch, ProducerId, TransactionalId};

use crate::broker::Broker;
use crate::error_code::{self, ErrorCode};
use crate::wire::messages;

pub(super) fn producer(
    transactional_id: &messages::TransactionalId,
    id: messages::ProducerId,
    epoch: i16,
) -> TransactionalProducer {
    TransactionalProducer {
        transactional_id: TransactionalId::new(&transactional_id.0),
        id: ProducerId(id.0),
        epoch: ProducerEpoch(epoch),
    }
}

/// Writes one step of a transaction and waits until it is decided; `told` picks the answer out of the outcome.
pub(super) async fn apply<T>(
    broker: &Broker,
    command: Command,
    told: impl FnOnce(Outcome) -> Option<Result<T, TransactionRefusal>>,
) -> Result<T, ErrorCode> {
    let outcome: Result<Outcome, ProposeError> = broker.apply(command).await;
    let outcome = outcome.map_err(|error| match error {
        // It may have happened; asked again, it is answered as the first time.
        ProposeError::Unknown => ErrorCode::CoordinatorNotAvailable,
        error => error_code::of_propose_to_coordinator(&error),
    })?;
    match told(outcome) {
        Some(result) => result.map_err(|refusal| error_code::of_transaction(&refusal)),
        // One outcome of its kind a command is the door's promise; were it broken, nobody could say what happened.
        None => Err(ErrorCode::UnknownServerError),
    }
}

/// PRODUCER_FENCED came with newer versions (KIP-360): before `first_version` the code for it is the one of an old epoch.
pub(super) fn fenced_since(first_version: i16, version: i16) -> impl Fn(ErrorCode) -> ErrorCode {
    move |error| match error {
        ErrorCode::ProducerFenced if version < first_version => ErrorCode::InvalidProducerEpoch,
        error => error,
    }
}
