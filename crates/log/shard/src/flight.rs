//! Entries between proposal and answer: how many, and whether one more may go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// While this many entries are under way, commands gather for the next: one is being fsynced, one is being written.
const ENTRIES_SMALL_MAX: usize = 2;
/// Full entries need not gather: as many bytes may be under way.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// From here on an entry counts as full.
pub(crate) const FULL_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Flight {
    entries: AtomicUsize,
    bytes: AtomicUsize,
    landed: Notify,
}

impl Flight {
    /// Whether an entry of `bytes` may be proposed now.
    pub fn has_room_for(&self, bytes: usize) -> bool {
        let entries = self.entries.load(Ordering::Acquire);
        if entries < ENTRIES_SMALL_MAX {
            return true;
        }
        bytes >= FULL_BYTES && self.bytes.load(Ordering::Acquire) + bytes <= BYTES_MAX
    }

    pub fn is_empty(&self) -> bool {
        self.entries.load(Ordering::Acquire) == 0
    }

    /// An entry takes off; it lands when what is returned is dropped.
    pub fn take_off(self: &Arc<Self>, bytes: usize) -> Landing {
        self.entries.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        Landing { flight: Arc::clone(self), bytes }
    }

    /// Waits until an entry lands. One that landed since the last call counts.
    pub async fn landed(&self) {
        self.landed.notified().await;
    }
}

/// Dropped when the entry is answered or given up.
#[derive(Debug)]
pub(crate) struct Landing {
    flight: Arc<Flight>,
    bytes: usize,
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.flight.entries.fetch_sub(1, Ordering::AcqRel);
        self.flight.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        self.flight.landed.notify_one();
    }
}
