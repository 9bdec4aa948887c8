//! Gives back the space of events that their streams keep no more: asked for, one run at a time, on a thread of its own.
//!
//! Segment after segment is written anew without them ([`daybook_segment::PartitionFiles::rewrite`]); what is done stays done, whatever
//! happens then, and a run that is started again finds little to do there. Offsets, versions and positions never change. What stays is
//! decided in [`sieve`] by the index of streams as it is applied here, so a run needs neither the log nor a command; it is
//! this member's own affair (docs/decisions/0011-scavenge.md).

mod sieve;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use daybook_catalog::Topic;
use daybook_command::ProposeError;
use daybook_kv::KvError;
use daybook_rewrite::{Pace, Stop, Stopped, Takeover, TakeoverError};
use daybook_segment::{PartitionFiles, RewriteError, Rewritten};
use daybook_types::{Offset, PartitionId, TimestampMs, TopicId};
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::watch;
use uuid::Uuid;

use self::sieve::StreamSieve;
use crate::append::now;
use crate::store::EventStore;

/// What a run reads and writes in a second at most, so that it takes little from those who are served.
pub const SCAVENGE_BYTES_PER_SECOND_MAX: u64 = 64 * 1024 * 1024;
/// How often a segment that is being appended to is tried again, and how long after.
const BUSY_TRIES_MAX: usize = 50;
const BUSY_INTERVAL: Duration = Duration::from_millis(100);

/// What a run did so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScavengeReport {
    pub id: String,
    pub state: ScavengeState,
    pub began: TimestampMs,
    pub ended: Option<TimestampMs>,
    /// Of event topics whose index is ready.
    pub partitions: u64,
    pub partitions_done: u64,
    /// Segments looked through.
    pub segments: u64,
    /// Segments of which something went.
    pub segments_rewritten: u64,
    /// Segments left for the next run: they were being appended to, or there was no room to write them anew.
    pub segments_skipped: u64,
    pub events_removed: u64,
    pub bytes_read: u64,
    /// By which the files shrank.
    pub bytes_freed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScavengeState {
    Running,
    /// All was looked through, and the space is free.
    Finished,
    /// Told to stop. What was done stays done.
    Stopped,
    /// What was done stays done.
    Failed {
        cause: String,
    },
}

impl ScavengeState {
    /// As metrics and protocols name it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Failed { .. } => "failed",
        }
    }
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StartScavengeError {
    #[error("scavenge {id} is running; wait until it ends, or stop it")]
    Running { id: String },
    #[error("can't start a thread for the scavenge: {cause}; try again")]
    Thread { cause: String },
}

/// The run of a store that is at work, or was last.
#[derive(Debug)]
pub(crate) struct Scavenger {
    report: watch::Sender<Option<ScavengeReport>>,
    stop: Stop,
}

impl Default for Scavenger {
    fn default() -> Self {
        Self { report: watch::Sender::new(None), stop: Stop::default() }
    }
}

impl EventStore {
    /// Starts a run.
    ///
    /// # Panics
    /// Outside a runtime of tokio.
    pub fn start_scavenge(&self) -> Result<ScavengeReport, StartScavengeError> {
        let new = ScavengeReport {
            id: Uuid::new_v4().to_string(),
            state: ScavengeState::Running,
            began: now(),
            ended: None,
            partitions: 0,
            partitions_done: 0,
            segments: 0,
            segments_rewritten: 0,
            segments_skipped: 0,
            events_removed: 0,
            bytes_read: 0,
            bytes_freed: 0,
        };
        let mut running = None;
        self.scavenger.report.send_if_modified(|report| match report {
            Some(other) if other.state == ScavengeState::Running => {
                running = Some(other.id.clone());
                false
            }
            _ => {
                self.scavenger.stop.take_back();
                *report = Some(new.clone());
                true
            }
        });
        if let Some(id) = running {
            return Err(StartScavengeError::Running { id });
        }
        let takeover = Takeover::new(self.door.clone(), Handle::current(), self.scavenger.stop.clone());
        let run = Run { store: self.clone(), takeover };
        match thread::Builder::new().name("scavenge".to_owned()).spawn(move || run.run()) {
            Ok(_) => Ok(new),
            Err(error) => {
                let cause = error.to_string();
                self.scavenger.report.send_modify(|report| *report = None);
                Err(StartScavengeError::Thread { cause })
            }
        }
    }

    /// Ends the run that is at work, if there is one, and waits until it has ended. Returns its report.
    pub async fn stop_scavenge(&self) -> Option<ScavengeReport> {
        if self.scavenge_report().is_none_or(|report| report.state != ScavengeState::Running) {
            return None;
        }
        self.scavenger.stop.tell();
        self.scavenged().await
    }

    /// The run that is at work, or else the last one since this process began.
    pub fn scavenge_report(&self) -> Option<ScavengeReport> {
        self.scavenger.report.borrow().clone()
    }

    /// Waits until no run is at work. Returns the report of the last one.
    pub async fn scavenged(&self) -> Option<ScavengeReport> {
        let mut report = self.scavenger.report.subscribe();
        let is_over = |report: &Option<ScavengeReport>| {
            report.as_ref().is_none_or(|report| report.state != ScavengeState::Running)
        };
        // The sender lives as long as the store.
        report.wait_for(is_over).await.ok().and_then(|report| report.clone())
    }
}

