//! Wall-clock time as Kafka writes it.

use std::fmt;

/// Milliseconds since the Unix epoch. `NONE` (-1) where Kafka has no timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampMs(pub i64);

impl TimestampMs {
    /// Kafka's "no timestamp".
    pub const NONE: Self = Self(-1);
}

impl fmt::Display for TimestampMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
