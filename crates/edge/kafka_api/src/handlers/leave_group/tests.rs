use daybook_group_coordinator::{InstanceId, MemberId};

use super::*;
use crate::wire::{encode, messages, text};

fn left(outcome: Result<(), GroupError>) -> Left {
    Left { member: MemberId::new("m"), instance: Some(InstanceId::new("i")), outcome }
}

#[test]
fn old_requests_name_one_member_and_new_ones_several() {
    let identity = |member: &str, instance: Option<&str>| {
        MemberIdentity::default().with_member_id(text(member)).with_group_instance_id(instance.map(text))
    };
    let request = LeaveGroupRequest::default()
        .with_group_id(messages::GroupId(text("g")))
        .with_member_id(text("old"))
        .with_members(vec![identity("a", None), identity("", Some("i"))]);
    assert_eq!(leavers(2, &request), [Leaver { member: MemberId::new("old"), instance: None }]);
    let several = [
        Leaver { member: MemberId::new("a"), instance: None },
        Leaver { member: MemberId::none(), instance: Some(InstanceId::new("i")) },
    ];
    assert_eq!(leavers(3, &request), several);
}

#[test]
fn old_answers_hold_one_code_and_new_ones_one_a_member() {
    for version in 0..=5 {
        let response = answer(version, Ok(vec![left(Err(GroupError::UnknownMemberId))]));
        encode(1, version, &response).unwrap();
        if version < 3 {
            assert_eq!((response.error_code, response.members.len()), (25, 0));
        } else {
            assert_eq!((response.error_code, response.members[0].error_code), (0, 25));
            assert_eq!(response.members[0].group_instance_id.as_deref(), Some("i"));
        }
        let response = answer(version, Ok(vec![left(Ok(()))]));
        assert_eq!(response.error_code, 0);
        let response = answer(version, Err(GroupError::InvalidGroupId));
        assert_eq!((response.error_code, response.members.len()), (24, 0));
        encode(1, version, &response).unwrap();
    }
}
