//! The batches that are sent, built before the clock runs.

use anyhow::Context;
use bytes::Bytes;
use daybook_record::{BatchBuilder, HEADER_BYTES};
use daybook_types::TimestampMs;

use crate::bench::arguments::Load;

/// Some batches of the same number of records, sent over and over.
#[derive(Clone, Debug)]
pub struct Pool {
    pub batches: Vec<Bytes>,
    pub records_per_batch: u32,
}

/// Enough different ones that a codec can't know them.
const BATCHES: usize = 16;

/// Bytes that a record has besides its value, about: lengths, deltas, an absent key.
const RECORD_BYTES_AROUND: u64 = 8;

impl Pool {
    pub fn build(load: &Load) -> anyhow::Result<Self> {
        let record_bytes = u64::from(load.record_bytes) + RECORD_BYTES_AROUND;
        let room = load.batch_bytes.saturating_sub(HEADER_BYTES as u64);
        let records_per_batch = u32::try_from((room / record_bytes).max(1)).context("batch-bytes is too large")?;
        Self::of(load, records_per_batch)
    }

    /// Batches of `records_per_batch` records.
    pub fn of(load: &Load, records_per_batch: u32) -> anyhow::Result<Self> {
        let mut letters = Letters { state: 0x9e37_79b9_7f4a_7c15 };
        let now = now();
        let batch = |_| {
            let mut builder = BatchBuilder::new(load.compression);
            for _ in 0..records_per_batch {
                builder.push(now, None, Some(&letters.take(load.record_bytes as usize)), &[]);
            }
            builder.build().context("building a batch")
        };
        Ok(Self { batches: (0..BATCHES).map(batch).collect::<anyhow::Result<_>>()?, records_per_batch })
    }

    pub fn batch(&self, number: u64) -> &Bytes {
        &self.batches[(number % BATCHES as u64) as usize]
    }
}

pub fn now() -> TimestampMs {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    TimestampMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Letters as Kafka's own bench makes them: from A to Z, without a pattern (xorshift).
struct Letters {
    state: u64,
}

impl Letters {
    fn take(&mut self, count: usize) -> Vec<u8> {
        let letter = |_| {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            b'A' + (self.state % 26) as u8
        };
        (0..count).map(letter).collect()
    }
}
