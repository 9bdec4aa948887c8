//! Keeps a flood of bad peers from becoming a flood of log lines.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Lets so many lines through in a window and counts the rest.
#[derive(Debug)]
pub(crate) struct LogLimit {
    lines_max: u32,
    window: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    window_start: Instant,
    lines: u32,
    suppressed: u64,
}

impl LogLimit {
    pub fn new(lines_max: u32, window: Duration, now: Instant) -> Self {
        Self { lines_max, window, state: Mutex::new(State { window_start: now, lines: 0, suppressed: 0 }) }
    }

    /// Whether a line may be written now; if so, how many were not since the last that was.
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock();
        if now.saturating_duration_since(state.window_start) >= self.window {
            state.window_start = now;
            state.lines = 0;
        }
        if state.lines == self.lines_max {
            state.suppressed += 1;
            return None;
        }
        state.lines += 1;
        Some(std::mem::take(&mut state.suppressed))
    }
}

#[cfg(test)]
mod tests;
