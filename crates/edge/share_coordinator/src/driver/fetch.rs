//! Reading and acquiring.
//!
//! Where there is something to acquire is read first, outside of any lock, batch by batch; then it is acquired, as far as nobody
//! else was faster. Batches of which nothing was acquired are dropped.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use daybook_partition::{Fate, PartitionLog};
use daybook_read::{Piece, ReadError, Reader};
use daybook_record::{BatchHeader, HEADER_BYTES};
use daybook_types::{GroupId, Offset, PartitionId};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::partition::SharePartition;
use super::{Inner, ShareCoordinator};
use crate::config::GroupSettings;
use crate::core::{Acquired, Ask, SessionAsk, SessionKey, Span};
use crate::error::ShareError;
use crate::ident::MemberId;

#[derive(Clone, Debug)]
pub struct FetchAsk {
    pub group: GroupId,
    pub member: MemberId,
    /// In the order in which they are looked at.
    pub partitions: Vec<PartitionId>,
    pub wait_max: Duration,
    pub bytes_min: usize,
    pub bytes_max: usize,
    pub records_max: u64,
    /// Whether batches may be acquired in part, so that `records_max` holds exactly.
    pub exact: bool,
}

/// What there is to tell of a partition.
#[derive(Debug)]
pub struct Fetched {
    pub partition: PartitionId,
    pub outcome: Result<(), ShareError>,
    /// Whole batches; only what is named in `acquired` is the member's.
    pub pieces: Vec<Piece>,
    pub bytes: usize,
    pub acquired: Vec<Acquired>,
}

/// Batches as they were read: the first offset that was asked of each, its end, and its bytes.
#[derive(Default)]
struct Looked {
    batches: Vec<(u64, u64)>,
    pieces: Vec<(Vec<Piece>, usize)>,
    bytes: usize,
    /// Records of aborted transactions, where only committed ones are wanted.
    aborted: Vec<RangeInclusive<u64>>,
}

impl ShareCoordinator {
    /// The partitions of the member's session, after this request.
    pub fn begin_fetch(&self, key: &SessionKey, ask: SessionAsk) -> Result<Vec<PartitionId>, ShareError> {
        let is_new = ask.epoch == 0;
        let partitions = self.inner.sessions.lock().fetch(key, ask)?;
        if is_new {
            // A member that begins anew has forgotten what it had.
            self.inner.release(key);
        }
        Ok(partitions)
    }

    /// Acquires what is there, or waits for it. Tells of partitions that have something, or an error.
    pub async fn fetch(&self, ask: &FetchAsk, mut stopping: watch::Receiver<bool>) -> Vec<Fetched> {
        let inner = &self.inner;
        let deadline = Instant::now() + ask.wait_max;
        let mut failed = Vec::new();
        let mut targets = Vec::new();
        for partition in &ask.partitions {
            match inner.ready(&ask.group, *partition).await {
                Ok(target) => targets.push(target),
                Err(error) => failed.push(Fetched::failed(*partition, error)),
            }
        }
        let existing: Vec<PartitionId> = targets.iter().map(|target| target.partition).collect();
        let mut released = inner.released_in(&ask.group);
        loop {
            // Both made before the look: what comes after it ends the wait.
            released.borrow_and_update();
            let mut watch = inner.reader.watch(&existing);
            let is_last = Instant::now() >= deadline;
            let (fetched, has_archived) = inner.look_and_acquire(ask, &targets, is_last).await;
            if has_archived && fetched.is_empty() && !is_last {
                // What lies behind the aborted records may be there already.
                continue;
            }
            if is_last || fetched.iter().any(|one| one.bytes > 0 || one.outcome.is_err()) {
                return failed.into_iter().chain(fetched).collect();
            }
            tokio::select! {
                _ = timeout_at(deadline, watch.changed()) => {}
                _ = released.changed() => {}
                _ = stopping.wait_for(|stopping| *stopping) => return failed,
            }
        }
    }
}

impl Inner {
    async fn ready(&self, group: &GroupId, partition: PartitionId) -> Result<Arc<SharePartition>, ShareError> {
        let target = self.share_partition(group, partition)?;
        target.load(self).await?;
        Ok(target)
    }

