//! What a group is told to do, and how much it may hold.

/// Who gets the next item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// All in turn.
    #[default]
    RoundRobin,
    /// One until it is full, then the next.
    DispatchToSingle,
    /// Items of one affinity go to one consumer at a time, in order, as long as it stays. An item whose consumer is full waits
    /// and lets others pass.
    Pinned,
}

/// Times in milliseconds; limits in items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub strategy: Strategy,
    /// How long a consumer may hold an item (KIP-932's acquisition lock). `None`: for ever.
    pub hold_ms: Option<u64>,
    /// How often an item is delivered again before it is parked: one less than KIP-932's delivery count limit.
    pub retries_max: u32,
    /// Whether an item that was delivered too often is parked when its consumer leaves, too. KIP-932 says so; KurrentDB
    /// doesn't: a consumer that is stopped and started often would park what it never looked at.
    pub departure_may_park: bool,
    /// The most items that wait while new ones are delivered as they come.
    pub live_buffer_max: usize,
    /// The most items that wait while the group reads what has been there before.
    pub history_buffer_max: usize,
    /// Reading of history goes on once so many find room. At most `history_buffer_max`.
    pub read_batch: usize,
    /// The most items that all consumers together hold.
    pub in_flight_max: usize,
    pub consumers_max: usize,
    /// No checkpoint by time alone is kept for less progress than this.
    pub checkpoint_count_min: u64,
    /// A checkpoint is kept at once for so much progress.
    pub checkpoint_count_max: u64,
    /// Time between two checkpoints. `None`: never by time.
    pub checkpoint_after_ms: Option<u64>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            strategy: Strategy::RoundRobin,
            hold_ms: Some(30_000),
            retries_max: 10,
            departure_may_park: false,
            live_buffer_max: 500,
            history_buffer_max: 500,
            read_batch: 20,
            in_flight_max: 100_000,
            consumers_max: 10_000,
            checkpoint_count_min: 10,
            checkpoint_count_max: 1_000,
            checkpoint_after_ms: Some(2_000),
        }
    }
}
