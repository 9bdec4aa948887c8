//! A member that is gone without a word: the session timeout gives its partitions to the others.

use std::sync::Arc;

use crate::broker::{new_topic, shared, unique};
use crate::group_rebalance::{Ledger, Member};
use crate::raw::{bytes, call, connect, header, string};
use crate::writing::{Content, producer, write};

const MEMBER_ID_REQUIRED: i16 = 79;
const SESSION_TIMEOUT_MS: i32 = 6_000;
const REBALANCE_TIMEOUT_MS: i32 = 60_000;
/// No instance id: the member isn't static.
const NULL: [u8; 2] = (-1_i16).to_be_bytes();
const ONE: [u8; 4] = 1_i32.to_be_bytes();
const NONE: [u8; 4] = 0_i32.to_be_bytes();

/// A consumer's subscription to one topic: a version, topics, no user data.
fn subscription(topic: &str) -> Vec<u8> {
    [&[0, 0][..], &ONE, &string(topic), &(-1_i32).to_be_bytes()].concat()
}

/// JoinGroup, version 5.
fn join(group: &str, member: &str, topic: &str) -> Vec<u8> {
    let protocol = [string("range"), bytes(&subscription(topic))].concat();
    let timeouts = [SESSION_TIMEOUT_MS.to_be_bytes(), REBALANCE_TIMEOUT_MS.to_be_bytes()].concat();
    [&header(11, 5)[..], &string(group), &timeouts, &string(member), &NULL, &string("consumer"), &ONE, &protocol]
        .concat()
}

/// SyncGroup, version 3.
fn sync(group: &str, generation: i32, member: &str) -> Vec<u8> {
    [&header(14, 3)[..], &string(group), &generation.to_be_bytes(), &string(member), &NULL, &NONE].concat()
}

/// Joins as a consumer does, and is gone.
fn join_and_vanish(group: &str, topic: &str) {
    let mut stream = connect(shared());
    let mut answer = call(&mut stream, &join(group, "", topic));
    let (_throttle_ms, code) = (answer.i32(), answer.i16());
    assert_eq!(code, MEMBER_ID_REQUIRED);
    let (_generation, _protocol, _leader, member) = (answer.i32(), answer.string(), answer.string(), answer.string());

    let mut answer = call(&mut stream, &join(group, &member, topic));
    let (_throttle_ms, code) = (answer.i32(), answer.i16());
    assert_eq!(code, 0);
    let (generation, protocol, leader) = (answer.i32(), answer.string(), answer.string());
    assert_eq!(protocol, "range");
    assert_ne!(leader, member, "the one who was there first leads");

    let mut answer = call(&mut stream, &sync(group, generation, &member));
    let (_throttle_ms, code, assignment_bytes) = (answer.i32(), answer.i16(), answer.i32());
    assert_eq!(code, 0);
    assert!(assignment_bytes > 0, "it was assigned something");
}

#[test]
fn the_others_take_over_what_a_vanished_member_had() {
    let topic = new_topic(shared(), "vanished", 4, &[]);
    let group = unique("vanished");
    let ledger = Arc::new(Ledger::default());
    let member = Member::join("stays", &group, &topic, &ledger, &[("partition.assignment.strategy", "range")]);
    ledger.await_shares(&[(&member, 4)]);
    join_and_vanish(&group, &topic);
    ledger.await_shares(&[(&member, 2)]);
    ledger.await_shares(&[(&member, 4)]);
    for partition in 0..4 {
        write(&producer(shared(), &[]), &topic, partition, &[Content::value("x")]);
    }
    ledger.await_read(4);
    drop(member);
    ledger.assert_no_faults();
}
