//! Static members: back within the session, they are who they were.

use std::sync::Arc;
use std::time::Duration;

use daybook_test_server::eventually;
use rdkafka::consumer::Consumer;
use rdkafka::types::RDKafkaErrorCode;

use crate::broker::{PATIENCE, new_topic, shared, unique};
use crate::group_rebalance::{Ledger, Member};
use crate::reading::{consumer, take};
use crate::writing::{Content, producer, write};

#[test]
fn a_static_member_comes_back_without_a_rebalance() {
    let topic = new_topic(shared(), "static", 4, &[]);
    let group = unique("static");
    let ledger = Arc::new(Ledger::default());
    let join = |name: &str, instance: &str| {
        let settings = [("group.instance.id", instance), ("partition.assignment.strategy", "range")];
        Member::join(name, &group, &topic, &ledger, &settings)
    };
    let stays = join("stays", "instance-a");
    let leaves = join("leaves", "instance-b");
    ledger.await_shares(&[(&stays, 2), (&leaves, 2)]);
    let its_partitions = ledger.partitions_of(&leaves);
    let rebalances = ledger.rebalances_of(&stays);
    drop(leaves);
    let back = join("back", "instance-b");
    ledger.await_shares(&[(&stays, 2), (&back, 2)]);
    assert_eq!(ledger.partitions_of(&back), its_partitions);
    assert_eq!(ledger.rebalances_of(&stays), rebalances, "the other one has noticed nothing");

    // It reads: the group is whole.
    for partition in 0..4 {
        write(&producer(shared(), &[]), &topic, partition, &[Content::value("x")]);
    }
    ledger.await_read(4);
    drop((stays, back));
    ledger.assert_no_faults();
}

#[test]
fn the_second_with_an_instance_id_fences_the_first() {
    let topic = new_topic(shared(), "fenced", 1, &[]);
    write(&producer(shared(), &[]), &topic, 0, &[Content::number(0)]);
    let group = unique("fenced");
    let settings = [
        ("group.id", group.as_str()),
        ("group.instance.id", "the-only-one"),
        ("auto.offset.reset", "earliest"),
        ("session.timeout.ms", "30000"),
        ("heartbeat.interval.ms", "100"),
    ];
    let first = consumer(shared(), &settings);
    first.subscribe(&[&topic]).unwrap();
    take(&first, 1);
    let second = consumer(shared(), &settings);
    second.subscribe(&[&topic]).unwrap();
    eventually("the first is fenced", PATIENCE, || {
        // Both must be served, or neither rebalances.
        second.poll(Duration::from_millis(20));
        first.poll(Duration::from_millis(20));
        match first.client().fatal_error() {
            Some((RDKafkaErrorCode::FencedInstanceId, _)) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    assert_eq!(second.client().fatal_error(), None);
    eventually("the second has the partition", PATIENCE, || {
        second.poll(Duration::from_millis(20));
        match second.assignment().unwrap().count() {
            1 => Ok(()),
            count => Err(format!("{count} partitions")),
        }
    });
}
