//! Wakes writers when records are due.
//!
//! The runtime's own timers have millisecond steps, which at thousands of records a second would be most of the
//! latency measured; a thread that sleeps is exact to some 50 microseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Shortest time between two wakings, so that the client doesn't take the CPU it measures.
const STEP_MIN: Duration = Duration::from_micros(200);

#[derive(Debug)]
pub struct Pacer {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pacer {
    /// Wakes all of `writers` every `step` from `start` on.
    pub fn start(start: Instant, step: Duration, writers: Vec<Arc<Notify>>) -> anyhow::Result<Self> {
        let step = step.max(STEP_MIN);
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = is_over.clone();
        let run = move || {
            let mut next = start;
            while !seen.load(Ordering::Relaxed) {
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
                writers.iter().for_each(|writer| writer.notify_one());
                // Late is late: the writers know what is due, so steps missed needn't be made up.
                next = (next + step).max(Instant::now());
            }
        };
        let thread = std::thread::Builder::new().name("pacer".to_owned()).spawn(run)?;
        Ok(Self { is_over, thread: Some(thread) })
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It can't have panicked, and here is nobody to tell.
            let _ = thread.join();
        }
    }
}
