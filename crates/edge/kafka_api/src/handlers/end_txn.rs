//! EndTxn: all of a transaction becomes visible at once, or none of it ever does.

use daybook_command::{Command, EndTransaction, Outcome};

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::transactional;
use crate::wire::messages::{EndTxnRequest, EndTxnResponse, ProducerId};

const FENCED_FROM: i16 = 2;
/// From this version on the producer goes on with a new epoch, which the answer tells (KIP-890).
const BUMPS_FROM: i16 = 5;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: EndTxnRequest) -> EndTxnResponse {
    if request.transactional_id.0.is_empty() {
        return EndTxnResponse::default().with_error_code(error_code::code(Some(ErrorCode::InvalidRequest)));
    }
    let bumps_epoch = caller.version >= BUMPS_FROM;
    let end = EndTransaction {
        producer: transactional::producer(&request.transactional_id, request.producer_id, request.producer_epoch),
        commits: request.committed,
        bumps_epoch,
    };
    let ended = transactional::apply(broker, Command::EndTransaction(end), |outcome| match outcome {
        Outcome::EndTransaction(result) => Some(result),
        _ => None,
    });
    match ended.await {
        Ok(told) if bumps_epoch => {
            EndTxnResponse::default().with_producer_id(ProducerId(told.id.0)).with_producer_epoch(told.epoch.0)
        }
        Ok(_) => EndTxnResponse::default(),
        Err(error) => {
            let error = transactional::fenced_since(FENCED_FROM, caller.version)(error);
            EndTxnResponse::default().with_error_code(error_code::code(Some(error)))
        }
    }
}
