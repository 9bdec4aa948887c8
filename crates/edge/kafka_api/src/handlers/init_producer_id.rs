//! InitProducerId: an id with which a producer's batches are written once, however often it sends them (KIP-98); and, for a
//! transactional id, the only producer it has from now on.

use daybook_command::{AllocateProducerId, Command, InitProducer, Outcome, ProducerIdAllocated};
use daybook_types::{ProducerEpoch, ProducerId, TransactionalId};

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::transactional;
use crate::wire::messages::{self, InitProducerIdRequest, InitProducerIdResponse};

/// From this version on a fenced producer is told so.
const FENCED_FROM: i16 = 4;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: InitProducerIdRequest) -> InitProducerIdResponse {
    match init(broker, request).await {
        Ok(told) => InitProducerIdResponse::default()
            .with_producer_id(messages::ProducerId(told.id.0))
            .with_producer_epoch(told.epoch.0),
        Err(error) => {
            let error = transactional::fenced_since(FENCED_FROM, caller.version)(error);
            InitProducerIdResponse::default()
                .with_error_code(error_code::code(Some(error)))
                .with_producer_id(messages::ProducerId(-1))
                .with_producer_epoch(-1)
        }
    }
}

async fn init(broker: &Broker, request: InitProducerIdRequest) -> Result<ProducerIdAllocated, ErrorCode> {
    if (request.producer_id.0 == -1) != (request.producer_epoch == -1) {
        return Err(ErrorCode::InvalidRequest);
    }
    let Some(transactional_id) = request.transactional_id else {
        // A producer that already has an id gets another all the same, as in Kafka: only transactions need the old one bumped.
        return match broker.apply(Command::AllocateProducerId(AllocateProducerId)).await {
            Ok(Outcome::AllocateProducerId(allocated)) => Ok(allocated),
            Ok(_) => Err(ErrorCode::UnknownServerError),
            Err(error) => Err(error_code::of_propose_to_coordinator(&error)),
        };
    };
    if transactional_id.0.is_empty() {
        return Err(ErrorCode::InvalidRequest);
    }
    let timeout_ms = request.transaction_timeout_ms;
    if timeout_ms <= 0 || timeout_ms > broker.options.transaction_timeout_max_ms {
        return Err(ErrorCode::InvalidTransactionTimeout);
    }
    let expected = (request.producer_id.0 != -1)
        .then_some((ProducerId(request.producer_id.0), ProducerEpoch(request.producer_epoch)));
    let command = InitProducer { transactional_id: TransactionalId::new(&transactional_id.0), timeout_ms, expected };
    transactional::apply(broker, Command::InitProducer(command), |outcome| match outcome {
        Outcome::InitProducer(result) => Some(result),
        _ => None,
    })
    .await
}
