//! Which events a stream keeps.
//!
//! Gone is what a stream's readers can't read any more: what lies before its first version (truncated, counted out, deleted) and what is
//! older than its maximal age. But its last event always stays, also a deleted stream's: Kafka's readers see by it that there was
//! something. Of a stream that ended for ever the tombstone stays; of a metadata stream the last event, which says it all. Records without
//! key belong to no stream and stay.

use std::collections::HashMap;

use bytes::Bytes;
use daybook_event::{Facts, METADATA_PREFIX};
use daybook_read::{Reader, Stream, StreamIndex};
use daybook_record::Record;
use daybook_rewrite::Pace;
use daybook_segment::Sieve;
use daybook_types::{Offset, PartitionId, StreamVersion, TimestampMs};

use super::Broken;

/// Streams of which is remembered what they keep; then all is forgotten and looked up again.
const FLOORS_MAX: usize = 50_000;
/// Versions looked at to find a stream's first event in this partition, where it has events in several.
const MOVED_LOOKED_MAX: u64 = 4096;
const MOVED_BLOCK: u64 = 512;

/// Judges the records of one partition.
pub(super) struct StreamSieve<'a> {
    index: &'a StreamIndex,
    partition: PartitionId,
    /// Records from here on came after the first look and stay.
    end: Offset,
    now: TimestampMs,
    floors: HashMap<Bytes, Floor>,
    pace: Pace,
}

/// What a stream keeps in this partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Floor {
    /// Events before it are gone.
    from: Offset,
    /// Events recorded before it are gone.
    recorded: Option<TimestampMs>,
    /// Stays whatever the others say.
    last: Option<Offset>,
}

const KEEPS_ALL: Floor = Floor { from: Offset(0), recorded: None, last: None };

impl<'a> StreamSieve<'a> {
    /// `None` if the partition is no more.
    pub fn new(reader: &'a Reader, partition: PartitionId, now: TimestampMs, pace: Pace) -> Option<Self> {
        let end = reader.partition(partition)?.end_offset;
        Some(Self { index: reader.streams(), partition, end, now, floors: HashMap::new(), pace })
    }

    fn floor(&mut self, name: &Bytes) -> Result<Floor, Broken> {
        if let Some(floor) = self.floors.get(name) {
            return Ok(*floor);
        }
        let floor = match self.index.stream(self.partition.topic, name)? {
            Some(stream) => self.floor_of(name, &stream)?,
            None => KEEPS_ALL,
        };
        if self.floors.len() >= FLOORS_MAX {
            self.floors.clear();
        }
        // A copy: the key is a slice of a whole batch.
        self.floors.insert(Bytes::copy_from_slice(name), floor);
        Ok(floor)
    }

    fn floor_of(&self, name: &[u8], stream: &Stream) -> Result<Floor, Broken> {
        // A topic that was given more partitions has streams whose later events stand in another one.
        let last = stream.last.filter(|place| place.partition == self.partition.index).map(|place| place.offset);
        let is_metadata = name.strip_prefix(METADATA_PREFIX.as_bytes()).is_some_and(|described| !described.is_empty());
        let first = stream.first();
        let from = if stream.is_tombstoned || is_metadata || first == stream.next {
            self.end
        } else {
            self.first_place(name, first, stream.next)?
        };
        let recorded = stream
            .settings
            .max_age_seconds
            .map(|age| TimestampMs(self.now.0.saturating_sub_unsigned(age.saturating_mul(1000))));
        Ok(Floor { from, recorded, last })
    }

    /// Where the first event with a version from `first` on stands in this partition; its end if there is none.
    fn first_place(&self, name: &[u8], first: StreamVersion, next: StreamVersion) -> Result<Offset, Broken> {
        if first == StreamVersion(0) {
            return Ok(KEEPS_ALL.from);
        }
        let mut at = first;
        // Nearly always the first one.
        let mut count = 1;
        while at < next {
            if at.0 - first.0 >= MOVED_LOOKED_MAX {
                return Ok(KEEPS_ALL.from);
            }
            let to = StreamVersion(at.0.saturating_add(count)).min(next);
            let places = self.index.places(self.partition.topic, name, at, to)?;
            if places.len() as u64 != to.0 - at.0 {
                // The index was dropped or built anew meanwhile.
                return Ok(KEEPS_ALL.from);
            }
            if let Some((_, place)) = places.iter().find(|(_, place)| place.partition == self.partition.index) {
                return Ok(place.offset);
            }
            at = to;
            count = MOVED_BLOCK;
        }
        Ok(self.end)
    }
}

impl Floor {
    fn keeps(&self, record: &Record) -> bool {
        let is_current = record.offset >= self.from && self.recorded.is_none_or(|from| record.timestamp >= from);
        is_current || self.last == Some(record.offset)
    }
}

impl Sieve for StreamSieve<'_> {
    type Error = Broken;

    fn keep(&mut self, record: &Record) -> Result<bool, Broken> {
        let Some(name) = record.key.as_ref().filter(|_| record.offset < self.end) else { return Ok(true) };
        // A Kafka producer may have written to a stream after its end, so the tombstone need not be the last.
        Ok(self.floor(name)?.keeps(record) || Facts::of(record).is_ok_and(|facts| facts.is_tombstone()))
    }

    fn worked(&mut self, bytes: u64) -> Result<(), Broken> {
        Ok(self.pace.worked(bytes)?)
    }
}
