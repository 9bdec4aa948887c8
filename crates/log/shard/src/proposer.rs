//! The proposer: takes all commands that wait, makes one entry of them, hands it to consensus, answers when it is applied.

use std::sync::Arc;
use std::time::Duration;

use daybook_command::{Applied, Command, Entry, Inbox, Proposal, ProposeError, Stage, Waiter};
use daybook_consensus::{Consensus, Stopped};
use daybook_segment::PartitionStore;
use daybook_types::{ENTRY_BYTES_MAX, Lsn, TimestampMs};
use daybook_wal::Wal;
use daybook_world::Clock;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::checkpoint::Poster;
use crate::flight::Flight;
use crate::posting::Posting;
use crate::shard::ShardOptions;
use crate::status::ShardStatus;

/// How often the WAL's growth is looked at when nothing lands.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// A checkpoint comes this soon where files were rewritten: until it does, what they replace takes its space too.
const REWRITTEN_INTERVAL: Duration = Duration::from_secs(1);
/// While a checkpoint runs, the WAL may grow to this many times the size that asks for one; then writers wait.
const WAL_GROWTH_MAX: u64 = 3;

pub(crate) struct Proposer<P: Posting> {
    pub consensus: Consensus<Poster<P>>,
    pub wal: Arc<Wal>,
    pub files: Arc<PartitionStore>,
    pub inbox: Inbox,
    pub clock: Arc<dyn Clock>,
    pub options: ShardOptions,
    pub status: watch::Sender<ShardStatus>,
    pub stop: Stop,
}

/// Whether the shard was told to stop: by a word, or by dropping its handle.
pub(crate) struct Stop(pub watch::Receiver<bool>);

/// Commands that wait to become an entry.
#[derive(Default)]
struct Gathering {
    commands: Vec<Command>,
    waiters: Vec<Waiter>,
    bytes: usize,
}

/// When the next checkpoint is due.
struct CheckpointClock {
    /// The LSN the running checkpoint must reach.
    running_to: Option<Lsn>,
    last: Instant,
}

impl<P: Posting> Proposer<P> {
    /// Runs until told to stop or until storage fails; then refuses proposals until the door is closed.
    pub async fn run(mut self) {
        let served = match self.serve().await {
            Ok(()) => self.finish().await,
            Err(stopped) => Err(stopped),
        };
        if let Err(stopped) = served {
            self.poison(&stopped);
            self.refuse(&stopped).await;
        }
        self.consensus.stop().await;
    }

    async fn serve(&mut self) -> Result<(), Stopped> {
        let flight = Arc::new(Flight::default());
        let mut gathering = Gathering::default();
        let mut time = TimestampMs(0);
        let mut checkpoint = CheckpointClock { running_to: None, last: Instant::now() };
        let mut look_at = Instant::now();
        // A proposal that did not fit the entry before it.
        let mut left_over: Option<Proposal> = None;
        loop {
            gathering.fill(&mut left_over, &mut self.inbox);
            let too_far = self.look_at_checkpoint(&mut checkpoint, &mut look_at).await?;
            if !gathering.is_empty() && !too_far && flight.has_room_for(gathering.bytes) {
                time = time.max(TimestampMs(self.clock.now_ms()));
                self.propose(&mut gathering, time, &flight).await?;
                continue;
            }
            let may_gather = left_over.is_none() && gathering.bytes < ENTRY_BYTES_MAX;
            tokio::select! {
                biased;
                () = self.stop.told() => break,
                () = flight.landed() => {}
                proposal = self.inbox.proposals.recv(), if may_gather => match proposal {
                    Some(proposal) => gathering.add(proposal),
                    None => break,
                },
                written = checkpointed(&self.consensus, checkpoint.running_to) => written?,
                stopped = self.consensus.failed() => return Err(stopped),
                () = sleep_until(look_at) => {}
            }
        }
        // What was accepted is still served.
        self.inbox.proposals.close();
        loop {
            gathering.fill(&mut left_over, &mut self.inbox);
            if gathering.is_empty() && flight.is_empty() {
                return Ok(());
            }
            if !gathering.is_empty() {
                self.propose(&mut gathering, time, &flight).await?;
            } else {
                tokio::select! {
                    () = flight.landed() => {}
                    stopped = self.consensus.failed() => return Err(stopped),
                }
            }
        }
    }

