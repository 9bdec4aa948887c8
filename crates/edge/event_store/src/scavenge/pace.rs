//! Keeps work on disk to so many bytes a second, and ends it when told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Broken;

/// Longest sleep without a look at whether to stop.
const NAP_MAX: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Pace {
    bytes_per_second_max: u64,
    stop: Arc<AtomicBool>,
    began: Instant,
    bytes: u64,
}

impl Pace {
    pub fn new(bytes_per_second_max: u64, stop: Arc<AtomicBool>) -> Self {
        Self { bytes_per_second_max, stop, began: Instant::now(), bytes: 0 }
    }

    /// So many more bytes were read or written: waits until they may have been.
    pub fn worked(&mut self, bytes: u64) -> Result<(), Broken> {
        self.bytes += bytes;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Broken::Stopped);
            }
            let due = Duration::from_secs_f64(self.bytes as f64 / self.bytes_per_second_max as f64);
            let early = due.saturating_sub(self.began.elapsed());
            if early.is_zero() {
                return Ok(());
            }
            thread::sleep(early.min(NAP_MAX));
        }
    }
}