    fn released_in(&self, group: &GroupId) -> watch::Receiver<u64> {
        let mut all = self.released.lock();
        // Before the table grows, those go whom nobody listens to.
        if all.len() == all.capacity() {
            all.retain(|_, released| released.receiver_count() > 0);
        }
        all.entry(group.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    async fn look_and_acquire(
        self: &Arc<Self>,
        ask: &FetchAsk,
        targets: &[Arc<SharePartition>],
        is_last: bool,
    ) -> (Vec<Fetched>, bool) {
        let settings = self.group_settings(&ask.group);
        let mut looked = Vec::with_capacity(targets.len());
        let mut left = ask.bytes_max;
        let mut is_first = true;
        for target in targets {
            let one = self.look(target, ask, &settings, left, is_first).await;
            let bytes = one.as_ref().map_or(0, |looked| looked.bytes);
            left = left.saturating_sub(bytes);
            is_first &= bytes == 0;
            looked.push((target, one));
        }
        let bytes: usize = looked.iter().map(|(_, one)| one.as_ref().map_or(0, |looked| looked.bytes)).sum();
        let has_error = looked.iter().any(|(_, one)| one.is_err());
        if bytes < ask.bytes_min && !is_last && !has_error {
            return (Vec::new(), false);
        }
        let mut has_archived = false;
        let mut records_left = ask.records_max;
        let mut told = Vec::new();
        for (target, one) in looked {
            let fetched = match one {
                Ok(looked) if !looked.aborted.is_empty() && self.archive(target, &looked.aborted) => {
                    has_archived = true;
                    self.acquire(target, looked, ask, &settings, &mut records_left)
                }
                Ok(looked) => self.acquire(target, looked, ask, &settings, &mut records_left),
                Err(error) => Some(Fetched::failed(target.partition, error)),
            };
            told.extend(fetched);
        }
        (told, has_archived)
    }

    /// Records of aborted transactions are nobody's.
    fn archive(self: &Arc<Self>, target: &Arc<SharePartition>, aborted: &[RangeInclusive<u64>]) -> bool {
        let before = target.with(|window| window.revision()).unwrap_or(0);
        let has_archived = target.change(|window| {
            aborted.iter().for_each(|range| window.archive(range.clone()));
            window.revision() != before
        });
        if has_archived {
            self.keep_later(Arc::clone(target));
        }
        has_archived
    }

    /// Reads where there is something to acquire.
    async fn look(
        self: &Arc<Self>,
        target: &Arc<SharePartition>,
        ask: &FetchAsk,
        settings: &GroupSettings,
        bytes_max: usize,
        at_least_one: bool,
    ) -> Result<Looked, ShareError> {
        if bytes_max == 0 && !at_least_one {
            return Ok(Looked::default());
        }
        let ends = self.reader.partition(target.partition).ok_or(ShareError::UnknownPartition)?;
        let log = self.reader.log(target.partition).filter(|_| settings.read_committed);
        let end = log.as_ref().map_or(ends.end_offset, |log| log.look(|tail| tail.stable));
        let (start, end) = (number(ends.start_offset), number(end));
        let now = self.now();
        let (spans, has_moved) = target.with(|window| {
            let has_moved = window.advance(start) | window.expire(&settings.rules, now);
            (window.spans(ask.records_max, &settings.rules), has_moved)
        })?;
        if has_moved {
            self.keep_later(Arc::clone(target));
        }
        let spans: Vec<Span> = spans.into_iter().filter(|span| span.first < end).collect();
        let Some(first) = spans.first() else { return Ok(Looked::default()) };
        let (partition, records_max) = (target.partition, ask.records_max);
        let is_hot = self.reader.is_hot(partition, Offset(i64::try_from(first.first).unwrap_or(i64::MAX)));
        let reader = self.reader.clone();
        let limits = Limits { end, records_max, bytes_max, at_least_one };
        let read = move || read_spans(&reader, partition, &spans, limits, log.as_deref());
        let looked =
            if is_hot { read() } else { tokio::task::spawn_blocking(read).await.map_err(|_| ShareError::Lost)? };
        Ok(looked?)
    }

    fn acquire(
        &self,
        target: &SharePartition,
        looked: Looked,
        ask: &FetchAsk,
        settings: &GroupSettings,
        records_left: &mut u64,
    ) -> Option<Fetched> {
        if looked.batches.is_empty() || *records_left == 0 {
            return None;
        }
        let now = self.now();
        let wish = Ask { records_max: *records_left, exact: ask.exact };
        let acquired = target.with(|window| window.acquire(&ask.member, &looked.batches, wish, &settings.rules, now));
        let acquired = match acquired {
            Ok(acquired) => acquired,
            Err(error) => return Some(Fetched::failed(target.partition, error)),
        };
        if acquired.is_empty() {
            return None;
        }
        self.wake_timer_for(now.plus(settings.rules.lock_ms));
        let count: u64 = acquired.iter().map(|run| run.last - run.first + 1).sum();
        *records_left = records_left.saturating_sub(count);
        let mut fetched =
            Fetched { partition: target.partition, outcome: Ok(()), pieces: Vec::new(), bytes: 0, acquired };
        for ((first, end), (pieces, bytes)) in looked.batches.iter().zip(looked.pieces) {
            if fetched.acquired.iter().any(|run| run.first < *end && run.last >= *first) {
                fetched.pieces.extend(pieces);
                fetched.bytes += bytes;
            }
        }
        Some(fetched)
    }
}

impl Fetched {
    fn failed(partition: PartitionId, error: ShareError) -> Self {
        Self { partition, outcome: Err(error), pieces: Vec::new(), bytes: 0, acquired: Vec::new() }
    }
}

/// How far to read.
#[derive(Clone, Copy)]
struct Limits {
    /// Exclusive: high watermark, or last stable offset.
    end: u64,
    records_max: u64,
    bytes_max: usize,
    at_least_one: bool,
}

fn read_spans(
    reader: &Reader,
    partition: PartitionId,
    spans: &[Span],
    limits: Limits,
    committed_in: Option<&PartitionLog>,
) -> Result<Looked, ReadError> {
    let Limits { end, records_max, bytes_max, at_least_one } = limits;
    let mut looked = Looked::default();
    let mut records = 0;
    // Up to where the last batch reached: a span that begins in it is read already.
    let mut read_to = 0;
    for span in spans {
        let mut at = span.first.max(read_to);
        while at < end && span.last.is_none_or(|last| at <= last) {
            let is_first = looked.bytes == 0;
            if records >= records_max || (looked.bytes >= bytes_max && !(is_first && at_least_one)) {
                return Ok(looked);
            }
            let fetched = reader.read(partition, Offset(i64::try_from(at).unwrap_or(i64::MAX)), 1, true)?;
            let next = number(fetched.next_offset);
            let is_too_much = looked.bytes + fetched.bytes > bytes_max && !(is_first && at_least_one);
            if fetched.bytes == 0 || next <= at || is_too_much {
                return Ok(looked);
            }
            if let Some(log) = committed_in
                && let Some(aborted) = aborted(log, &fetched.pieces)?
            {
                looked.aborted.push(at..=aborted);
                (at, read_to) = (next, next);
                continue;
            }
            records += span.last.map_or(next, |last| next.min(last + 1)) - at;
            looked.batches.push((at, next));
            looked.pieces.push((fetched.pieces, fetched.bytes));
            looked.bytes += fetched.bytes;
            (at, read_to) = (next, next);
        }
    }
    Ok(looked)
}

/// The last offset of a batch of an aborted transaction.
fn aborted(log: &PartitionLog, pieces: &[Piece]) -> Result<Option<u64>, ReadError> {
    let mut head = Vec::with_capacity(HEADER_BYTES);
    for piece in pieces {
        let wanted = HEADER_BYTES - head.len();
        match piece {
            Piece::Memory(bytes) => head.extend_from_slice(&bytes[..bytes.len().min(wanted)]),
            Piece::File(slice) => {
                let mut read = vec![0; wanted.min(slice.bytes)];
                let count = slice.file.read_at(&mut read, slice.at)?;
                head.extend_from_slice(&read[..count]);
            }
        }
    }
    let header = BatchHeader::read(&head)?;
    let is_aborted = header.is_transactional()
        && !header.is_control()
        && log.fate(header.producer_id, header.base_offset) == Fate::Aborted;
    Ok(is_aborted.then(|| number(header.last_offset())))
}

fn number(offset: Offset) -> u64 {
    u64::try_from(offset.0).unwrap_or(0)
}