/// Why a run ends before its end.
#[derive(Debug, Error)]
pub(crate) enum Broken {
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    Index(#[from] KvError),
    #[error("{0}")]
    Files(String),
    #[error(transparent)]
    Takeover(#[from] TakeoverError),
}

/// A run at work.
struct Run {
    store: EventStore,
    takeover: Takeover,
}

impl Run {
    fn run(mut self) {
        let began = Instant::now();
        tracing::info!("scavenge started");
        metrics::gauge!("daybook_scavenge_running").set(1.0);
        let result = self.every_topic().and_then(|()| Ok(self.takeover.wait()?));
        let state = match result {
            Ok(()) => ScavengeState::Finished,
            // The shard has ended, which tells a run to stop too.
            Err(Broken::Stopped(_) | Broken::Takeover(TakeoverError::Stopped(_))) => ScavengeState::Stopped,
            Err(Broken::Takeover(TakeoverError::Propose(ProposeError::Closed))) => ScavengeState::Stopped,
            Err(error) => ScavengeState::Failed { cause: error.to_string() },
        };
        metrics::gauge!("daybook_scavenge_running").set(0.0);
        metrics::counter!("daybook_scavenges_total", "result" => state.name()).increment(1);
        let Some(report) = self.store.scavenge_report() else { return };
        let (events, bytes, segments) = (report.events_removed, report.bytes_freed, report.segments_rewritten);
        let (elapsed, skipped) = (began.elapsed(), report.segments_skipped);
        match &state {
            ScavengeState::Failed { cause } => {
                tracing::error!(%cause, events, bytes, segments, skipped, ?elapsed, "scavenge failed; what was done stays done");
            }
            state => {
                tracing::info!(events, bytes, segments, skipped, ?elapsed, "scavenge {}", state.name());
            }
        }
        let scavenger = Arc::clone(&self.store.scavenger);
        // Whoever waits for the end finds nothing of this thread at work any more.
        drop(self);
        scavenger.report.send_modify(|report| {
            if let Some(report) = report {
                (report.state, report.ended) = (state, Some(now()));
            }
        });
    }

    fn every_topic(&mut self) -> Result<(), Broken> {
        let catalog = self.store.reader.catalog();
        let topics: Vec<Arc<Topic>> = catalog.topics().filter(|topic| self.is_ready(topic.id)).cloned().collect();
        let partitions: usize = topics.iter().map(|topic| topic.partition_ids().count()).sum();
        self.report(|report| report.partitions = partitions as u64);
        for topic in topics {
            for partition in topic.partition_ids() {
                if self.is_ready(topic.id) {
                    self.partition(partition, topic.settings.index_interval_bytes.into())?;
                }
                self.report(|report| report.partitions_done += 1);
            }
        }
        Ok(())
    }

    /// Before the index knows all of a topic's streams it can't tell what they keep.
    fn is_ready(&self, topic: TopicId) -> bool {
        self.store.reader.streams().topic(topic).is_some_and(|topic| topic.is_ready())
    }

    fn partition(&mut self, id: PartitionId, index_interval_bytes: u64) -> Result<(), Broken> {
        let Some(files) = self.store.reader.files().get(id) else { return Ok(()) };
        if files.has_unpublished_rewrites() {
            // Of a run that was stopped.
            self.takeover.add(&files, 0);
            self.takeover.wait()?;
        }
        for segment in files.segments() {
            let Some(rewritten) = self.segment(&files, segment.base_offset, index_interval_bytes)? else { continue };
            let freed = rewritten.bytes_before - rewritten.bytes_after;
            self.report(|report| {
                report.segments += 1;
                report.bytes_read += rewritten.bytes_before;
                report.segments_rewritten += u64::from(rewritten.is_replaced);
                report.events_removed += rewritten.records_removed;
                report.bytes_freed += freed;
            });
            metrics::counter!("daybook_scavenge_segments_total").increment(1);
            metrics::counter!("daybook_scavenge_bytes_read_total").increment(rewritten.bytes_before);
            if !rewritten.is_replaced {
                continue;
            }
            metrics::counter!("daybook_scavenge_segments_rewritten_total").increment(1);
            metrics::counter!("daybook_scavenge_events_removed_total").increment(rewritten.records_removed);
            metrics::counter!("daybook_scavenge_bytes_freed_total").increment(freed);
            self.takeover.add(&files, rewritten.bytes_before);
            self.takeover.wait_if_much()?;
        }
        Ok(())
    }

    /// `None`: it is no more, or is left for the next run.
    fn segment(
        &self,
        files: &PartitionFiles,
        base: Offset,
        index_interval_bytes: u64,
    ) -> Result<Option<Rewritten>, Broken> {
        let partition = files.id();
        for _ in 0..BUSY_TRIES_MAX {
            let pace = Pace::new(SCAVENGE_BYTES_PER_SECOND_MAX, self.store.scavenger.stop.clone());
            let Some(mut sieve) = StreamSieve::new(&self.store.reader, partition, now(), pace) else { return Ok(None) };
            match files.rewrite(base, index_interval_bytes, &mut sieve) {
                Ok(rewritten) => return Ok(rewritten),
                Err(RewriteError::Busy) => self.store.scavenger.stop.sleep(BUSY_INTERVAL)?,
                Err(RewriteError::Sieve(error)) => return Err(error),
                Err(error @ RewriteError::NoRoom { .. }) => {
                    tracing::warn!(%partition, base = base.0, %error, "a segment was not scavenged");
                    self.report(|report| report.segments_skipped += 1);
                    return Ok(None);
                }
                // The topic was deleted.
                Err(RewriteError::Read(daybook_segment::ReadError::Removed)) => return Ok(None),
                Err(error) => return Err(Broken::Files(error.to_string())),
            }
        }
        tracing::info!(%partition, base = base.0, "a segment was not scavenged, it is being appended to all the time");
        self.report(|report| report.segments_skipped += 1);
        Ok(None)
    }

    fn report(&self, change: impl FnOnce(&mut ScavengeReport)) {
        self.store.scavenger.report.send_modify(|report| {
            if let Some(report) = report {
                change(report);
            }
        });
    }
}
