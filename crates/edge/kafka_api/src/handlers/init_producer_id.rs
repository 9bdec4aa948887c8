//! InitProducerId: an id with which a producer's batches are written once, however often it sends them (KIP-98).

use daybook_command::{AllocateProducerId, Command, Outcome};

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::{InitProducerIdRequest, InitProducerIdResponse, ProducerId};

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: InitProducerIdRequest,
) -> InitProducerIdResponse {
    if request.transactional_id.as_ref().is_some_and(|id| id.0.is_empty()) {
        return refuse(ErrorCode::InvalidRequest);
    }
    if request.transactional_id.is_some() {
        // The place of transactions. Kafka has no code for a broker without them; this one ends the producer at once and for good,
        // where COORDINATOR_NOT_AVAILABLE would have it ask until its time is over.
        return refuse(ErrorCode::TransactionalIdAuthorizationFailed);
    }
    if (request.producer_id.0 == -1) != (request.producer_epoch == -1) {
        return refuse(ErrorCode::InvalidRequest);
    }
    // A producer that already has an id gets another all the same, as in Kafka: only transactions need the old one bumped.
    match broker.apply(Command::AllocateProducerId(AllocateProducerId)).await {
        Ok(Outcome::AllocateProducerId(allocated)) => InitProducerIdResponse::default()
            .with_producer_id(ProducerId(allocated.id.0))
            .with_producer_epoch(allocated.epoch.0),
        Ok(_) => refuse(ErrorCode::UnknownServerError),
        Err(error) => refuse(error_code::of_propose_to_coordinator(&error)),
    }
}

fn refuse(error: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse::default()
        .with_error_code(error_code::code(Some(error)))
        .with_producer_id(ProducerId(-1))
        .with_producer_epoch(-1)
}
