//! Waiting for a condition, never for a time.

use std::time::{Duration, Instant};

/// Between two looks: short against what is waited for, long against the look.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks until there is something to see; `None` when the time is up first.
pub fn wait_until<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Looks until `look` succeeds; fails the test with the last reason when the time is up first.
pub fn eventually<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Result<T, String>) -> T {
    let mut last = String::new();
    let seen = wait_until(patience, || look().map_err(|reason| last = reason).ok());
    seen.unwrap_or_else(|| panic!("{what}: not within {patience:?}; at last: {last}"))
}
