//! ListTransactions: transactional ids by state, producer, duration and pattern (KIP-664, KIP-994, KIP-1152).

use daybook_read::Transactional;
use daybook_types::{TimestampMs, TransactionalId};
use regex::{Regex, RegexBuilder};

use crate::broker::{Broker, Caller, now};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::list_transactions_response::TransactionState;
use crate::wire::messages::{self, ListTransactionsRequest, ListTransactionsResponse, ProducerId};
use crate::wire::text;

/// Kafka's names of states; of those, some are never seen here, since ending is one step.
const STATES: &[&str] = &[
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];
/// Compiled size of a pattern, so that a short one can't take much memory.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;
/// Looked at under one lock, so that writes don't wait long.
const CHUNK: usize = 1000;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: ListTransactionsRequest,
) -> ListTransactionsResponse {
    let pattern = request.transactional_id_pattern.as_deref().filter(|pattern| !pattern.is_empty());
    let Ok(pattern) = pattern.map(whole).transpose() else {
        let error = error_code::code(Some(ErrorCode::InvalidRegularExpression));
        return ListTransactionsResponse::default().with_error_code(error);
    };
    let unknown = request.state_filters.iter().filter(|state| !STATES.contains(&state.as_str())).cloned().collect();
    let now = now();
    let is_asked = |id: &TransactionalId, found: &Transactional| {
        let by_state = &request.state_filters;
        let by_producer = &request.producer_id_filters;
        (by_state.is_empty() || by_state.iter().any(|state| state.as_str() == found.phase.name()))
            && (by_producer.is_empty() || by_producer.iter().any(|producer| producer.0 == found.producer.0))
            && is_as_old_as(found, request.duration_filter, now)
            && pattern.as_ref().is_none_or(|pattern| pattern.is_match(id.as_str()))
    };
    let mut states = Vec::new();
    let mut after: Option<TransactionalId> = None;
    loop {
        let last = broker.reader.look_at_transactions(|all| {
            let mut last = None;
            for (id, found) in all.after(after.as_ref()).take(CHUNK) {
                if is_asked(id, found) {
                    states.push(state(id, found));
                }
                last = Some(id.clone());
            }
            last
        });
        if last.is_none() {
            break;
        }
        after = last;
    }
    ListTransactionsResponse::default().with_unknown_state_filters(unknown).with_transaction_states(states)
}

/// The pattern must match a whole name.
fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(PATTERN_BYTES_MAX).build()
}

/// A negative duration asks for all; any other for open transactions that have been so for longer.
fn is_as_old_as(found: &Transactional, duration_ms: i64, now: TimestampMs) -> bool {
    duration_ms < 0 || found.open().is_some_and(|open| now.0.saturating_sub(open.started.0) > duration_ms)
}

fn state(id: &TransactionalId, found: &Transactional) -> TransactionState {
    TransactionState::default()
        .with_transactional_id(messages::TransactionalId(text(id.as_str())))
        .with_producer_id(ProducerId(found.producer.0))
        .with_transaction_state(text(found.phase.name()))
}
