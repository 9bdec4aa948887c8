//! How much was delivered, how fast, and how long consumers took.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::core::ItemId;
use crate::info::Rate;

/// As many as KurrentDB looks back on.
const WINDOW: usize = 1000;

/// Counts deliveries between two looks.
#[derive(Debug)]
pub(super) struct Counter {
    total: u64,
    seen: u64,
    looked: Instant,
}

impl Counter {
    pub fn new(now: Instant) -> Self {
        Self { total: 0, seen: 0, looked: now }
    }

    pub fn add(&mut self) {
        self.total += 1;
    }

    /// Begins a new span.
    pub fn look(&mut self, now: Instant) -> Rate {
        let recent = self.total - self.seen;
        let span = now.duration_since(self.looked);
        let per_second = if span.is_zero() { 0 } else { (recent as f64 / span.as_secs_f64()) as u64 };
        (self.seen, self.looked) = (self.total, now);
        Rate { total: self.total, recent, per_second }
    }
}

/// How long a consumer holds its items.
#[derive(Debug, Default)]
pub(super) struct Stopwatch {
    running: HashMap<ItemId, Instant>,
    last: VecDeque<Duration>,
}

impl Stopwatch {
    pub fn start(&mut self, item: ItemId, now: Instant) {
        self.running.insert(item, now);
    }

    pub fn stop(&mut self, item: ItemId, now: Instant) {
        if let Some(start) = self.running.remove(&item) {
            if self.last.len() >= WINDOW {
                self.last.pop_front();
            }
            self.last.push_back(now.duration_since(start));
        }
    }

    /// KurrentDB's figures of the last ones, in milliseconds; none without any.
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        let mut sorted: Vec<u64> = self.last.iter().map(|time| time.as_millis() as u64).collect();
        sorted.sort_unstable();
        let (Some(fastest), Some(highest)) = (sorted.first(), sorted.last()) else { return Vec::new() };
        let at = |per_mille: usize| sorted[(per_mille * sorted.len() / 1000).min(sorted.len() - 1)];
        vec![
            ("Mean", sorted.iter().sum::<u64>() / sorted.len() as u64),
            ("Median", at(500)),
            ("Fastest", *fastest),
            ("Quintile 1", at(0)),
            ("Quintile 2", at(200)),
            ("Quintile 3", at(400)),
            ("Quintile 4", at(600)),
            ("Quintile 5", at(800)),
            ("90%", at(900)),
            ("95%", at(950)),
            ("99%", at(990)),
            ("99.5%", at(995)),
            ("99.9%", at(999)),
            ("Highest", *highest),
        ]
    }
}
