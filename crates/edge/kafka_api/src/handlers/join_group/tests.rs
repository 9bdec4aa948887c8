use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use daybook_group_coordinator::{Generation, GroupError, InstanceId, MemberId};

use super::*;
use crate::wire::messages::join_group_request::JoinGroupRequestProtocol;
use crate::wire::{encode, messages};

const VERSIONS: std::ops::RangeInclusive<i16> = 0..=9;

fn caller(version: i16) -> Caller {
    Caller {
        peer: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
        client_id: text("client"),
        version,
        connection: 1,
        software: Default::default(),
    }
}

fn request() -> JoinGroupRequest {
    JoinGroupRequest::default()
        .with_group_id(messages::GroupId(text("g")))
        .with_session_timeout_ms(10_000)
        .with_rebalance_timeout_ms(60_000)
        .with_member_id(text("m"))
        .with_group_instance_id(Some(text("i")))
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![
            JoinGroupRequestProtocol::default().with_name(text("range")).with_metadata(Bytes::from_static(b"topics")),
        ])
}

#[test]
fn versions_say_what_the_client_knows() {
    for version in VERSIONS {
        let asked = asked(&caller(version), &request());
        assert_eq!(asked.member_id_first, version >= 4);
        assert_eq!(asked.knows_skip_assignment, version >= 9);
        assert_eq!(asked.rebalance_timeout_ms, if version == 0 { 10_000 } else { 60_000 });
        assert_eq!(asked.session_timeout_ms, 10_000);
    }
}

#[test]
fn a_request_arrives_whole() {
    let asked = asked(&caller(9), &request());
    assert_eq!(asked.group.as_str(), "g");
    assert_eq!(asked.member, MemberId::new("m"));
    assert_eq!(asked.instance, Some(InstanceId::new("i")));
    assert_eq!((&*asked.client_id, &*asked.client_host), ("client", "/127.0.0.1"));
    assert_eq!(&*asked.protocol_type, "consumer");
    assert_eq!(asked.protocols, [Protocol { name: "range".into(), metadata: Bytes::from_static(b"topics") }]);
}

#[test]
fn answers_can_be_written_in_every_version() {
    let joined = Joined {
        member: MemberId::new("m"),
        generation: Generation(3),
        protocol_type: "consumer".into(),
        protocol_name: "range".into(),
        leader: MemberId::new("m"),
        members: vec![JoinedMember {
            member: MemberId::new("m"),
            instance: Some(InstanceId::new("i")),
            metadata: Bytes::from_static(b"topics"),
        }],
        skip_assignment: false,
    };
    let refused = JoinRefused { error: GroupError::MemberIdRequired, member: MemberId::new("m") };
    for version in VERSIONS {
        let bytes = encode(1, version, &accepted(&joined)).unwrap();
        assert!(bytes.windows(6).any(|window| window == b"topics"));
        encode(1, version, &refusal(version, &refused)).unwrap();
    }
    let skips = accepted(&Joined { skip_assignment: true, ..joined });
    assert!(skips.skip_assignment);
    encode(1, 9, &skips).unwrap();
}

#[test]
fn a_refusal_names_no_protocol() {
    let refused = JoinRefused { error: GroupError::MemberIdRequired, member: MemberId::new("new") };
    for version in VERSIONS {
        let response = refusal(version, &refused);
        assert_eq!(response.error_code, 79);
        assert_eq!(response.generation_id, -1);
        assert_eq!(response.member_id.as_str(), "new");
        assert_eq!(response.protocol_name.is_none(), version >= 7);
    }
}
