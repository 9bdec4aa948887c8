//! A member that is gone without a word: the session timeout gives its partitions to the others.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use daybook_kafka_client::{Wire, WireOptions};
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::{GroupId, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest};
use kafka_protocol::protocol::StrBytes;

use crate::broker::{block_on, new_topic, shared, unique};
use crate::group_rebalance::{Ledger, Member};
use crate::writing::{Content, producer, write};

const MEMBER_ID_REQUIRED: i16 = 79;

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// A consumer's subscription to one topic: a version, topics, no user data.
fn subscription(topic: &str) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(0);
    bytes.put_i32(1);
    bytes.put_i16(topic.len() as i16);
    bytes.put_slice(topic.as_bytes());
    bytes.put_i32(-1);
    bytes.freeze()
}

/// Joins as a consumer does, and is gone.
async fn join_and_vanish(group: &str, topic: &str) {
    let mut wire = Wire::connect(shared(), WireOptions::default()).await.unwrap();
    let protocol = JoinGroupRequestProtocol::default().with_name(text("range")).with_metadata(subscription(topic));
    let request = JoinGroupRequest::default()
        .with_group_id(GroupId(text(group)))
        .with_session_timeout_ms(6_000)
        .with_rebalance_timeout_ms(60_000)
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol]);
    let answer: JoinGroupResponse = wire.call(&request).await.unwrap();
    assert_eq!(answer.error_code, MEMBER_ID_REQUIRED);
    let request = request.with_member_id(answer.member_id);
    let answer = wire.call(&request).await.unwrap();
    assert_eq!(answer.error_code, 0);
    assert_ne!(answer.leader, answer.member_id, "the one who was there first leads");
    let request = SyncGroupRequest::default()
        .with_group_id(GroupId(text(group)))
        .with_generation_id(answer.generation_id)
        .with_member_id(answer.member_id.clone())
        .with_protocol_type(answer.protocol_type.clone())
        .with_protocol_name(answer.protocol_name.clone());
    let answer = wire.call(&request).await.unwrap();
    assert_eq!(answer.error_code, 0);
    assert!(!answer.assignment.is_empty(), "it was assigned something");
}

#[test]
fn the_others_take_over_what_a_vanished_member_had() {
    let topic = new_topic(shared(), "vanished", 4, &[]);
    let group = unique("vanished");
    let ledger = Arc::new(Ledger::default());
    let member = Member::join("stays", &group, &topic, &ledger, &[("partition.assignment.strategy", "range")]);
    ledger.await_shares(&[(&member, 4)]);
    block_on(join_and_vanish(&group, &topic));
    ledger.await_shares(&[(&member, 2)]);
    ledger.await_shares(&[(&member, 4)]);
    for partition in 0..4 {
        write(&producer(shared(), &[]), &topic, partition, &[Content::value("x")]);
    }
    ledger.await_read(4);
    drop(member);
    ledger.assert_no_faults();
}
