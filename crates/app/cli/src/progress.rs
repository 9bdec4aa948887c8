//! Progress on standard error, for people only: nothing is drawn unless it is a terminal and the work takes longer
//! than a second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    Bytes,
    Records,
}

/// A bar that appears after a second.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    starts_at: Instant,
    is_drawn: bool,
    total: Option<u64>,
    unit: Unit,
}

const QUIET: Duration = Duration::from_secs(1);

impl Progress {
    /// `total` is `None` where nobody knows how much there is.
    pub fn new(unit: Unit, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        Self { bar, starts_at: Instant::now() + QUIET, is_drawn: !std::io::stderr().is_terminal(), total, unit }
    }

    pub fn advance(&mut self, count: u64) {
        self.bar.inc(count);
        if !self.is_drawn && Instant::now() >= self.starts_at {
            self.is_drawn = true;
            let template = match (self.unit, self.total) {
                (Unit::Bytes, Some(_)) => "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
                (Unit::Bytes, None) => "{spinner} {bytes} {bytes_per_sec}",
                (Unit::Records, Some(_)) => "{wide_bar} {human_pos}/{human_len} records {per_sec} {eta}",
                (Unit::Records, None) => "{spinner} {human_pos} records {per_sec}",
            };
            let style = ProgressStyle::with_template(template).expect("the templates above are valid");
            self.bar.set_style(style);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
