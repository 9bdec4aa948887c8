//! Which bytes of a segment this process has checked.

use std::iter;
use std::ops::Range;

/// So many separate ranges are remembered; readers that hop about make no more of them, they check again.
const RANGES_MAX: usize = 64;

/// A set of bytes as ascending ranges that don't touch.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    ranges: Vec<Range<u64>>,
}

impl Ranges {
    /// The parts of `wanted` that aren't in the set, ascending.
    pub(crate) fn missing(&self, wanted: Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut from = wanted.start;
        for range in &self.ranges {
            if range.end <= from {
                continue;
            }
            if range.start >= wanted.end {
                break;
            }
            if range.start > from {
                missing.push(from..range.start);
            }
            from = range.end;
        }
        if from < wanted.end {
            missing.push(from..wanted.end);
        }
        missing
    }

    /// Adds `added`, and forgets the smallest range if there are too many.
    pub(crate) fn insert(&mut self, added: Range<u64>) {
        if added.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|range| range.end < added.start);
        let last = self.ranges.partition_point(|range| range.start <= added.end);
        let touched = &self.ranges[first..last];
        let start = touched.first().map_or(added.start, |range| range.start.min(added.start));
        let end = touched.last().map_or(added.end, |range| range.end.max(added.end));
        self.ranges.splice(first..last, iter::once(start..end));
        if self.ranges.len() > RANGES_MAX {
            let smallest = (0..self.ranges.len()).min_by_key(|&index| {
                let range = &self.ranges[index];
                range.end - range.start
            });
            smallest.map(|index| self.ranges.remove(index));
        }
    }
}

#[cfg(test)]
mod tests;
