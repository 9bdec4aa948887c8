//! Where a partition is to begin under its limits of age and size. Whole segments go, oldest first.

use daybook_catalog::TopicSettings;
use daybook_segment::SegmentEnds;
use daybook_types::{Offset, TimestampMs};

/// What a partition keeps at most; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Kafka's `retention.ms`: a segment goes when its latest record is older.
    pub age_ms: Option<i64>,
    /// Kafka's `retention.bytes`: a segment goes when as many bytes are left without it.
    pub bytes: Option<u64>,
}

impl Limits {
    pub fn of(settings: &TopicSettings) -> Self {
        Self { age_ms: settings.retention_ms_limit(), bytes: settings.retention_bytes_limit() }
    }

    pub fn is_none(&self) -> bool {
        self.age_ms.is_none() && self.bytes.is_none()
    }
}

/// The first offset that stays, if some go: of `segments`, ascending, those that lie wholly below `start` are gone already, and those
/// that reach past `stable` stay, since a transaction may be open there. The last one may go too; what comes next begins another.
/// Segments whose records have no timestamp don't age.
pub fn start_kept(
    segments: &[SegmentEnds],
    start: Offset,
    stable: Offset,
    limits: Limits,
    now: TimestampMs,
) -> Option<Offset> {
    let held: Vec<&SegmentEnds> = segments.iter().filter(|segment| segment.next_offset > start).collect();
    let mut bytes: u64 = held.iter().map(|segment| segment.data_bytes).sum();
    let mut kept_from = None;
    for segment in held {
        let is_old = limits.age_ms.is_some_and(|age| {
            segment.max_timestamp >= TimestampMs(0) && now.0.saturating_sub(segment.max_timestamp.0) > age
        });
        let is_too_much = limits.bytes.is_some_and(|limit| bytes.saturating_sub(segment.data_bytes) >= limit);
        if !(is_old || is_too_much) || segment.next_offset > stable {
            break;
        }
        bytes -= segment.data_bytes;
        kept_from = Some(segment.next_offset);
    }
    kept_from
}

#[cfg(test)]
mod tests;
