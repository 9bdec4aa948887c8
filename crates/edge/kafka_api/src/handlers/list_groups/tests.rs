use super::*;
use crate::wire::encode;

fn with_members() -> Vec<ListedGroup> {
    let group = |name, state, protocol_type: &str| ListedGroup {
        group: GroupId::new(name),
        kind: GroupKind::Classic,
        state: GroupState::as_str(state),
        protocol_type: protocol_type.into(),
    };
    vec![group("busy", GroupState::Stable, "consumer"), group("idle", GroupState::Empty, "")]
}

fn with_offsets() -> Vec<(GroupId, String)> {
    ["busy", "idle", "offsets"].map(|name| (GroupId::new(name), "connect".to_owned())).to_vec()
}

fn names(request: &ListGroupsRequest) -> Vec<String> {
    let response = answer(request, Ok(with_members()), with_offsets());
    response.groups.iter().map(|group| group.group_id.as_str().to_owned()).collect()
}

#[test]
fn members_and_offsets_make_one_list() {
    let response = answer(&ListGroupsRequest::default(), Ok(with_members()), with_offsets());
    let groups: Vec<_> = response
        .groups
        .iter()
        .map(|group| (group.group_id.as_str(), group.group_state.as_str(), group.protocol_type.as_str()))
        .collect();
    let expected = [("busy", "Stable", "consumer"), ("idle", "Empty", "connect"), ("offsets", "Empty", "connect")];
    assert_eq!(groups, expected);
    for version in 0..=5 {
        encode(1, version, &response).unwrap();
    }
}

#[test]
fn filters_know_no_case() {
    let states = |wanted: &str| ListGroupsRequest::default().with_states_filter(vec![text(wanted)]);
    assert_eq!(names(&states("stable")), ["busy"]);
    assert_eq!(names(&states(" EMPTY")), ["idle", "offsets"]);
    assert!(names(&states("Dead")).is_empty());
    let types = |wanted: &str| ListGroupsRequest::default().with_types_filter(vec![text(wanted)]);
    assert_eq!(names(&types("Classic")).len(), 3);
    assert!(names(&types("consumer")).is_empty());
}

#[test]
fn a_closed_coordinator_lists_nothing() {
    let response = answer(&ListGroupsRequest::default(), Err(GroupError::CoordinatorNotAvailable), with_offsets());
    assert_eq!((response.error_code, response.groups.len()), (15, 0));
}
