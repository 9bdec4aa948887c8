//! What an operator can set, and how much may be held in memory.

use crate::error::GroupError;

/// Times are in milliseconds. Where Kafka has a name for a setting, it stands in the comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `group.initial.rebalance.delay.ms`: how long a group's first rebalance waits for further members, so that a burst of
    /// them makes one generation (KIP-134). Kafka waits 3,000; a single consumer need not be kept waiting that long.
    pub initial_rebalance_delay_ms: u64,
    /// `group.min.session.timeout.ms`
    pub session_timeout_min_ms: i32,
    /// `group.max.session.timeout.ms`
    pub session_timeout_max_ms: i32,
    /// `group.max.size`: the most members of a group, and the most ids given out that nobody has joined with yet.
    pub group_size_max: usize,
    /// How long the first join of a member may wait. Such a member can't heartbeat, and whether its client is still there
    /// can't be seen; without a limit, clients that give up and ask again would fill the group with the dead.
    pub new_member_join_timeout_ms: u64,
    /// How long a group without members is remembered for the sake of its generation number and its protocol type.
    pub empty_group_retention_ms: u64,
    /// The most groups remembered at once, with members or without.
    pub groups_max: usize,
    /// The most bytes that the members of one group may describe themselves in, assignments included.
    pub group_bytes_max: usize,
    /// The same over all groups.
    pub total_bytes_max: usize,
    /// Of groups of the consumer group protocol.
    pub consumer: ConsumerSettings,
}

/// Of groups of the consumer group protocol (KIP-848).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerSettings {
    /// `group.consumer.session.timeout.ms`
    pub session_timeout_ms: u64,
    /// `group.consumer.heartbeat.interval.ms`: how often members are asked to heartbeat in quiet times.
    pub heartbeat_interval_ms: u64,
    /// How often while the group is on its way to a new assignment. Kafka leaves it at the other; but partitions change hands by
    /// heartbeats alone.
    pub rebalance_heartbeat_interval_ms: u64,
    /// `group.consumer.assignment.interval.ms`: the least time between two target assignments of a group, so that a burst of
    /// members makes one.
    pub assignment_interval_ms: u64,
    /// `group.consumer.max.size`
    pub group_size_max: usize,
    /// `group.consumer.migration.policy`
    pub migration_policy: MigrationPolicy,
}

/// Whether a group with members may change from the classic protocol to the new one, and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MigrationPolicy {
    Disabled,
    Upgrade,
    Downgrade,
    #[default]
    Bidirectional,
}

impl MigrationPolicy {
    pub fn allows_upgrade(self) -> bool {
        matches!(self, Self::Upgrade | Self::Bidirectional)
    }

    pub fn allows_downgrade(self) -> bool {
        matches!(self, Self::Downgrade | Self::Bidirectional)
    }
}

impl Default for ConsumerSettings {
    fn default() -> Self {
        Self {
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 5_000,
            rebalance_heartbeat_interval_ms: 500,
            assignment_interval_ms: 1_000,
            group_size_max: 2_147_483_647,
            migration_policy: MigrationPolicy::default(),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            initial_rebalance_delay_ms: 500,
            session_timeout_min_ms: 6_000,
            session_timeout_max_ms: 1_800_000,
            group_size_max: 5_000,
            new_member_join_timeout_ms: 300_000,
            empty_group_retention_ms: 600_000,
            groups_max: 10_000,
            group_bytes_max: 16 * 1024 * 1024,
            total_bytes_max: 64 * 1024 * 1024,
            consumer: ConsumerSettings::default(),
        }
    }
}

impl Settings {
    pub(crate) fn check_session_timeout(&self, session_timeout_ms: i32) -> Result<(), GroupError> {
        if (self.session_timeout_min_ms..=self.session_timeout_max_ms).contains(&session_timeout_ms) {
            Ok(())
        } else {
            Err(GroupError::InvalidSessionTimeout)
        }
    }
}
