//! What records contain: all of it follows from who wrote the record, where, and its number. So what is read can be checked
//! byte by byte without anyone having kept it.

use bytes::{Buf, BufMut, Bytes};
use daybook_record::{Record, RecordHeader};
use daybook_types::TimestampMs;
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

/// Names a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    pub writer: u32,
    /// Index of the partition in the campaign's list.
    pub place: u32,
    /// Of its writer in this partition, from 0.
    pub number: u64,
}

const ID_BYTES: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub timestamp: TimestampMs,
    pub key: Option<Bytes>,
    pub value: Bytes,
    pub headers: Vec<RecordHeader>,
}

impl RecordId {
    pub fn content(self) -> Content {
        let seed = (u64::from(self.writer) << 48) ^ (u64::from(self.place) << 40) ^ self.number;
        let mut dice = SmallRng::seed_from_u64(seed);
        let fill_bytes = match dice.random_range(0..100) {
            0..50 => dice.random_range(0..200),
            50..98 => dice.random_range(0..3_000),
            _ => dice.random_range(0..60_000),
        };
        let mut value = Vec::with_capacity(ID_BYTES + fill_bytes);
        value.put_u32(self.writer);
        value.put_u32(self.place);
        value.put_u64(self.number);
        value.resize(ID_BYTES + fill_bytes, 0);
        dice.fill_bytes(&mut value[ID_BYTES..]);
        let key = dice.random_bool(0.5).then(|| Bytes::from(format!("key-{}", self.number % 100)));
        let headers = match self.number % 7 {
            0 => vec![("a".into(), Some("1".into())), ("a".into(), None)],
            _ => Vec::new(),
        };
        Content { timestamp: TimestampMs(1_700_000_000_000 + self.number as i64), key, value: value.into(), headers }
    }

    /// Whose record this is, if it is exactly as it was written.
    pub fn of(record: &Record) -> Result<Self, String> {
        let Some(mut value) = record.value.as_deref().filter(|value| value.len() >= ID_BYTES) else {
            return Err(format!("a record that nobody wrote: {record:?}"));
        };
        let id = Self { writer: value.get_u32(), place: value.get_u32(), number: value.get_u64() };
        let expected = id.content();
        let same = record.key == expected.key
            && record.value.as_ref() == Some(&expected.value)
            && record.headers == expected.headers
            && record.timestamp == expected.timestamp;
        if same { Ok(id) } else { Err(format!("{id:?} is not as it was written")) }
    }
}
