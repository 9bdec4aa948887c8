//! One compaction of one partition: learn its keys, decide how far it goes, write its segments anew.
//!
//! The order is what makes it safe to stop anywhere. First the log says how far the partition is to be compacted: from then on every
//! member may drop superseded records below. Then the segments are rewritten, each of which takes its place by a checkpoint. Last
//! the files say how far they are compacted, by a checkpoint that holds all the rewritten segments. What a crash leaves undone is
//! begun again from where the files say. A tombstone goes only below that place, where nothing of its key is left before it.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daybook_catalog::Topic;
use daybook_command::{Command, CompactedTo, CompactionBounds, Outcome};
use daybook_partition::PartitionLog;
use daybook_record::{batches, records};
use daybook_rewrite::{Pace, Takeover};
use daybook_segment::{PartitionFiles, RewriteError, Rewritten};
use daybook_types::{Offset, PartitionId, TimestampMs};

use crate::cleaner::Worker;
use crate::error::Broken;
use crate::key_map::KeyMap;
use crate::plan::{Compactable, Dirty, Plan, groups, plan};
use crate::sieve::{Bounds, KeySieve, is_aborted};

/// Read at once while keys are learned.
const READ_BYTES: usize = 1024 * 1024;
/// How often a segment that somebody else rewrites is tried again, and how long after.
const BUSY_TRIES_MAX: usize = 50;
const BUSY_INTERVAL: Duration = Duration::from_millis(100);
/// A partition that could not be compacted is left alone for so long.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    pub partition: PartitionId,
    /// How far its files are compacted now.
    pub to: Offset,
    pub keys: usize,
    pub segments: usize,
    pub records_removed: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// A partition that is worth it.
struct Due {
    topic: Arc<Topic>,
    partition: PartitionId,
    plan: Plan,
}

impl Worker {
    /// Compacts the partition that needs it most, if one does; one that fails is logged and left alone for a while.
    pub fn compact(&mut self) -> Result<Option<Compacted>, Broken> {
        let Some(Due { topic, partition, plan }) = self.most_due() else { return Ok(None) };
        metrics::gauge!("daybook_compaction_running").set(1.0);
        let began = Instant::now();
        let result = self.compact_partition(&topic, partition, &plan);
        metrics::gauge!("daybook_compaction_running").set(0.0);
        let done = match result {
            Ok(done) => done,
            Err(error) if error.is_end() => return Err(error),
            Err(error) => {
                metrics::counter!("daybook_compactions_total", "result" => "failed").increment(1);
                tracing::error!(%partition, topic = %topic.name, %error, "a partition can't be compacted; trying again later");
                self.failed.insert(partition, Instant::now());
                return Ok(Some(Compacted { partition, ..Compacted::default() }));
            }
        };
        self.failed.remove(&partition);
        metrics::counter!("daybook_compactions_total", "result" => "finished").increment(1);
        metrics::counter!("daybook_compaction_records_removed_total").increment(done.records_removed);
        metrics::counter!("daybook_compaction_bytes_freed_total").increment(done.bytes_before - done.bytes_after);
        metrics::histogram!("daybook_compaction_seconds").record(began.elapsed().as_secs_f64());
        tracing::info!(
            %partition, topic = %topic.name, to = done.to.0, keys = done.keys, segments = done.segments, removed = done.records_removed,
            bytes_before = done.bytes_before, bytes_after = done.bytes_after, elapsed = ?began.elapsed(), "compacted a partition"
        );
        Ok(Some(done))
    }

    fn most_due(&mut self) -> Option<Due> {
        self.failed.retain(|_, since| since.elapsed() < RETRY_INTERVAL);
        let mut most: Option<Due> = None;
        let mut count = 0;
        for topic in self.reader.catalog().topics().filter(|topic| topic.settings.is_compacted()) {
            for partition in topic.partition_ids().filter(|id| !self.failed.contains_key(id)) {
                let Some(plan) = self.plan(topic, partition) else { continue };
                count += 1;
                let is_more = most.as_ref().is_none_or(|due| {
                    (plan.is_resumed, plan.dirty_ratio) > (due.plan.is_resumed, due.plan.dirty_ratio)
                });
                if is_more {
                    most = Some(Due { topic: Arc::clone(topic), partition, plan });
                }
            }
        }
        metrics::gauge!("daybook_compaction_partitions_due").set(f64::from(count));
        metrics::gauge!("daybook_compaction_partitions_failed").set(self.failed.len() as f64);
        most
    }

    fn plan(&self, topic: &Topic, partition: PartitionId) -> Option<Plan> {
        let files = self.reader.files().get(partition)?;
        let log = self.reader.log(partition)?;
        let (start, stable, decided) = log.look(|tail| (tail.start, tail.stable, tail.compaction));
        let look = Compactable {
            segments: &files.segments(),
            start,
            stable,
            compacted_to: files.compacted_to(),
            decided_to: decided.to,
            now: TimestampMs(self.clock.now_ms()),
        };
        // One that can't be read shows when it is compacted.
        plan(&topic.settings, look, |base| files.first_timestamp(base).ok().flatten())
    }

