use daybook_group_coordinator::{Generation, MemberId};

use super::*;
use crate::wire::messages::sync_group_request::SyncGroupRequestAssignment;
use crate::wire::{encode, messages};

#[test]
fn a_request_arrives_whole() {
    let request = SyncGroupRequest::default()
        .with_group_id(messages::GroupId(text("g")))
        .with_generation_id(7)
        .with_member_id(text("m"))
        .with_protocol_type(Some(text("consumer")))
        .with_assignments(vec![
            SyncGroupRequestAssignment::default()
                .with_member_id(text("n"))
                .with_assignment(Bytes::from_static(b"part")),
        ]);
    let asked = asked(&request);
    assert_eq!((asked.group.as_str(), asked.claim.generation), ("g", Generation(7)));
    assert_eq!((asked.claim.member, asked.claim.instance), (MemberId::new("m"), None));
    assert_eq!((asked.protocol_type.as_deref(), asked.protocol_name), (Some("consumer"), None));
    assert_eq!(asked.assignments, [(MemberId::new("n"), Bytes::from_static(b"part"))]);
}

#[test]
fn answers_can_be_written_in_every_version() {
    let synced = Synced {
        protocol_type: "consumer".into(),
        protocol_name: "range".into(),
        assignment: Bytes::from_static(b"assigned"),
    };
    for version in 0..=5 {
        let bytes = encode(1, version, &accepted(&synced)).unwrap();
        assert!(bytes.windows(8).any(|window| window == b"assigned"));
        let refused = refusal(GroupError::RebalanceInProgress);
        assert_eq!(refused.error_code, 27);
        encode(1, version, &refused).unwrap();
    }
}
