//! One member of a consumer group.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_group_assignment::{Assignor, Partitions, Subscription};
use daybook_types::PartitionId;

use crate::core::duration_ms;
use crate::ident::{Generation, InstanceId, MemberId};
use crate::request::Protocol;

/// Kafka's states of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberState {
    /// It has its target, or could have it at once.
    Stable,
    /// It has been asked to give up partitions and may still use them.
    Unrevoked,
    /// It waits for partitions that others have not given up.
    Unreleased,
}

/// Each partition with the epoch in which the member was given it.
pub(super) type Held = BTreeMap<PartitionId, Generation>;

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub id: MemberId,
    pub instance: Option<InstanceId>,
    pub rack: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub rebalance_timeout_ms: u64,
    pub assignor: Option<Assignor>,
    pub subscription: Arc<Subscription>,
    pub epoch: Generation,
    /// The one before: the answer that told it of `epoch` may have been lost.
    pub previous_epoch: Generation,
    pub state: MemberState,
    pub assigned: Held,
    pub to_revoke: Held,
    pub target: Arc<Partitions>,
    /// Set for one that speaks the classic protocol.
    pub classic: Option<ClassicSide>,
}

/// What only a member of the classic protocol has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClassicSide {
    pub session_timeout_ms: i32,
    /// As it named them when it joined; not empty.
    pub protocols: Vec<Protocol>,
}

impl Member {
    pub fn new(id: MemberId) -> Self {
        Self {
            id,
            instance: None,
            rack: None,
            client_id: "".into(),
            client_host: "".into(),
            rebalance_timeout_ms: 0,
            assignor: None,
            subscription: Arc::default(),
            epoch: Generation(0),
            previous_epoch: Generation(0),
            state: MemberState::Stable,
            assigned: Held::new(),
            to_revoke: Held::new(),
            target: Arc::default(),
            classic: None,
        }
    }

    pub fn is_reconciled_to(&self, epoch: Generation) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }

    /// It said that it will be back.
    pub fn is_away(&self) -> bool {
        self.epoch == Generation::AWAY
    }

    /// All partitions that nobody else may be given.
    pub fn holds(&self) -> impl Iterator<Item = &PartitionId> {
        self.assigned.keys().chain(self.to_revoke.keys())
    }

    pub fn set_epoch(&mut self, epoch: Generation) {
        if self.epoch != epoch {
            self.previous_epoch = self.epoch;
            self.epoch = epoch;
        }
    }

    pub fn set_rebalance_timeout(&mut self, timeout_ms: i32) {
        self.rebalance_timeout_ms = duration_ms(timeout_ms);
    }

    /// Memory held, what depends on the assignment excepted.
    pub fn bytes(&self) -> usize {
        const MEMBER_BYTES: usize = 1024;
        MEMBER_BYTES
            + self.id.as_str().len()
            + self.instance.as_ref().map_or(0, |instance| instance.as_str().len())
            + self.rack.as_ref().map_or(0, |rack| rack.len())
            + self.client_id.len()
            + self.client_host.len()
            + self.subscription.bytes()
            + self.classic.as_ref().map_or(0, ClassicSide::bytes)
    }
}

impl ClassicSide {
    /// The protocol that stands for all of them: they carry the same subscription.
    pub fn protocol(&self) -> Option<&Protocol> {
        self.protocols.first()
    }

    fn bytes(&self) -> usize {
        self.protocols.iter().map(|protocol| 64 + protocol.name.len() + protocol.metadata.len()).sum()
    }
}