    fn compact_partition(&self, topic: &Topic, partition: PartitionId, plan: &Plan) -> Result<Compacted, Broken> {
        let gone = Compacted { partition, ..Compacted::default() };
        let (Some(files), Some(log)) = (self.reader.files().get(partition), self.reader.log(partition)) else {
            return Ok(gone);
        };
        let mut pace = Pace::new(self.options.bytes_per_second_max, self.stop.clone());
        let mut takeover = Takeover::new(self.door.clone(), self.runtime.clone(), self.stop.clone());
        if files.has_unpublished_rewrites() {
            takeover.add(&files, 0);
            takeover.wait()?;
        }
        let (keys, to) = self.learn(&files, &log, plan.dirty, &mut pace)?;
        let Some(decided) = self.decide(partition, to, files.compacted_to())? else { return Ok(gone) };
        let bounds = Bounds {
            log: &log,
            start: log.look(|tail| tail.start),
            to,
            tombstones_below: files.compacted_to().min(decided.tombstones_below),
        };
        let mut done = Compacted { partition, to, keys: keys.len(), ..Compacted::default() };
        for bases in groups(&files.segments(), to, topic.settings.segment_bytes) {
            let interval = topic.settings.index_interval_bytes.into();
            let Some(rewritten) = self.rewrite(&files, bases, interval, bounds, &keys, &mut pace)? else { continue };
            done.bytes_before += rewritten.bytes_before;
            done.bytes_after += rewritten.bytes_after;
            done.records_removed += rewritten.records_removed;
            metrics::counter!("daybook_compaction_bytes_read_total").increment(rewritten.bytes_before);
            if rewritten.is_replaced {
                done.segments += 1;
                metrics::counter!("daybook_compaction_bytes_written_total").increment(rewritten.bytes_after);
                takeover.add(&files, rewritten.bytes_before);
                takeover.wait_if_much()?;
            }
        }
        files.note_compacted(to);
        takeover.add(&files, 0);
        takeover.wait()?;
        Ok(done)
    }

    /// The latest offset of each key in `dirty`, or in as much of it as there is room for; and how far that is.
    fn learn(
        &self,
        files: &PartitionFiles,
        log: &PartitionLog,
        dirty: Dirty,
        pace: &mut Pace,
    ) -> Result<(KeyMap, Offset), Broken> {
        let mut keys = KeyMap::new(self.options.key_map_bytes_max);
        let mut at = dirty.from;
        while at < dirty.to {
            let Some(slice) = files.read(at, READ_BYTES)? else { break };
            if slice.first_offset >= dirty.to {
                break;
            }
            for batch in batches(slice.to_bytes()?) {
                let (header, batch) = batch?;
                if header.base_offset >= dirty.to {
                    break;
                }
                pace.worked(header.batch_bytes as u64)?;
                if !header.is_control() && !is_aborted(log, &header) {
                    for record in records(&batch)? {
                        let record = record?;
                        let Some(key) = record.key else { continue };
                        if record.offset >= dirty.from && keys.put(&key, record.offset).is_err() {
                            // What the map has of this batch does no harm: those records stay, and supersede others all the same.
                            let to = header.base_offset.max(dirty.from);
                            return if to > dirty.from {
                                Ok((keys, to))
                            } else {
                                Err(Broken::MapTooSmall { partition: files.id(), offset: header.base_offset })
                            };
                        }
                    }
                }
            }
            at = slice.next_offset;
        }
        Ok((keys, dirty.to))
    }

    /// `None`: the topic is gone, or compacted no more.
    fn decide(&self, partition: PartitionId, to: Offset, done_to: Offset) -> Result<Option<CompactionBounds>, Broken> {
        let outcomes = self.propose(vec![Command::CompactedTo(CompactedTo { partition, to, done_to })])?;
        Ok(match outcomes.first() {
            Some(Outcome::CompactedTo(Ok(bounds))) => Some(*bounds),
            Some(Outcome::CompactedTo(Err(refusal))) => {
                tracing::info!(%partition, %refusal, "a compaction was refused");
                None
            }
            _ => None,
        })
    }

    fn rewrite(
        &self,
        files: &PartitionFiles,
        bases: Range<Offset>,
        index_interval_bytes: u64,
        bounds: Bounds<'_>,
        keys: &KeyMap,
        pace: &mut Pace,
    ) -> Result<Option<Rewritten>, Broken> {
        for _ in 0..BUSY_TRIES_MAX {
            let mut sieve = KeySieve { keys, bounds, pace };
            return match files.rewrite_run(bases.clone(), index_interval_bytes, &mut sieve) {
                Ok(rewritten) => Ok(rewritten),
                Err(RewriteError::Busy) => {
                    self.stop.sleep(BUSY_INTERVAL)?;
                    continue;
                }
                // The topic was deleted.
                Err(RewriteError::Read(daybook_segment::ReadError::Removed)) => Ok(None),
                Err(RewriteError::Sieve(error)) => Err(error),
                Err(RewriteError::NoRoom { need, free }) => Err(Broken::NoRoom { need, free }),
                Err(RewriteError::Read(error)) => Err(error.into()),
                Err(RewriteError::Disk(error)) => Err(error.into()),
            };
        }
        Err(Broken::Busy { partition: files.id() })
    }
}
