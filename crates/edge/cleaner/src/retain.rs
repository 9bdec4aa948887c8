//! Proposes new starts for partitions that hold more than their topics' limits.

use daybook_command::{Command, Outcome, TrimPartition};
use daybook_types::{Offset, PartitionId, TimestampMs};

use crate::cleaner::Worker;
use crate::error::Broken;
use crate::retention::{Limits, start_kept};

/// Partitions trimmed by one entry.
const TRIMS_MAX: usize = 500;

impl Worker {
    /// Looks at every partition once. Returns how many begin later now.
    pub fn retain(&mut self) -> Result<usize, Broken> {
        let now = TimestampMs(self.clock.now_ms());
        let mut trims = Vec::new();
        for topic in self.reader.catalog().topics() {
            let limits = Limits::of(&topic.settings);
            if limits.is_none() {
                continue;
            }
            trims.extend(topic.partition_ids().filter_map(|id| Some((id, self.start_kept(id, limits, now)?))));
        }
        let mut trimmed = 0;
        for some in trims.chunks(TRIMS_MAX) {
            let command = |(id, to): &(PartitionId, Offset)| {
                Command::TrimPartition(TrimPartition { partition: *id, to: Some(*to) })
            };
            let outcomes = self.propose(some.iter().map(command).collect())?;
            for ((id, to), outcome) in some.iter().zip(outcomes) {
                // A refusal: the topic was deleted, or its policy changed.
                if let Outcome::TrimPartition(Ok(_)) = outcome {
                    trimmed += 1;
                    tracing::info!(partition = %id, start = to.0, "retention moved a partition's start");
                }
            }
        }
        metrics::counter!("daybook_retention_trims_total").increment(trimmed as u64);
        Ok(trimmed)
    }

    fn start_kept(&self, id: PartitionId, limits: Limits, now: TimestampMs) -> Option<Offset> {
        let files = self.reader.files().get(id)?;
        let (start, stable) = self.reader.log(id)?.look(|tail| (tail.start, tail.stable));
        start_kept(&files.segments(), start, stable, limits, now)
    }
}
