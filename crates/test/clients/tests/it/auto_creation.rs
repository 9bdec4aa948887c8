//! Topics that are made because someone names them, if broker and client both allow it.

use std::time::Duration;

use daybook_test_server::eventually;
use rdkafka::Offset;
use rdkafka::consumer::Consumer;
use rdkafka::types::RDKafkaErrorCode;
use tempfile::TempDir;

use crate::broker::{PATIENCE, launch, shared, stand_in, topic_names, unique};
use crate::reading::{assign, consumer, contents, read_all};
use crate::writing::{Content, producer, try_write, write};

#[test]
fn a_producer_makes_its_topic() {
    let topic = unique("auto-produced");
    write(&producer(shared(), &[]), &topic, 0, &[Content::value("first")]);
    assert_eq!(contents(read_all(shared(), &topic, 0)), [Content::value("first")]);
}

#[test]
fn a_consumer_makes_its_topic_only_if_it_may() {
    let (allowed, forbidden) = (unique("auto-consumed"), unique("not-auto-consumed"));
    let eager = consumer(shared(), &[("allow.auto.create.topics", "true"), ("auto.offset.reset", "earliest")]);
    // Assigned, since librdkafka never asks for the creation of what is subscribed to.
    assign(&eager, &allowed, &[(0, Offset::Beginning)]);
    let modest = consumer(shared(), &[("allow.auto.create.topics", "false")]);
    modest.subscribe(&[&forbidden]).unwrap();
    let error = modest.poll(PATIENCE).expect("an answer").map(drop).unwrap_err();
    assert_eq!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::UnknownTopicOrPartition), "{error}");
    eventually("the allowed topic is there", PATIENCE, || {
        eager.poll(Duration::from_millis(50));
        if topic_names(shared()).contains(&allowed) { Ok(()) } else { Err("it isn't".to_owned()) }
    });
    assert!(!topic_names(shared()).contains(&forbidden));
}

#[test]
fn a_server_that_makes_no_topics() {
    if stand_in().is_some() {
        return;
    }
    let data = TempDir::new().unwrap();
    let server = launch(&data).set("kafka.auto_create_topics", "false").start().unwrap();
    let producer = producer(server.kafka(), &[("topic.metadata.propagation.max.ms", "0")]);
    let refused = try_write(&producer, "nobody-made-it", 0, &Content::value("x"));
    assert!(
        matches!(refused, Err(RDKafkaErrorCode::UnknownTopic | RDKafkaErrorCode::UnknownTopicOrPartition)),
        "{refused:?}"
    );
    assert_eq!(topic_names(server.kafka()), Vec::<String>::new());
}

#[test]
fn a_server_with_its_own_partition_count() {
    if stand_in().is_some() {
        return;
    }
    let data = TempDir::new().unwrap();
    let server = launch(&data).set("kafka.default_partitions", "5").start().unwrap();
    write(&producer(server.kafka(), &[]), "made", 4, &[Content::value("last partition")]);
    assert_eq!(contents(read_all(server.kafka(), "made", 4)), [Content::value("last partition")]);
    let beyond = try_write(&producer(server.kafka(), &[]), "made", 5, &Content::value("x"));
    assert_eq!(beyond, Err(RDKafkaErrorCode::UnknownPartition));
}
