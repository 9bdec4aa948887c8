//! Keeps work on disk to so many bytes a second, and ends it when told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

/// Longest sleep without a look at whether to stop.
const NAP_MAX: Duration = Duration::from_millis(100);

/// The work was told to stop.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("told to stop")]
pub struct Stopped;

/// A word by which others stop the work. Clones are one word.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn tell(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn take_back(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    pub fn look(&self) -> Result<(), Stopped> {
        if self.0.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }

    pub fn sleep(&self, time: Duration) -> Result<(), Stopped> {
        let began = Instant::now();
        loop {
            self.look()?;
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(NAP_MAX));
        }
    }
}

/// Counts the bytes of one piece of work.
#[derive(Debug)]
pub struct Pace {
    bytes_per_second_max: u64,
    stop: Stop,
    began: Instant,
    bytes: u64,
}

impl Pace {
    pub fn new(bytes_per_second_max: u64, stop: Stop) -> Self {
        Self { bytes_per_second_max, stop, began: Instant::now(), bytes: 0 }
    }

    /// So many more bytes were read or written: waits until they may have been.
    pub fn worked(&mut self, bytes: u64) -> Result<(), Stopped> {
        self.bytes += bytes;
        let due = Duration::from_secs_f64(self.bytes as f64 / self.bytes_per_second_max.max(1) as f64);
        self.stop.sleep(due.saturating_sub(self.began.elapsed()))
    }
}
