//! Groups and members as requests name them, in the coordinator's words.

use std::sync::Arc;

use daybook_group_coordinator::{Generation, InstanceId, MemberClaim, MemberId};
use daybook_types::GroupId;

use crate::wire::messages;
use crate::wire::{StrBytes, text};

pub(super) fn group_id(given: &messages::GroupId) -> GroupId {
    GroupId::new(given.as_str())
}

pub(super) fn member_id(given: &StrBytes) -> MemberId {
    MemberId::new(given.as_str())
}

pub(super) fn instance_id(given: Option<&StrBytes>) -> Option<InstanceId> {
    given.map(|given| InstanceId::new(given.as_str()))
}

pub(super) fn claim(member: &StrBytes, instance: Option<&StrBytes>, generation: i32) -> MemberClaim {
    MemberClaim { member: member_id(member), instance: instance_id(instance), generation: Generation(generation) }
}

pub(super) fn word(given: &StrBytes) -> Arc<str> {
    given.as_str().into()
}

pub(super) fn member_text(member: &MemberId) -> StrBytes {
    text(member.as_str())
}

pub(super) fn instance_text(instance: Option<&InstanceId>) -> Option<StrBytes> {
    instance.map(|instance| text(instance.as_str()))
}