    async fn propose(&self, gathering: &mut Gathering, time: TimestampMs, flight: &Arc<Flight>) -> Result<(), Stopped> {
        let Gathering { commands, waiters, bytes } = std::mem::take(gathering);
        metrics::counter!("daybook_entries_total").increment(1);
        metrics::counter!("daybook_commands_total").increment(commands.len() as u64);
        metrics::counter!("daybook_entry_bytes_total").increment(bytes as u64);
        let landing = flight.take_off(bytes);
        let entry = Entry { time, commands };
        let done = move |result: Result<(Lsn, Vec<_>), daybook_consensus::ProposalFailure>| {
            let _landing = landing;
            match result {
                Ok((lsn, outcomes)) => {
                    let mut outcomes = outcomes.into_iter();
                    for waiter in waiters {
                        let outcomes = outcomes.by_ref().take(waiter.count).collect();
                        waiter.answer(Ok(Applied { lsn, stage: Stage::Applied, outcomes }));
                    }
                }
                Err(daybook_consensus::ProposalFailure::NotLeader) => {
                    waiters.into_iter().for_each(|waiter| waiter.answer(Err(ProposeError::NotLeader)));
                }
            }
        };
        self.consensus.propose(entry, Box::new(done)).await
    }

    /// Asks for a checkpoint when one is due. Whether writers must wait for the one that runs.
    async fn look_at_checkpoint(
        &self,
        checkpoint: &mut CheckpointClock,
        look_at: &mut Instant,
    ) -> Result<bool, Stopped> {
        let now = Instant::now();
        let status = self.consensus.status();
        if checkpoint.running_to.is_some_and(|lsn| status.checkpoint >= lsn) {
            checkpoint.running_to = None;
            checkpoint.last = now;
            self.status.send_modify(|shown| shown.checkpoint = status.checkpoint);
        }
        let wal_bytes = self.wal.bytes_after(status.checkpoint);
        if now >= *look_at {
            *look_at = now + LOOK_INTERVAL;
            metrics::gauge!("daybook_wal_bytes_since_checkpoint").set(wal_bytes as f64);
            metrics::gauge!("daybook_applied_lsn").set(status.applied.0 as f64);
        }
        let since = now.duration_since(checkpoint.last);
        let is_due = wal_bytes >= self.options.checkpoint_wal_bytes
            || since >= self.options.checkpoint_interval
            || (since >= REWRITTEN_INTERVAL && self.files.has_rewritten());
        if is_due && checkpoint.running_to.is_none() && status.applied > status.checkpoint {
            self.consensus.request_checkpoint().await?;
            checkpoint.running_to = Some(status.applied);
        }
        Ok(wal_bytes >= self.options.checkpoint_wal_bytes.saturating_mul(WAL_GROWTH_MAX))
    }

    /// The final checkpoint, so that the next start has nothing to replay.
    async fn finish(&self) -> Result<(), Stopped> {
        loop {
            let status = self.consensus.status();
            if status.applied <= status.checkpoint {
                return Ok(());
            }
            // Asking is in vain while one is being written; then that one comes first, and it is asked again.
            self.consensus.request_checkpoint().await?;
            self.consensus.checkpointed(status.checkpoint.next()).await?;
        }
    }

    fn poison(&self, stopped: &Stopped) {
        tracing::error!(cause = %stopped.cause, "the shard takes no more writes; reads go on");
        metrics::gauge!("daybook_shard_failed").set(1.0);
        self.status.send_modify(|status| status.failure = Some(Arc::clone(&stopped.cause)));
    }

    async fn refuse(&mut self, stopped: &Stopped) {
        loop {
            let proposal = tokio::select! {
                () = self.stop.told() => return,
                proposal = self.inbox.proposals.recv() => proposal,
            };
            let Some(proposal) = proposal else { return };
            let (_, waiter) = proposal.split();
            waiter.answer(Err(ProposeError::Poisoned { cause: Arc::clone(&stopped.cause) }));
        }
    }
}

/// Waits for the running checkpoint; for ever if there is none.
async fn checkpointed<P: Posting>(consensus: &Consensus<Poster<P>>, running_to: Option<Lsn>) -> Result<(), Stopped> {
    match running_to {
        Some(lsn) => consensus.checkpointed(lsn).await,
        None => std::future::pending().await,
    }
}

impl Stop {
    async fn told(&mut self) {
        // An error means that the handle was dropped.
        let _ = self.0.wait_for(|told| *told).await;
    }
}

impl Gathering {
    fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.waiters.is_empty()
    }

    /// Takes what waits, up to a full entry; one larger proposal makes an entry of its own.
    fn fill(&mut self, left_over: &mut Option<Proposal>, inbox: &mut Inbox) {
        while self.bytes < ENTRY_BYTES_MAX {
            let Some(proposal) = left_over.take().or_else(|| inbox.proposals.try_recv().ok()) else { return };
            if !self.is_empty() && self.bytes + proposal.bytes > ENTRY_BYTES_MAX {
                *left_over = Some(proposal);
                return;
            }
            self.add(proposal);
        }
    }

    fn add(&mut self, proposal: Proposal) {
        self.bytes += proposal.bytes;
        let (mut commands, waiter) = proposal.split();
        self.commands.append(&mut commands);
        self.waiters.push(waiter);
    }
}
