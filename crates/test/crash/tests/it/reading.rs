//! Readers: one that follows while writers write, and the one that checks everything after a restart.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use daybook_kafka_client::{ClientError, Cluster, FetchLimits, OffsetQuery, TopicPartition};
use daybook_record::BatchError;
use daybook_types::{Offset, PartitionIndex};

use crate::campaign::Shared;
use crate::network::{Stop, cluster, impatient_cluster};

/// Reads what is new until the server is gone: what a reader has seen must stay as well.
pub async fn follow(shared: Arc<Shared>) -> Result<(), String> {
    match follow_until(&shared).await {
        Stop::Gone => Ok(()),
        Stop::Fault(fault) => Err(format!("following: {fault}")),
    }
}

async fn follow_until(shared: &Shared) -> Stop {
    let mut cluster = match impatient_cluster(&shared.address).await {
        Ok(cluster) => cluster,
        Err(stop) => return stop,
    };
    loop {
        let positions = positions(shared, |place| shared.ledgers[place].lock().seen_end());
        let limits = FetchLimits { wait_ms_max: 100, ..FetchLimits::default() };
        match cluster.fetch(limits, &positions).await {
            Ok(fetched) => {
                for (at, records) in fetched {
                    if let Err(fault) = read(shared, &at, positions[&at].0, &records) {
                        return Stop::Fault(fault);
                    }
                }
            }
            Err(error) => return error.into(),
        }
    }
}

/// Reads everything from `from` on, of a partition by its index, to the end.
pub async fn verify(shared: &Shared, from: impl Fn(usize) -> i64) -> Result<(), String> {
    let text = |error: ClientError| error.to_string();
    let mut cluster = cluster(&shared.address).await?;
    let starts = ends(shared, &mut cluster, OffsetQuery::Earliest).await.map_err(text)?;
    if let Some((at, start)) = starts.iter().find(|(_, start)| start.0 != 0) {
        return Err(format!("{at:?} starts at {start}"));
    }
    let ends = ends(shared, &mut cluster, OffsetQuery::Latest).await.map_err(text)?;
    let mut positions = positions(shared, from);
    loop {
        positions.retain(|at, next| *next < ends[at]);
        if positions.is_empty() {
            break;
        }
        let fetched = cluster.fetch(FetchLimits::default(), &positions).await.map_err(text)?;
        if fetched.is_empty() {
            return Err(format!("nothing comes of {positions:?}, though they end at {ends:?}"));
        }
        for (at, records) in fetched {
            let next = read(shared, &at, positions[&at].0, &records)?;
            positions.insert(at, Offset(next));
        }
    }
    for (place, ledger) in shared.places.iter().zip(&shared.ledgers) {
        let end = ends[&TopicPartition::new(&place.topic, PartitionIndex(place.partition))];
        ledger.lock().assert_complete(end.0).map_err(|fault| format!("{place:?}: {fault}"))?;
    }
    Ok(())
}

async fn ends(
    shared: &Shared,
    cluster: &mut Cluster,
    query: OffsetQuery,
) -> Result<BTreeMap<TopicPartition, Offset>, ClientError> {
    let wanted = positions(shared, |_| 0).into_keys().map(|at| (at, query)).collect();
    let found = cluster.list_offsets(&wanted).await?;
    Ok(found.into_iter().map(|(at, found)| (at, found.offset.unwrap_or(Offset::NONE))).collect())
}

fn positions(shared: &Shared, from: impl Fn(usize) -> i64) -> BTreeMap<TopicPartition, Offset> {
    let position = |(index, place): (usize, &crate::campaign::Place)| {
        (TopicPartition::new(&place.topic, PartitionIndex(place.partition)), Offset(from(index)))
    };
    shared.places.iter().enumerate().map(position).collect()
}

/// Notes the records from `from` on; the offset after the last.
fn read(shared: &Shared, at: &TopicPartition, from: i64, records: &Bytes) -> Result<i64, String> {
    let is_place = |place: &crate::campaign::Place| place.topic == at.topic && place.partition == at.partition.0;
    let place = shared.places.iter().position(is_place).expect("only these are asked for");
    let mut ledger = shared.ledgers[place].lock();
    let fail = |fault: String| format!("{at:?}: {fault}");
    let mut next = from;
    for batch in daybook_record::batches(records.clone()) {
        let (_, batch) = match batch {
            Ok(batch) => batch,
            // The end of what fitted into the answer.
            Err(BatchError::Truncated { .. }) => break,
            Err(error) => return Err(fail(format!("after offset {next}: {error}"))),
        };
        daybook_record::verify(&batch).map_err(|error| fail(format!("after offset {next}: {error}")))?;
        for record in daybook_record::records(&batch).map_err(|error| fail(error.to_string()))? {
            let record = record.map_err(|error| fail(format!("after offset {next}: {error}")))?;
            // The first batch may begin before the offset asked for.
            if record.offset.0 < from {
                continue;
            }
            if record.offset.0 != next {
                return Err(fail(format!("offset {} comes where {next} should", record.offset)));
            }
            ledger.read(place as u32, |writer| shared.is_idempotent(writer), &record).map_err(fail)?;
            next += 1;
        }
    }
    Ok(next)
}
