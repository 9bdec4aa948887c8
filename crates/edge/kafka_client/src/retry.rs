//! How long and how often what may succeed later is repeated.

use std::time::Duration;

use tokio::time::Instant;

/// Pauses that double from 20 ms to a second, until the time is up.
#[derive(Debug)]
pub(crate) struct Retry {
    deadline: Instant,
    pause: Duration,
}

const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

impl Retry {
    pub fn new(timeout_ms: u64) -> Self {
        Self { deadline: Instant::now() + Duration::from_millis(timeout_ms), pause: PAUSE_MIN }
    }

    /// Waits before another attempt; false when the time is up.
    pub async fn again(&mut self) -> bool {
        if Instant::now() + self.pause > self.deadline {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }
}
