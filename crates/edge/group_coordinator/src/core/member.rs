//! One member of a group.

use std::sync::Arc;

use bytes::Bytes;

use super::protocols::{self, Protocols};
use crate::answer::{JoinedMember, MemberDescription};
use crate::ident::{InstanceId, MemberId, WaiterId};
use crate::request::JoinRequest;

/// Stands for the struct and its places in maps.
const MEMBER_BYTES: usize = 512;

#[derive(Debug)]
pub(crate) struct Member {
    pub id: MemberId,
    pub instance: Option<InstanceId>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub session_timeout_ms: u64,
    pub rebalance_timeout_ms: u64,
    pub protocols: Protocols,
    pub assignment: Bytes,
    /// The join that waits. Only while the group prepares a rebalance. Changed through the roster, which counts them.
    pub(super) join_waiter: Option<WaiterId>,
    /// The sync that waits for the leader's. Only while the group completes a rebalance.
    pub sync_waiter: Option<WaiterId>,
    /// Its first join still waits, so it may expire all the same: its client doesn't know its id, can't heartbeat, and may
    /// long have asked again as somebody else.
    pub is_new: bool,
    /// It has been told a generation and has not synced in it.
    pub owes_sync: bool,
}

impl Member {
    pub fn new(id: MemberId, request: &JoinRequest) -> Self {
        Self {
            id,
            instance: request.instance.clone(),
            client_id: request.client_id.clone(),
            client_host: request.client_host.clone(),
            session_timeout_ms: duration_ms(request.session_timeout_ms),
            rebalance_timeout_ms: duration_ms(request.rebalance_timeout_ms),
            protocols: Protocols::new(&request.protocols),
            assignment: Bytes::new(),
            join_waiter: None,
            sync_waiter: None,
            is_new: false,
            owes_sync: false,
        }
    }

    pub fn is_joining(&self) -> bool {
        self.join_waiter.is_some()
    }

    /// Whether silence is its own fault: who waits for our answer is not expected to heartbeat.
    pub fn may_expire(&self) -> bool {
        self.is_new || (self.join_waiter.is_none() && self.sync_waiter.is_none())
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        MEMBER_BYTES
            + self.id.as_str().len()
            + self.instance.as_ref().map_or(0, |instance| instance.as_str().len())
            + self.client_id.len()
            + self.client_host.len()
            + self.protocols.bytes()
            + self.assignment.len()
    }

    /// How the leader sees it.
    pub fn for_leader(&self, protocol_name: &str) -> JoinedMember {
        JoinedMember {
            member: self.id.clone(),
            instance: self.instance.clone(),
            metadata: self.protocols.metadata(protocol_name).cloned().unwrap_or_default(),
        }
    }

    pub fn describe(&self, protocol_name: Option<&str>) -> MemberDescription {
        MemberDescription {
            member: self.id.clone(),
            instance: self.instance.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            metadata: protocol_name.and_then(|name| self.protocols.metadata(name)).cloned().unwrap_or_default(),
            assignment: self.assignment.clone(),
        }
    }
}

impl JoinRequest {
    /// Upper bound of what a member made from this takes in memory; a member's id is made from its instance's or its
    /// client's name.
    pub(crate) fn bytes(&self) -> usize {
        const ID_SUFFIX_BYTES: usize = 64;
        let instance_bytes = self.instance.as_ref().map_or(0, |instance| instance.as_str().len());
        MEMBER_BYTES
            + ID_SUFFIX_BYTES
            + self.member.as_str().len()
            + 2 * (instance_bytes + self.client_id.len())
            + self.client_host.len()
            + self.protocols_bytes()
    }

    pub(crate) fn protocols_bytes(&self) -> usize {
        self.protocols.iter().map(protocols::entry_bytes).sum()
    }
}

/// Kafka's durations are signed; a negative one is over at once.
pub(crate) fn duration_ms(duration_ms: i32) -> u64 {
    u64::try_from(duration_ms).unwrap_or(0)
}
