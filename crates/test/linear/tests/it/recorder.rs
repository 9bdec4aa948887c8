//! Writes the history down while it happens. A tick is taken before a request is sent and after its answer has come.

use std::sync::atomic::{AtomicU64, Ordering};

use daybook_linear::{Attempt, History, Look, LookedAt, Outcome, Request};
use parking_lot::Mutex;

#[derive(Default)]
pub struct Recorder {
    ticks: AtomicU64,
    /// Requests that have an answer.
    answered: AtomicU64,
    history: Mutex<History>,
}

impl Recorder {
    pub fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    /// The request's number.
    pub fn request(&self, request: Request) -> u32 {
        let requests = &mut self.history.lock().requests;
        requests.push(request);
        requests.len() as u32 - 1
    }

    pub fn attempt(&self, request: u32, begin: u64, outcome: Outcome) {
        let end = self.tick();
        if outcome != Outcome::Unknown {
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        self.history.lock().attempts.push(Attempt { request, begin, end, outcome });
    }

    pub fn look(&self, begin: u64, at: LookedAt) {
        let end = self.tick();
        self.history.lock().looks.push(Look { begin, end, at });
    }

    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// What was written down until now.
    pub fn take(&self) -> History {
        std::mem::take(&mut self.history.lock())
    }
}
