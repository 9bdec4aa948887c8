//! How much a second, over a sliding window: eleven samples of a second each, as Kafka's `Rate` and `SampledStat` take it by default
//! (`quota.window.num`, `quota.window.size.seconds`).

use std::collections::VecDeque;

pub(super) const WINDOW_MS: u64 = 1_000;
const SAMPLES: u64 = 11;
/// The sample that goes on isn't whole.
pub(super) const WHOLE_WINDOWS: u64 = SAMPLES - 1;

#[derive(Debug, Default)]
pub(super) struct Rate {
    /// Oldest first.
    samples: VecDeque<Sample>,
}

#[derive(Debug)]
struct Sample {
    begun_ms: u64,
    last_ms: u64,
    value: f64,
}

impl Rate {
    pub fn record(&mut self, value: f64, now_ms: u64) {
        match self.samples.back_mut().filter(|sample| now_ms.saturating_sub(sample.begun_ms) < WINDOW_MS) {
            Some(sample) => {
                sample.value += value;
                sample.last_ms = now_ms;
            }
            None => self.samples.push_back(Sample { begun_ms: now_ms, last_ms: now_ms, value }),
        }
        self.forget_old(now_ms);
    }

    /// How long to wait until the rate, without anything more, has come down to `bound` a second.
    pub fn throttle_ms(&mut self, bound: f64, now_ms: u64) -> u32 {
        self.forget_old(now_ms);
        let window_ms = self.window_ms(now_ms) as f64;
        let rate = self.samples.iter().map(|sample| sample.value).sum::<f64>() / (window_ms / 1_000.0);
        if rate <= bound {
            return 0;
        }
        // More than fits becomes the most that an answer can tell.
        ((rate - bound) / bound * window_ms).round().min(f64::from(i32::MAX)) as u32
    }

    pub fn last_ms(&self) -> u64 {
        self.samples.back().map_or(0, |sample| sample.last_ms)
    }

    /// Whether nothing of it counts any more.
    pub fn is_over(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.last_ms()) >= SAMPLES * WINDOW_MS
    }

    fn forget_old(&mut self, now_ms: u64) {
        let is_old = |sample: &Sample| now_ms.saturating_sub(sample.last_ms) >= SAMPLES * WINDOW_MS;
        while self.samples.front().is_some_and(is_old) {
            self.samples.pop_front();
        }
    }

    /// The time since the oldest sample; but a rate is never taken over less than all whole windows, or the first second of a
    /// client would count as its rate.
    fn window_ms(&self, now_ms: u64) -> u64 {
        let elapsed_ms = self.samples.front().map_or(0, |oldest| now_ms.saturating_sub(oldest.begun_ms));
        let missing = WHOLE_WINDOWS.saturating_sub(elapsed_ms / WINDOW_MS);
        (elapsed_ms + missing * WINDOW_MS).max(1)
    }
}
