//! What members ask, free of any wire format.

use std::sync::Arc;

use bytes::Bytes;
use daybook_types::GroupId;

use crate::ident::{Generation, InstanceId, MemberId};

/// A way of sharing work that a member knows (for consumers: an assignor), with what it says about itself in that way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    pub name: Arc<str>,
    pub metadata: Bytes,
}

#[derive(Clone, Debug)]
pub struct JoinRequest {
    pub group: GroupId,
    /// `MemberId::none()` in a member's first request.
    pub member: MemberId,
    pub instance: Option<InstanceId>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub session_timeout_ms: i32,
    /// JoinGroup v0 has none; the session timeout stands in for it.
    pub rebalance_timeout_ms: i32,
    pub protocol_type: Arc<str>,
    /// In the member's order of preference.
    pub protocols: Vec<Protocol>,
    /// Whether a new member is first given an id and asked to come again with it: JoinGroup v4 and later.
    pub member_id_first: bool,
    /// Whether the client understands `skip_assignment`: JoinGroup v9 and later.
    pub knows_skip_assignment: bool,
}

/// Who a request says it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberClaim {
    pub member: MemberId,
    pub instance: Option<InstanceId>,
    pub generation: Generation,
}

impl MemberClaim {
    /// Neither member nor instance nor generation: what clients say that manage their partitions themselves.
    pub fn names_nobody(&self) -> bool {
        self.generation.is_none() && self.member.is_none() && self.instance.is_none()
    }
}

#[derive(Clone, Debug)]
pub struct SyncRequest {
    pub group: GroupId,
    pub claim: MemberClaim,
    /// Absent before SyncGroup v5.
    pub protocol_type: Option<Arc<str>>,
    /// Absent before SyncGroup v5.
    pub protocol_name: Option<Arc<str>>,
    /// Empty but for the leader.
    pub assignments: Vec<(MemberId, Bytes)>,
}

/// One of those whom a LeaveGroup request takes out. An administrator names the instance only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaver {
    pub member: MemberId,
    pub instance: Option<InstanceId>,
}
