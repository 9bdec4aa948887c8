//! Builds the index of a topic that became an event topic when it held records already, while it serves.
//!
//! The records go through the log once more, as `IndexRecords`, so that every member posts them at the same place. Restarted, it goes on
//! where the index stands.

use std::time::Duration;

use bytes::Bytes;
use daybook_command::{Command, IndexRecords};
use daybook_read::Reader;
use daybook_record::batches;
use daybook_types::{Offset, PartitionId};

use crate::store::EventStore;

/// Read, and so proposed, at a time.
const STEP_BYTES: usize = 512 * 1024;
/// After a step that failed.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// Runs until dropped.
pub async fn keep_indexing(store: EventStore) {
    let mut building = store.reader.streams().building();
    // An error means that the log is closed.
    while building.wait_for(|building| *building).await.is_ok() {
        for (topic, found) in store.reader.streams().topics() {
            for (index, from) in found.pending {
                let partition = PartitionId { topic, index };
                if let Err(cause) = advance(&store, partition, from).await {
                    tracing::warn!(%partition, offset = from.0, %cause, "can't build the index of streams; trying again");
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            }
        }
    }
}

/// Indexes a partition up to its end as of the last step.
async fn advance(store: &EventStore, partition: PartitionId, mut from: Offset) -> Result<(), String> {
    loop {
        let reader = store.reader.clone();
        let step = tokio::task::spawn_blocking(move || step(&reader, partition, from)).await;
        let commands = step.map_err(|error| error.to_string())??;
        let Some(last) = commands.last() else { return Ok(()) };
        from = last.to;
        let commands = commands.into_iter().map(Command::IndexRecords).collect();
        store
            .door
            .propose(commands)
            .await
            .map_err(|error| error.to_string())?
            .await
            .map_err(|error| error.to_string())?;
        if store
            .reader
            .streams()
            .topic(partition.topic)
            .is_none_or(|topic| !topic.pending.contains_key(&partition.index))
        {
            tracing::info!(%partition, "the index of streams is built");
            return Ok(());
        }
    }
}

fn step(reader: &Reader, partition: PartitionId, from: Offset) -> Result<Vec<IndexRecords>, String> {
    let Some(ends) = reader.partition(partition) else { return Ok(Vec::new()) };
    if from < ends.start_offset {
        // What was trimmed meanwhile has no place in the index.
        let to = ends.start_offset;
        return Ok(vec![IndexRecords { partition, from, to, batch: Bytes::new() }]);
    }
    let fetched = reader.read(partition, from, STEP_BYTES, true).map_err(|error| error.to_string())?;
    let whole = fetched.to_bytes().map_err(|error| error.to_string())?;
    let mut commands = Vec::new();
    let mut at = from;
    for batch in batches(whole) {
        let (header, batch) = batch.map_err(|error| error.to_string())?;
        let to = Offset(header.base_offset.0 + i64::from(header.last_offset_delta) + 1);
        commands.push(IndexRecords { partition, from: at, to, batch });
        at = to;
    }
    Ok(commands)
}
