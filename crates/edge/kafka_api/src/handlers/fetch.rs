//! Fetch: records from many partitions, now or when there are some.
//!
//! The answer holds what the reader holds: buffers and file ranges. Only the bytes between them are written here.

mod encode;
mod gather;

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::answer::Answer;
use crate::broker::{Broker, Caller, SharedBroker};
use crate::busy::{Handled, busy};
use crate::fetch_session::{Ask, Fetching, Found, Wanted};
use crate::handlers::fetch::encode::{Told, encode, encode_error, encode_throttled};
use crate::handlers::fetch::gather::{Gathered, Limits, Target, gather, targets};
use crate::isolation;
use crate::quota::Measure;
use crate::topic_ref::{PartitionRef, TopicRef};
use crate::wire::messages::FetchRequest;
use crate::wire::{StrBytes, text};

/// From this version on topics are named by id (KIP-516).
const BY_ID_FROM: i16 = 13;
/// More than any topic's name has.
const NAME_BYTES_MAX: usize = 256;
pub(super) async fn answer(
    broker: &SharedBroker,
    caller: &Caller,
    correlation_id: i32,
    request: FetchRequest,
) -> Answer {
    let version = caller.version;
    let window_max = broker.quotas.window_max(&broker.reader.catalog(), Measure::Fetch, &caller.client_id);
    let limits = Limits {
        bytes_max: usize::try_from(request.max_bytes)
            .unwrap_or(0)
            .min(broker.options.fetch_bytes_max)
            .min(window_max.unwrap_or(usize::MAX)),
        leader_epoch: broker.reader.leader_epoch(),
        isolation: isolation::of(request.isolation_level),
    };
    let bytes_min = usize::try_from(request.min_bytes).unwrap_or(0).min(limits.bytes_max);
    let wait_max =
        Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0)).min(broker.options.fetch_wait_max);
    let fetching = match broker.fetch_sessions.begin(ask(version, request), broker.monotonic_ms()) {
        Ok(fetching) => fetching,
        Err(error) => return encode_error(version, correlation_id, error),
    };
    let targets = targets(&broker.reader.catalog(), &limits, &fetching.partitions);
    let Handled { output: gathered, busy } = busy(wait_for_records(broker, targets, limits, bytes_min, wait_max)).await;
    let throttle_ms = throttle(broker, caller, gathered.iter().map(|gathered| gathered.bytes).sum(), busy);
    if throttle_ms > 0 {
        // The records go another time, as in Kafka: a session stays as it was told of, and no new one begins.
        return match broker.fetch_sessions.unchanged(&fetching) {
            Ok(session_id) => encode_throttled(version, correlation_id, throttle_ms, session_id),
            Err(error) => encode_error(version, correlation_id, error),
        };
    }
    let found: Vec<Found> = gathered.iter().map(Gathered::found).collect();
    let new_id = || rand::random_range(1..=i32::MAX);
    match broker.fetch_sessions.finish(&fetching, &found, broker.monotonic_ms(), new_id) {
        Ok(reply) => {
            let Fetching { partitions, .. } = &fetching;
            let told = partitions.iter().zip(gathered).zip(&reply.told).filter(|(_, told)| **told);
            let told = told.map(|((partition, gathered), _)| Told { at: &partition.0, gathered }).collect();
            encode(broker, version, correlation_id, reply.session_id, told)
        }
        Err(error) => encode_error(version, correlation_id, error),
    }
}

/// Notes what the client gets, and how long it took: how long it has to wait. If it has to, it gets nothing, which isn't counted.
fn throttle(broker: &Broker, caller: &Caller, bytes: usize, busy: Duration) -> u32 {
    let (catalog, now_ms) = (broker.reader.catalog(), broker.monotonic_ms());
    let (quotas, client_id, bytes) = (&broker.quotas, &*caller.client_id, bytes as f64);
    let of_bytes = quotas.record(&catalog, Measure::Fetch, client_id, bytes, now_ms);
    let throttle_ms = of_bytes.max(quotas.record_request(&catalog, client_id, busy, now_ms));
    if throttle_ms > 0 {
        quotas.unrecord(&catalog, Measure::Fetch, client_id, bytes, now_ms);
    }
    throttle_ms
}

fn ask(version: i16, request: FetchRequest) -> Ask {
    let by_id = version >= BY_ID_FROM;
    let topic = |name: StrBytes, id| if by_id { TopicRef::Id(id) } else { TopicRef::Name(own_name(&name)) };
    let mut wanted = Vec::new();
    for asked in request.topics {
        let topic = topic(asked.topic.0, asked.topic_id);
        for partition in asked.partitions {
            let at = PartitionRef { topic: topic.clone(), partition: partition.partition };
            let wanted_of = Wanted {
                fetch_offset: partition.fetch_offset,
                bytes_max: partition.partition_max_bytes,
                current_leader_epoch: partition.current_leader_epoch,
            };
            wanted.push((at, wanted_of));
        }
    }
    let mut forgotten = Vec::new();
    for asked in request.forgotten_topics_data {
        let topic = topic(asked.topic.0, asked.topic_id);
        forgotten
            .extend(asked.partitions.into_iter().map(|partition| PartitionRef { topic: topic.clone(), partition }));
    }
    Ask { session_id: request.session_id, epoch: request.session_epoch, by_id, wanted, forgotten }
}

/// A session keeps names beyond the request, whose buffer they would keep alive. No topic has a longer name, so what is cut off
/// makes none of them another.
fn own_name(name: &str) -> StrBytes {
    text(&name[..name.floor_char_boundary(NAME_BYTES_MAX)])
}

/// Reads until there are `bytes_min` bytes, or something to tell that can't wait, or the time is over.
async fn wait_for_records(
    broker: &Broker,
    targets: Vec<Target>,
    limits: Limits,
    bytes_min: usize,
    wait_max: Duration,
) -> Vec<Gathered> {
    let deadline = Instant::now() + wait_max;
    let (mut targets, mut gathered) = gather(&broker.reader, targets, limits).await;
    let existing: Vec<_> = targets.iter().filter_map(|target| target.partition.ok()).collect();
    if is_enough(&targets, &gathered, bytes_min) || wait_max.is_zero() || existing.is_empty() {
        return gathered;
    }
    let mut stopping = broker.stopping.clone();
    loop {
        // Made before the read: what is added after it ends the wait.
        let mut watch = broker.reader.watch(&existing);
        (targets, gathered) = gather(&broker.reader, targets, limits).await;
        if is_enough(&targets, &gathered, bytes_min) {
            return gathered;
        }
        tokio::select! {
            changed = timeout_at(deadline, watch.changed()) => if changed.is_err() { return gathered },
            _ = stopping.wait_for(|stopping| *stopping) => return gathered,
        }
    }
}

/// A partition that doesn't exist doesn't end the wait, or its consumer would ask without a pause.
fn is_enough(targets: &[Target], gathered: &[Gathered], bytes_min: usize) -> bool {
    let has_new_error =
        targets.iter().zip(gathered).any(|(target, gathered)| target.partition.is_ok() && gathered.error.is_some());
    has_new_error || gathered.iter().map(|gathered| gathered.bytes).sum::<usize>() >= bytes_min
}
