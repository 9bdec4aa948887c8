//! What is answered to members and to those who look at groups.

use std::sync::Arc;

use bytes::Bytes;
use daybook_types::GroupId;

use crate::core::GroupState;
use crate::error::GroupError;
use crate::ident::{Generation, InstanceId, MemberId};

/// A join that led into a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    pub member: MemberId,
    pub generation: Generation,
    pub protocol_type: Arc<str>,
    pub protocol_name: Arc<str>,
    pub leader: MemberId,
    /// All members, to the leader; empty to everyone else.
    pub members: Vec<JoinedMember>,
    /// The leader is told that it leads but must not assign (KIP-814).
    pub skip_assignment: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    pub member: MemberId,
    pub instance: Option<InstanceId>,
    pub metadata: Bytes,
}

/// A join that didn't. `member` is what Kafka puts beside the error: the new id beside `MemberIdRequired`, else mostly the
/// asker's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRefused {
    pub error: GroupError,
    pub member: MemberId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    pub protocol_type: Arc<str>,
    pub protocol_name: Arc<str>,
    pub assignment: Bytes,
}

/// What became of one leaver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// As the request had it: `MemberId::none()` where only the instance was named.
    pub member: MemberId,
    pub instance: Option<InstanceId>,
    pub outcome: Result<(), GroupError>,
}

/// Which protocol a group is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupKind {
    Classic,
    /// KIP-848
    Consumer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    pub group: GroupId,
    pub kind: GroupKind,
    /// Kafka's name of the state.
    pub state: &'static str,
    /// Empty where no member has ever joined.
    pub protocol_type: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDescription {
    pub state: GroupState,
    pub generation: Generation,
    /// Empty where no member has ever joined.
    pub protocol_type: Arc<str>,
    /// Known while the group is stable, as in Kafka.
    pub protocol_name: Option<Arc<str>>,
    pub leader: Option<MemberId>,
    pub members: Vec<MemberDescription>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDescription {
    pub member: MemberId,
    pub instance: Option<InstanceId>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    /// In the group's protocol; empty unless the group is stable.
    pub metadata: Bytes,
    pub assignment: Bytes,
}

impl GroupKind {
    /// Kafka's name of the type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
    }
}
