use bytes::Bytes;
use daybook_group_coordinator::{Generation, InstanceId, MemberId};

use super::*;
use crate::wire::encode;

fn stable() -> GroupDescription {
    GroupDescription {
        state: GroupState::Stable,
        generation: Generation(2),
        protocol_type: "consumer".into(),
        protocol_name: Some("range".into()),
        leader: Some(MemberId::new("m")),
        members: vec![MemberDescription {
            member: MemberId::new("m"),
            instance: Some(InstanceId::new("i")),
            client_id: "client".into(),
            client_host: "/127.0.0.1".into(),
            metadata: Bytes::from_static(b"topics"),
            assignment: Bytes::from_static(b"part"),
        }],
    }
}

#[test]
fn descriptions_can_be_written_in_every_version() {
    for version in 0..=6 {
        for group in [
            describe(version, Ok(Some(stable())), || None),
            describe(version, Ok(None), || None),
            describe(version, Err(GroupError::CoordinatorNotAvailable), || None),
        ] {
            encode(1, version, &DescribeGroupsResponse::default().with_groups(vec![group])).unwrap();
        }
    }
}

#[test]
fn members_are_shown_whole() {
    let group = describe(5, Ok(Some(stable())), || None);
    assert_eq!((group.group_state.as_str(), group.protocol_data.as_str()), ("Stable", "range"));
    let member = &group.members[0];
    assert_eq!((member.member_id.as_str(), member.group_instance_id.as_deref()), ("m", Some("i")));
    assert_eq!((member.client_id.as_str(), member.client_host.as_str()), ("client", "/127.0.0.1"));
    assert_eq!((&member.member_metadata[..], &member.member_assignment[..]), (&b"topics"[..], &b"part"[..]));
}

#[test]
fn offsets_make_an_empty_group_of_one_without_members() {
    let group = describe(6, Ok(None), || Some("consumer".into()));
    assert_eq!((group.group_state.as_str(), group.protocol_type.as_str()), ("Empty", "consumer"));
    assert_eq!(group.error_code, 0);
}

#[test]
fn a_group_that_nobody_knows_is_dead() {
    for version in 0..=6 {
        let group = describe(version, Ok(None), || None);
        assert_eq!(group.group_state.as_str(), "Dead");
        assert_eq!(group.error_code, if version < 6 { 0 } else { 69 });
        assert_eq!(group.error_message.is_some(), version >= 6);
    }
}
