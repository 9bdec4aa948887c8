//! A share-partition in memory: its window, and the one writer of what the log keeps of it.
//!
//! The whole state is written each time, so a write that follows has in it what one before had; whoever waits for a change is
//! answered once a state that is at least as new is applied. The window goes ahead of what is kept: where a write fails, the
//! change stands here and is kept with the next one, or never was after a restart. Its member was told that it failed.

use std::sync::Arc;

use daybook_command::{Command, Outcome, PutSharePartition, SharePartitionState};
use daybook_delivery::MonotonicMs;
use daybook_types::{GroupId, Offset, PartitionId, TimestampMs};
use parking_lot::Mutex;

use super::Inner;
use crate::config::Reset;
use crate::core::Window;
use crate::error::ShareError;

pub(super) struct SharePartition {
    pub group: GroupId,
    pub partition: PartitionId,
    /// None until it was read from what is kept, and again when that was changed by another hand.
    window: Mutex<Option<Window>>,
    /// The revision that is kept. Held while a state is written.
    written: tokio::sync::Mutex<u64>,
}

/// The right to write, and with it to change what is kept by another way than the window.
pub(super) type Writing<'a> = tokio::sync::MutexGuard<'a, u64>;

impl SharePartition {
    pub fn new(group: GroupId, partition: PartitionId) -> Self {
        Self { group, partition, window: Mutex::default(), written: tokio::sync::Mutex::new(0) }
    }

    /// Lets something happen to the window, if it is there.
    pub fn change(&self, change: impl FnOnce(&mut Window) -> bool) -> bool {
        self.window.lock().as_mut().is_some_and(change)
    }

    /// The same for what has a result.
    pub fn with<T>(&self, event: impl FnOnce(&mut Window) -> T) -> Result<T, ShareError> {
        self.window.lock().as_mut().map(event).ok_or(ShareError::Fenced)
    }

    pub fn next_deadline(&self) -> Option<MonotonicMs> {
        self.window.lock().as_ref().and_then(Window::next_deadline)
    }

    pub async fn writing(&self) -> Writing<'_> {
        self.written.lock().await
    }

    /// What is kept was changed by who holds the right to write.
    pub fn forget(&self, writing: &mut Writing<'_>) {
        **writing = 0;
        *self.window.lock() = None;
    }

    /// Makes the window from what is kept. Where nothing is, its start offset is found and kept first.
    pub async fn load(&self, inner: &Inner) -> Result<(), ShareError> {
        if self.window.lock().is_some() {
            return Ok(());
        }
        let mut writing = self.writing().await;
        if self.window.lock().is_some() {
            return Ok(());
        }
        let state = match inner.reader.share_partition(&self.group, self.partition) {
            Some(state) => state,
            None => {
                let state = SharePartitionState { start: self.first_offset(inner).await?, ..Default::default() };
                self.put(inner, None, state.clone()).await?;
                state
            }
        };
        *writing = 0;
        *self.window.lock() = Some(Window::restore(&state));
        Ok(())
    }

    /// Keeps the window as it is at least.
    pub async fn keep(&self, inner: &Inner) -> Result<(), ShareError> {
        let asked = self.with(|window| window.revision())?;
        let mut writing = self.writing().await;
        if *writing >= asked {
            return Ok(());
        }
        let (revision, state) = self.with(|window| (window.revision(), window.state()))?;
        match self.put(inner, Some(state.epoch), state).await {
            Ok(()) => *writing = revision,
            Err(error) => {
                if matches!(error, ShareError::Refused(_)) {
                    self.forget(&mut writing);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    pub async fn put(&self, inner: &Inner, only_if: Option<i32>, state: SharePartitionState) -> Result<(), ShareError> {
        let put = PutSharePartition { group: self.group.clone(), partition: self.partition, only_if, state };
        match inner.propose(Command::PutSharePartition(put)).await? {
            Outcome::PutSharePartition(outcome) => Ok(outcome?),
            _ => Err(ShareError::Lost),
        }
    }

    async fn first_offset(&self, inner: &Inner) -> Result<Offset, ShareError> {
        let ends = inner.reader.partition(self.partition).ok_or(ShareError::UnknownPartition)?;
        match inner.group_settings(&self.group).reset {
            Reset::Earliest => Ok(ends.start_offset),
            Reset::Latest => Ok(ends.end_offset),
            Reset::ByDuration(before_ms) => {
                let at = wall_clock().0.saturating_sub(i64::try_from(before_ms).unwrap_or(i64::MAX));
                let (reader, partition) = (inner.reader.clone(), self.partition);
                let look = move || reader.offset_for_timestamp(partition, TimestampMs(at.max(0)));
                let found = tokio::task::spawn_blocking(look).await.map_err(|_| ShareError::Lost)??;
                Ok(found.map_or(ends.end_offset, |(offset, _)| offset))
            }
        }
    }
}

impl Inner {
    /// The share-partition, made if it isn't in memory.
    pub(super) fn share_partition(
        &self,
        group: &GroupId,
        partition: PartitionId,
    ) -> Result<Arc<SharePartition>, ShareError> {
        let mut partitions = self.partitions.lock();
        let key = (group.clone(), partition);
        if let Some(found) = partitions.get(&key) {
            return Ok(Arc::clone(found));
        }
        if self.reader.partition(partition).is_none() {
            return Err(ShareError::UnknownPartition);
        }
        if partitions.len() >= self.settings.share_partitions_max {
            // Nobody works with one that only this table holds and in which nothing is acquired.
            partitions.retain(|_, idle| Arc::strong_count(idle) > 1 || idle.next_deadline().is_some());
            if partitions.len() >= self.settings.share_partitions_max {
                return Err(ShareError::Full);
            }
        }
        let made = Arc::new(SharePartition::new(group.clone(), partition));
        partitions.insert(key, Arc::clone(&made));
        Ok(made)
    }

    pub(super) async fn propose(&self, command: Command) -> Result<Outcome, ShareError> {
        let mut applied = self.door.propose(vec![command]).await?.await?;
        applied.outcomes.pop().ok_or(ShareError::Lost)
    }
}

fn wall_clock() -> TimestampMs {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    TimestampMs(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
