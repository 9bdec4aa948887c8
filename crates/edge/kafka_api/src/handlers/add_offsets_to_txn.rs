//! AddOffsetsToTxn: a group whose offsets a producer is about to commit in its transaction.

use daybook_command::{AddToTransaction, Command, Outcome};
use daybook_types::GroupId;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::transactional;
use crate::wire::messages::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};

const FENCED_FROM: i16 = 2;

pub(super) async fn handle(
    broker: &Broker,
    caller: &Caller,
    request: AddOffsetsToTxnRequest,
) -> AddOffsetsToTxnResponse {
    let producer = transactional::producer(&request.transactional_id, request.producer_id, request.producer_epoch);
    let result = if request.transactional_id.0.is_empty() {
        Err(ErrorCode::InvalidRequest)
    } else {
        let groups = vec![GroupId::new(&request.group_id.0)];
        let command = AddToTransaction { producer, partitions: Vec::new(), groups };
        transactional::apply(broker, Command::AddToTransaction(command), |outcome| match outcome {
            Outcome::AddToTransaction(result) => Some(result),
            _ => None,
        })
        .await
    };
    let error = result.err().map(transactional::fenced_since(FENCED_FROM, caller.version));
    AddOffsetsToTxnResponse::default().with_error_code(error_code::code(error))
}
