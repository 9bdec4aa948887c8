//! Writing a checkpoint: partition files first, then one atomic batch that names their ends, the state and the LSN.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use daybook_command::{Entry, Outcome};
use daybook_consensus::{At, Checkpoint, CheckpointError, RaftMeta, StateMachine};
use daybook_kv::{Op, Space, Store};
use daybook_segment::{PartitionFiles, PartitionStore};
use daybook_types::{Offset, PartitionId};

use crate::posting::{Content, Posting};
use crate::storage::{ends_key, key};

/// What consensus applies to: the posting, and where its checkpoints go.
pub(crate) struct Poster<P> {
    pub posting: P,
    pub kv: Arc<Store>,
    pub files: Arc<PartitionStore>,
}

impl<P: Posting> StateMachine for Poster<P> {
    fn apply(&mut self, at: At, entry: &Entry) -> io::Result<Vec<Outcome>> {
        self.posting.apply(at, entry).map_err(io::Error::other)
    }

    fn pass(&mut self, at: At) {
        self.posting.pass(at);
    }

    fn begin_checkpoint(&mut self) -> Checkpoint {
        let content = self.posting.take_content();
        // Now and not when it is written: what decided these rewrites was applied before, so this checkpoint holds it.
        let rewritten = self.files.adopt_rewritten();
        let (kv, files) = (Arc::clone(&self.kv), Arc::clone(&self.files));
        Box::new(move |meta| {
            let began = Instant::now();
            let partitions = content.appends.len();
            let result = write(content, rewritten, &meta, &kv, &files);
            metrics::histogram!("daybook_checkpoint_seconds").record(began.elapsed().as_secs_f64());
            match &result {
                Ok(bytes) => {
                    metrics::counter!("daybook_checkpoints_total").increment(1);
                    metrics::counter!("daybook_checkpoint_bytes_total").increment(*bytes);
                    tracing::debug!(partitions, bytes, elapsed = ?began.elapsed(), "checkpoint written");
                }
                Err(error) => tracing::error!(%error, "checkpoint failed; the write-ahead log keeps everything"),
            }
            result.map(drop)
        })
    }
}

/// Returns how many bytes of records were written.
fn write(
    content: Content,
    rewritten: Vec<Arc<PartitionFiles>>,
    meta: &RaftMeta,
    kv: &Store,
    files: &PartitionStore,
) -> Result<u64, CheckpointError> {
    let fail = |cause: &dyn std::fmt::Display| CheckpointError { cause: cause.to_string().into() };
    let Content { appends, mut ops, more_ops, removed, trims, published } = content;

    let mut touched: Vec<Arc<PartitionFiles>> = Vec::with_capacity(appends.len());
    let mut bytes = 0;
    for append in &appends {
        let partition = files.get_or_create(append.partition);
        partition.append(&append.batches, append.roll).map_err(|error| fail(&error))?;
        bytes += append.batches.iter().map(|batch| batch.bytes.len() as u64).sum::<u64>();
        touched.push(partition);
    }
    for partition in rewritten {
        let is_here = |other: &Arc<PartitionFiles>| other.id() == partition.id();
        if !removed.contains(&partition.id()) && !touched.iter().any(is_here) {
            touched.push(partition);
        }
    }
    for (id, _) in &trims {
        if let Some(partition) = files.get(*id).filter(|_| !touched.iter().any(|other| other.id() == *id)) {
            touched.push(partition);
        }
    }
    let starts: HashMap<PartitionId, Offset> = trims.into_iter().collect();
    for partition in &touched {
        partition.sync().map_err(|error| fail(&error))?;
        let start = starts.get(&partition.id()).copied().unwrap_or_default();
        let value = partition.ends().trimmed(start).encode().into();
        ops.push(Op::Put { space: Space::Partitions, key: ends_key(partition.id()), value });
    }
    for partition in &removed {
        ops.push(Op::Remove { space: Space::Partitions, key: ends_key(*partition) });
    }
    ops.push(Op::Put { space: Space::Meta, key: Bytes::from_static(key::RAFT), value: meta.0.clone() });
    ops.extend(more_ops(kv).map_err(|error| fail(&error))?);
    kv.commit(ops).map_err(|error| fail(&error))?;

    for partition in &touched {
        partition.publish();
    }
    published();
    for (id, start) in &starts {
        // The checkpoint no longer names them: should this fail, the next start removes them.
        if let Some(Err(error)) = files.get(*id).map(|partition| partition.trim(*start)) {
            tracing::warn!(partition = %id, %error, "can't remove segments below a partition's start yet");
        }
    }
    for partition in &removed {
        // The checkpoint no longer names them: should this fail, the next start sweeps them away.
        if let Err(error) = files.remove(*partition) {
            tracing::warn!(%partition, %error, "can't remove the files of a deleted partition yet");
        }
    }
    Ok(bytes)
}
