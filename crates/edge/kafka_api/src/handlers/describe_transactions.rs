//! DescribeTransactions: the state of transactional ids by name (KIP-664).

use std::collections::BTreeMap;

use daybook_catalog::Catalog;
use daybook_read::Transactional;
use daybook_types::TransactionalId;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::describe_transactions_response::{TopicData, TransactionState};
use crate::wire::messages::{self, DescribeTransactionsRequest, DescribeTransactionsResponse, ProducerId, TopicName};
use crate::wire::text;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: DescribeTransactionsRequest,
) -> DescribeTransactionsResponse {
    let catalog = broker.reader.catalog();
    let mut asked = request.transactional_ids;
    // Each is told once: an answer can't be made larger by asking for it again.
    asked.sort();
    asked.dedup();
    let states = asked.into_iter().map(|id| {
        let found = broker.reader.look_at_transactions(|all| all.get(&TransactionalId::new(&id.0)).cloned());
        state(&catalog, &id, found).with_transactional_id(id)
    });
    DescribeTransactionsResponse::default().with_transaction_states(states.collect())
}

fn state(catalog: &Catalog, id: &messages::TransactionalId, found: Option<Transactional>) -> TransactionState {
    let Some(found) = found else {
        let error = if id.0.is_empty() { ErrorCode::InvalidRequest } else { ErrorCode::TransactionalIdNotFound };
        return TransactionState::default().with_error_code(error_code::code(Some(error)));
    };
    TransactionState::default()
        .with_transaction_state(text(found.phase.name()))
        .with_transaction_timeout_ms(found.timeout_ms)
        .with_transaction_start_time_ms(found.open().map_or(-1, |open| open.started.0))
        .with_producer_id(ProducerId(found.producer.0))
        .with_producer_epoch(found.epoch.0)
        .with_topics(topics(catalog, &found))
}

fn topics(catalog: &Catalog, found: &Transactional) -> Vec<TopicData> {
    let mut by_topic: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for partition in found.open().into_iter().flat_map(|open| &open.partitions) {
        // A topic may have been deleted since.
        if let Some(topic) = catalog.topic_by_id(partition.topic) {
            by_topic.entry(topic.name.to_string()).or_default().push(partition.index.0);
        }
    }
    let topic = |(name, partitions)| {
        TopicData::default().with_topic(TopicName(text(name as String))).with_partitions(partitions)
    };
    by_topic.into_iter().map(topic).collect()
}
