//! How a WAL is to behave.

use crate::format::{PAYLOAD_BYTES_MAX, SEGMENT_HEADER_BYTES};

/// See the fields; `Options::default()` is what a shard uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Length of a segment file. One larger record makes a segment of its own.
    pub segment_bytes: u64,
    /// Length of the first segment of a log made anew: short, so that starting on an empty directory is quick.
    pub first_segment_bytes: u64,
    /// How many unused segment files are kept for what comes. With 0, a writer makes each segment when it needs it.
    pub spare_segments_max: usize,
    pub sync: SyncPolicy,
}

/// When an append counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Once an fdatasync covers it.
    Always,
    /// Once the operating system has it: a power cut may lose the last moments, a crash of the process can't. The file
    /// is still synced now and then (each [`OS_SYNC_BYTES`], at the end of a segment, on truncation, purge and close).
    Os,
}

/// Under [`SyncPolicy::Os`], bytes after which a sync is started in the background.
pub const OS_SYNC_BYTES: u64 = 64 * MIB;

/// Unsynced bytes beyond which an append first waits for the running sync.
pub const UNSYNCED_BYTES_MAX: u64 = 256 * MIB;

/// Appends waiting for a sync beyond which one more first waits for the running sync.
pub const WAITING_APPENDS_MAX: usize = 16 * 1024;

const MIB: u64 = 1024 * 1024;

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes: 64 * MIB, first_segment_bytes: 4 * MIB, spare_segments_max: 2, sync: SyncPolicy::Always }
    }
}

impl Options {
    /// The same with lengths that positions of 32 bits can address and that have room for something.
    pub(crate) fn in_range(self) -> Self {
        let least = SEGMENT_HEADER_BYTES + 1024;
        let clamp = |bytes: u64| bytes.clamp(least, PAYLOAD_BYTES_MAX as u64).next_multiple_of(8);
        Self { segment_bytes: clamp(self.segment_bytes), first_segment_bytes: clamp(self.first_segment_bytes), ..self }
    }
}
