//! ShareFetch: acknowledgements of what was acquired before, then records to acquire, now or when there are some.

mod encode;

use std::time::Duration;

use daybook_share_coordinator::core::{ConnectionId, SessionAsk, SessionKey};
use daybook_share_coordinator::{AcknowledgeAsk, FetchAsk, Fetched, MemberId, ShareError};
use daybook_types::{GroupId, PartitionId};
use indexmap::IndexMap;

use super::share_request::{ask, code_of, partition, who};
use crate::answer::{Answer, AnswerPiece};
use crate::broker::{Caller, SharedBroker};
use crate::error_code::{self, ErrorCode};
use crate::handlers::share_fetch::encode::{Told, encode, encode_error};
use crate::wire::messages::ShareFetchRequest;
use crate::wire::share_v2::FetchExtras;

const EPOCH_FINAL: i32 = -1;

pub(super) async fn answer(
    broker: &SharedBroker,
    caller: &Caller,
    correlation_id: i32,
    request: ShareFetchRequest,
    extras: FetchExtras,
) -> Answer {
    match handle(broker, caller, &request, extras).await {
        Ok((lock_ms, told)) => encode(broker, correlation_id, lock_ms, told),
        Err((error, message)) => encode_error(correlation_id, error, message.as_deref()),
    }
}

type Refused = (ErrorCode, Option<String>);

async fn handle(
    broker: &SharedBroker,
    caller: &Caller,
    request: &ShareFetchRequest,
    extras: FetchExtras,
) -> Result<(u64, IndexMap<PartitionId, Told>), Refused> {
    let (group, member) = who(request.group_id.as_ref(), request.member_id.as_ref()).map_err(|error| (error, None))?;
    let fetches_nothing = request.max_bytes <= 0 || request.max_records <= 0;
    if extras.renews && !fetches_nothing {
        let message = "a request that renews locks can't fetch";
        return Err((ErrorCode::InvalidRequest, Some(message.to_owned())));
    }
    let refused = |error: &ShareError| (error_code::of_share(error), Some(error.to_string()));
    let key = SessionKey { group: group.clone(), member: member.clone() };
    let partitions = broker.share.begin_fetch(&key, session_ask(caller, request)).map_err(|error| refused(&error))?;
    let settings = broker.share.group_settings(&group);
    let mut told = acknowledge(broker, &group, &member, request, extras.renews && settings.renew).await;
    if request.share_session_epoch == EPOCH_FINAL {
        broker.share.end_session(&group, &member);
    } else if !fetches_nothing {
        let fetch = FetchAsk {
            group,
            member,
            partitions,
            // What was said of acknowledgements isn't kept back until records come.
            wait_max: wait_max(broker, request, told.is_empty()),
            bytes_min: usize::try_from(request.min_bytes).unwrap_or(0).min(broker.options.fetch_bytes_max),
            bytes_max: usize::try_from(request.max_bytes).unwrap_or(0).min(broker.options.fetch_bytes_max),
            records_max: u64::try_from(request.max_records).unwrap_or(0),
            exact: extras.exact,
        };
        for fetched in broker.share.fetch(&fetch, broker.stopping.clone()).await {
            let entry = told.entry(fetched.partition).or_default();
            tell(broker, entry, fetched);
        }
    }
    Ok((settings.rules.lock_ms, told))
}

fn wait_max(broker: &SharedBroker, request: &ShareFetchRequest, may_wait: bool) -> Duration {
    if !may_wait {
        return Duration::ZERO;
    }
    Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0)).min(broker.options.fetch_wait_max)
}

fn session_ask(caller: &Caller, request: &ShareFetchRequest) -> SessionAsk {
    let wanted = request
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|asked| partition(topic.topic_id, asked.partition_index)));
    let forgotten = request
        .forgotten_topics_data
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|index| partition(topic.topic_id, *index)));
    let has_acknowledgements = request
        .topics
        .iter()
        .flat_map(|topic| &topic.partitions)
        .any(|asked| !asked.acknowledgement_batches.is_empty());
    SessionAsk {
        epoch: request.share_session_epoch,
        connection: ConnectionId(caller.connection),
        wanted: wanted.collect(),
        forgotten: forgotten.collect(),
        has_acknowledgements,
    }
}

async fn acknowledge(
    broker: &SharedBroker,
    group: &GroupId,
    member: &MemberId,
    request: &ShareFetchRequest,
    renews: bool,
) -> IndexMap<PartitionId, Told> {
    let mut told: IndexMap<PartitionId, Told> = IndexMap::new();
    let mut asks: Vec<AcknowledgeAsk> = Vec::new();
    for topic in &request.topics {
        for asked in topic.partitions.iter().filter(|asked| !asked.acknowledgement_batches.is_empty()) {
            let at = partition(topic.topic_id, asked.partition_index);
            let batches = asked.acknowledgement_batches.iter();
            let batches = batches.map(|batch| (batch.first_offset, batch.last_offset, &batch.acknowledge_types[..]));
            let asked =
                if told.contains_key(&at) { Err(error_code::repeated_share()) } else { ask(at, batches, renews) };
            let entry = told.entry(at).or_default();
            match asked {
                Ok(ask) => asks.push(ask),
                Err(error) => {
                    asks.retain(|other| other.partition != at);
                    entry.acknowledge_error = Some(code_of(broker, at, &error));
                }
            }
        }
    }
    for (at, outcome) in broker.share.acknowledge(group, member, asks).await {
        told.entry(at).or_default().acknowledge_error = outcome.err().map(|error| code_of(broker, at, &error));
    }
    told
}

fn tell(broker: &SharedBroker, told: &mut Told, fetched: Fetched) {
    told.error = fetched.outcome.err().map(|error| code_of(broker, fetched.partition, &error));
    told.bytes = fetched.bytes;
    told.pieces = fetched.pieces.into_iter().map(AnswerPiece::from).collect();
    told.acquired = fetched.acquired;
}
