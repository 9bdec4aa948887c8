//! ListGroups: every group that has members or offsets.

use std::collections::BTreeMap;

use daybook_group_coordinator::{GroupError, GroupKind, GroupState, ListedGroup};
use daybook_share_coordinator::GroupInfo;
use daybook_types::GroupId;

use crate::broker::{Broker, Caller};
use crate::error_code;
use crate::wire::messages::list_groups_response;
use crate::wire::messages::{self, ListGroupsRequest, ListGroupsResponse};
use crate::wire::{StrBytes, text};

/// Groups of KIP-932: the type, and the protocol type too.
const SHARE_TYPE: &str = "share";

pub(super) async fn handle(broker: &Broker, _caller: &Caller, request: ListGroupsRequest) -> ListGroupsResponse {
    let mut response = answer(&request, broker.coordinator.list(), broker.reader.groups());
    if response.error_code == 0 && passes(&request.types_filter, SHARE_TYPE) {
        response.groups.extend(broker.share.list().iter().filter_map(|group| listed_share_group(&request, group)));
    }
    response
}

fn listed_share_group(request: &ListGroupsRequest, group: &GroupInfo) -> Option<list_groups_response::ListedGroup> {
    let state = if group.has_members { GroupState::Stable } else { GroupState::Empty };
    let listed = list_groups_response::ListedGroup::default()
        .with_group_id(messages::GroupId(text(group.group.as_str())))
        .with_protocol_type(text(SHARE_TYPE))
        .with_group_state(text(state.as_str()))
        .with_group_type(text(SHARE_TYPE));
    passes(&request.states_filter, state.as_str()).then_some(listed)
}

fn answer(
    request: &ListGroupsRequest,
    with_members: Result<Vec<ListedGroup>, GroupError>,
    with_offsets: Vec<(GroupId, String)>,
) -> ListGroupsResponse {
    let with_members = match with_members {
        Ok(groups) => groups,
        Err(error) => {
            let code = error_code::code(Some(error_code::of_group(error)));
            return ListGroupsResponse::default().with_error_code(code);
        }
    };
    let groups = merge(with_members, with_offsets)
        .into_iter()
        .filter(|(_, group)| passes(&request.states_filter, group.state))
        .filter(|(_, group)| passes(&request.types_filter, group.kind.as_str()))
        .map(|(id, group)| listed(&id, &group))
        .collect();
    ListGroupsResponse::default().with_groups(groups)
}

struct Known {
    kind: GroupKind,
    /// Kafka's name of it.
    state: &'static str,
    protocol_type: String,
}

/// What the coordinator says of a group goes first: it may have members. It may have forgotten the type of one without.
fn merge(with_members: Vec<ListedGroup>, with_offsets: Vec<(GroupId, String)>) -> BTreeMap<GroupId, Known> {
    let mut groups: BTreeMap<GroupId, Known> = with_offsets
        .into_iter()
        .map(|(id, protocol_type)| {
            (id, Known { kind: GroupKind::Classic, state: GroupState::Empty.as_str(), protocol_type })
        })
        .collect();
    for group in with_members {
        let (kind, state) = (group.kind, group.state);
        let known = groups.entry(group.group).or_insert_with(|| Known { kind, state, protocol_type: String::new() });
        known.kind = kind;
        known.state = state;
        if !group.protocol_type.is_empty() {
            known.protocol_type = (*group.protocol_type).to_owned();
        }
    }
    groups
}

/// An empty filter lets everything pass.
fn passes(filter: &[StrBytes], word: &str) -> bool {
    filter.is_empty() || filter.iter().any(|wanted| wanted.as_str().trim().eq_ignore_ascii_case(word))
}

fn listed(id: &GroupId, group: &Known) -> list_groups_response::ListedGroup {
    list_groups_response::ListedGroup::default()
        .with_group_id(messages::GroupId(text(id.as_str())))
        .with_protocol_type(text(&*group.protocol_type))
        .with_group_state(text(group.state))
        .with_group_type(text(group.kind.as_str()))
}

#[cfg(test)]
mod tests;
