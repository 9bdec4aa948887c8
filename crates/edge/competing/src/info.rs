//! What can be seen of a subscription, in the figures that KurrentDB shows.

use std::sync::Arc;

use crate::definition::Definition;

#[derive(Clone, Debug)]
pub struct Info {
    pub definition: Arc<Definition>,
    /// All that there was has been read; what comes is delivered as it comes.
    pub is_live: bool,
    /// Replayed events are still to be read.
    pub is_replaying: bool,
    pub connections: Vec<Connection>,
    pub rate: Rate,
    /// Version or position of the last event below the checkpoint. `None`: it stands where the subscription began.
    pub last_checkpointed: Option<u64>,
    /// Version or position of the last event that was read.
    pub last_known: Option<u64>,
    pub buffered: usize,
    pub retrying: usize,
    pub in_flight: usize,
    /// Parked and not yet replayed.
    pub parked: u64,
}

#[derive(Clone, Debug)]
pub struct Connection {
    pub profile: Profile,
    pub rate: Rate,
    pub available_slots: usize,
    pub in_flight: usize,
    /// With extra statistics: how long this consumer took, in milliseconds.
    pub measurements: Vec<(&'static str, u64)>,
}

/// What a consumer says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub connection_name: String,
    pub user: String,
    pub from: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Deliveries, ever.
    pub total: u64,
    /// Deliveries since these figures were last asked for.
    pub recent: u64,
    /// The same for each second.
    pub per_second: u64,
}
