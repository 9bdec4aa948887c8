//! Topics made, described, refused, deleted.

use rdkafka::admin::{ConfigSource, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::producer::{BaseProducer, Producer};
use rdkafka::types::RDKafkaErrorCode;

use crate::broker::{
    PATIENCE, admin, admin_options, block_on, client, create_topic, new_topic, shared, topic_names, unique, watermarks,
};
use crate::reading::{contents, read_all};
use crate::writing::{Content, producer, try_write, write};

fn delete(topic: &str) -> Result<(), RDKafkaErrorCode> {
    let mut results = block_on(admin(shared()).delete_topics(&[topic], &admin_options())).unwrap();
    results.remove(0).map(drop).map_err(|(_, code)| code)
}

#[test]
fn a_topic_is_made_once() {
    let topic = new_topic(shared(), "once", 3, &[]);
    assert_eq!(create_topic(shared(), &topic, 3, &[]), Err(RDKafkaErrorCode::TopicAlreadyExists));
    let asker: BaseProducer = client(shared()).create().unwrap();
    let metadata = asker.client().fetch_metadata(Some(&topic), PATIENCE).unwrap();
    let partitions: Vec<_> = metadata.topics()[0].partitions().iter().map(|partition| partition.id()).collect();
    assert_eq!(partitions, [0, 1, 2]);
    let broker = metadata.brokers()[0].id();
    for partition in metadata.topics()[0].partitions() {
        assert_eq!(partition.leader(), broker);
        assert_eq!((partition.replicas(), partition.isr()), (&[broker][..], &[broker][..]));
    }
}

#[test]
fn what_is_no_topic_is_refused() {
    let too_long = "n".repeat(250);
    for name in ["", ".", "..", "a b", "a/b", "größe", "a:b", too_long.as_str()] {
        let topic = NewTopic::new(name, 1, TopicReplication::Fixed(1));
        match block_on(admin(shared()).create_topics([&topic], &admin_options())) {
            Ok(results) => {
                let code = results[0].as_ref().unwrap_err().1;
                assert_eq!(code, RDKafkaErrorCode::InvalidTopic, "{name:?}");
            }
            // librdkafka itself takes no empty name.
            Err(error) => assert_eq!(name, "", "{error}"),
        }
    }
    let longest = format!("{}-{}", unique("longest"), "n".repeat(249));
    create_topic(shared(), &longest[..249], 1, &[]).unwrap();
    let refusals = [
        (0, 1, &[][..], RDKafkaErrorCode::InvalidPartitions),
        (1, 3, &[], RDKafkaErrorCode::InvalidReplicationFactor),
        (1, 1, &[("no.such.config", "1")], RDKafkaErrorCode::InvalidConfig),
        (1, 1, &[("retention.ms", "soon")], RDKafkaErrorCode::InvalidConfig),
        (1, 1, &[("cleanup.policy", "shred")], RDKafkaErrorCode::InvalidConfig),
    ];
    for (partitions, replicas, configs, expected) in refusals {
        let name = unique("refused");
        let mut topic = NewTopic::new(&name, partitions, TopicReplication::Fixed(replicas));
        topic.config.extend_from_slice(configs);
        match block_on(admin(shared()).create_topics([&topic], &admin_options())) {
            Ok(results) => {
                assert_eq!(results[0].as_ref().unwrap_err().1, expected, "{partitions} {replicas} {configs:?}")
            }
            Err(error) => assert_eq!(partitions, 0, "librdkafka refuses by itself only the count: {error}"),
        }
        assert!(!topic_names(shared()).contains(&name), "nothing is left of it");
    }
}

#[test]
fn validating_makes_nothing() {
    let name = unique("validated");
    let topic = NewTopic::new(&name, 1, TopicReplication::Fixed(1));
    let results = block_on(admin(shared()).create_topics([&topic], &admin_options().validate_only(true))).unwrap();
    assert_eq!(results[0].as_ref().unwrap(), &name);
    assert!(!topic_names(shared()).contains(&name));
}

#[test]
fn configs_are_described_with_their_sources() {
    let configs = [("max.message.bytes", "77777"), ("cleanup.policy", "compact,delete"), ("retention.ms", "-1")];
    let topic = new_topic(shared(), "configs", 1, &configs);
    let asked = [ResourceSpecifier::Topic(&topic)];
    let described = block_on(admin(shared()).describe_configs(&asked, &admin_options())).unwrap().remove(0).unwrap();
    for (name, value) in configs {
        let entry = described.get(name).unwrap();
        assert_eq!(entry.value.as_deref(), Some(value), "{name}");
        assert_eq!((&entry.source, entry.is_default), (&ConfigSource::DynamicTopic, false), "{name}");
    }
    let defaults =
        [("segment.bytes", "1073741824"), ("compression.type", "producer"), ("delete.retention.ms", "86400000")];
    for (name, value) in defaults {
        let entry = described.get(name).unwrap();
        assert_eq!(entry.value.as_deref(), Some(value), "{name}");
        assert!(entry.is_default, "{name} comes from {:?}", entry.source);
    }
}

#[test]
fn a_deleted_topic_is_gone_and_its_name_is_free() {
    let topic = new_topic(shared(), "deleted", 2, &[]);
    write(&producer(shared(), &[]), &topic, 1, &[Content::value("old"), Content::value("older")]);
    delete(&topic).unwrap();
    daybook_test_server::eventually("the topic is gone", PATIENCE, || {
        if topic_names(shared()).contains(&topic) { Err("still listed".to_owned()) } else { Ok(()) }
    });
    assert_eq!(delete(&topic), Err(RDKafkaErrorCode::UnknownTopicOrPartition));

    create_topic(shared(), &topic, 1, &[]).unwrap();
    assert_eq!(watermarks(shared(), &topic, 0), (0, 0));
    write(&producer(shared(), &[]), &topic, 0, &[Content::value("new")]);
    assert_eq!(contents(read_all(shared(), &topic, 0)), [Content::value("new")]);
    let narrower = try_write(&producer(shared(), &[]), &topic, 1, &Content::value("x"));
    assert_eq!(narrower, Err(RDKafkaErrorCode::UnknownPartition));
}

#[test]
fn a_producer_survives_that_its_topic_is_made_anew() {
    let topic = new_topic(shared(), "made-anew", 1, &[]);
    let producer =
        producer(shared(), &[("topic.metadata.refresh.fast.interval.ms", "50"), ("enable.idempotence", "true")]);
    write(&producer, &topic, 0, &[Content::value("before")]);
    delete(&topic).unwrap();
    daybook_test_server::eventually("the topic is gone", PATIENCE, || {
        if topic_names(shared()).contains(&topic) { Err("still listed".to_owned()) } else { Ok(()) }
    });
    create_topic(shared(), &topic, 1, &[]).unwrap();
    let fresh = crate::writing::producer(shared(), &[("enable.idempotence", "true")]);
    write(&fresh, &topic, 0, &[Content::value("after")]);
    assert_eq!(contents(read_all(shared(), &topic, 0)), [Content::value("after")]);
}
