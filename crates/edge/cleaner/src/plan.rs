//! Whether a partition is worth compacting, how far, and which segments become one.
//!
//! As in Kafka the last segment, which is written to, is left out; so is what reaches past the last stable offset, and what is
//! younger than the topic's shortest lag. Then the share of bytes that no compaction has seen decides, or that some wait too long.

use std::ops::Range;

use daybook_catalog::TopicSettings;
use daybook_segment::SegmentEnds;
use daybook_types::{Offset, TimestampMs};

/// What a plan is made of.
#[derive(Clone, Copy, Debug)]
pub struct Compactable<'a> {
    /// Ascending.
    pub segments: &'a [SegmentEnds],
    /// Where the partition begins.
    pub start: Offset,
    /// Last stable offset.
    pub stable: Offset,
    /// How far its files are compacted.
    pub compacted_to: Offset,
    /// How far they are to be: a compaction that was begun is brought to its end.
    pub decided_to: Offset,
    pub now: TimestampMs,
}

/// A compaction that is worth it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// What no compaction has seen.
    pub dirty: Dirty,
    /// Share of bytes that no compaction has seen, of those that this one would look at.
    pub dirty_ratio: f64,
    /// It was decided before.
    pub is_resumed: bool,
}

/// From an offset up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dirty {
    pub from: Offset,
    pub to: Offset,
}

/// `first_timestamp` tells the time of a segment's first batch, if it can be read; it is asked only where a longest lag is set.
pub fn plan(
    settings: &TopicSettings,
    look: Compactable<'_>,
    first_timestamp: impl Fn(Offset) -> Option<TimestampMs>,
) -> Option<Plan> {
    let (_, closed) = look.segments.split_last()?;
    let from = look.compacted_to.max(look.start);
    if look.decided_to > from {
        let to = closed.iter().map(|segment| segment.next_offset.min(look.decided_to)).max()?;
        return (to > from).then_some(Plan { dirty: Dirty { from, to }, dirty_ratio: 1.0, is_resumed: true });
    }
    let lag = settings.min_compaction_lag_ms;
    let is_young = |segment: &SegmentEnds| lag > 0 && segment.max_timestamp.0 > look.now.0.saturating_sub(lag);
    let is_dirty = |segment: &SegmentEnds| segment.next_offset > from;
    let may_not = |segment: &SegmentEnds| segment.next_offset > look.stable || (is_dirty(segment) && is_young(segment));
    let cleanable = &closed[..closed.iter().position(may_not).unwrap_or(closed.len())];
    let to = cleanable.last().map(|segment| segment.next_offset).filter(|to| *to > from)?;
    let bytes = |dirty: bool| -> u64 {
        let held = cleanable.iter().filter(|segment| segment.next_offset > look.start);
        held.filter(|segment| is_dirty(segment) == dirty).map(|segment| segment.data_bytes).sum()
    };
    let (clean, dirty) = (bytes(false), bytes(true));
    let dirty_ratio = dirty as f64 / (clean + dirty).max(1) as f64;
    let waits_too_long = || {
        let since = look.now.0.saturating_sub(settings.max_compaction_lag_ms);
        let first = cleanable.iter().filter(|segment| is_dirty(segment)).map(|segment| segment.base_offset);
        settings.max_compaction_lag_ms < i64::MAX
            && first.filter_map(first_timestamp).any(|first| first.0 > 0 && first.0 < since)
    };
    let is_due = dirty_ratio > settings.min_cleanable_dirty_ratio || waits_too_long();
    is_due.then_some(Plan { dirty: Dirty { from, to }, dirty_ratio, is_resumed: false })
}

/// The base offsets of segments that become one each: neighbours that begin below `to` and together have no more bytes than a
/// segment may have. The last segment of all is left out.
pub fn groups(segments: &[SegmentEnds], to: Offset, segment_bytes: u64) -> Vec<Range<Offset>> {
    let Some((_, closed)) = segments.split_last() else { return Vec::new() };
    let segment_bytes = segment_bytes.min(i32::MAX as u64);
    let mut groups: Vec<(Range<Offset>, u64)> = Vec::new();
    for segment in closed.iter().filter(|segment| segment.base_offset < to) {
        let end = segment.base_offset.next();
        match groups.last_mut() {
            Some((bases, bytes)) if *bytes + segment.data_bytes <= segment_bytes => {
                bases.end = end;
                *bytes += segment.data_bytes;
            }
            _ => groups.push((segment.base_offset..end, segment.data_bytes)),
        }
    }
    groups.into_iter().map(|(bases, _)| bases).collect()
}

#[cfg(test)]
mod tests;
