use std::collections::BTreeMap;

use daybook_command::{AlterTopicConfigs, CreatePartitions, CreateTopic, DeleteTopic, TopicRefusal};
use daybook_types::{TopicId, TopicName};
use proptest::prelude::*;

use crate::topic_config::{check, definitions};
use crate::{Catalog, TimestampKind, Topic, TopicSettings};

fn id(byte: u8) -> TopicId {
    TopicId::from_bytes([byte; 16])
}

fn create(byte: u8, name: &str) -> CreateTopic {
    CreateTopic { id: id(byte), name: TopicName::new(name).unwrap(), partitions: 2, configs: Vec::new() }
}

#[test]
fn every_default_is_legal_and_names_are_sorted() {
    for pair in definitions().windows(2) {
        assert!(pair[0].name < pair[1].name);
    }
    for definition in definitions() {
        assert_eq!(check(definition.name, definition.default), Ok(()), "{}", definition.name);
    }
}

#[test]
fn a_bad_value_is_refused_by_name() {
    let refusal = check("max.message.bytes", "-5").unwrap_err().to_string();
    assert!(refusal.contains("max.message.bytes") && refusal.contains("-5"), "{refusal}");
    assert!(check("cleanup.policy", "compact, delete").is_ok());
    assert!(check("cleanup.policy", "shred").is_err());
    assert!(check("no.such.config", "1").is_err());
}

#[test]
fn a_name_belongs_to_one_topic_until_it_is_deleted() {
    let mut catalog = Catalog::default();
    catalog.create(&create(1, "orders")).unwrap();
    assert_eq!(
        catalog.create(&create(2, "orders")).unwrap_err(),
        TopicRefusal::Exists { name: TopicName::new("orders").unwrap(), id: id(1) }
    );
    catalog.delete(DeleteTopic { id: id(1) }).unwrap();
    catalog.create(&create(2, "orders")).unwrap();
    assert_eq!(catalog.topic("orders").unwrap().id, id(2));
    assert!(catalog.topic_by_id(id(1)).is_none());
    assert_eq!(catalog.delete(DeleteTopic { id: id(1) }).unwrap_err(), TopicRefusal::Unknown { id: id(1) });
}

#[test]
fn configs_override_defaults_and_return_to_them() {
    let mut catalog = Catalog::default();
    catalog.create(&create(1, "orders")).unwrap();
    let change = |value: Option<&str>| AlterTopicConfigs {
        id: id(1),
        changes: vec![("message.timestamp.type".into(), value.map(str::to_owned))],
    };
    let set = catalog.alter_configs(&change(Some("LogAppendTime"))).unwrap();
    assert_eq!(set.settings.timestamp_kind, TimestampKind::LogAppendTime);
    let unset = catalog.alter_configs(&change(None)).unwrap();
    assert_eq!(unset.settings, TopicSettings::of(&BTreeMap::new()));
    assert_eq!(unset.settings.max_message_bytes, 1_048_588);
}

#[test]
fn partitions_only_grow() {
    let mut catalog = Catalog::default();
    catalog.create(&create(1, "orders")).unwrap();
    assert!(catalog.create_partitions(CreatePartitions { id: id(1), total: 2 }).is_err());
    let (before, after) = catalog.create_partitions(CreatePartitions { id: id(1), total: 5 }).unwrap();
    assert_eq!((before.partitions, after.partitions), (2, 5));
    assert_eq!(catalog.topic("orders").unwrap().partition_ids().count(), 5);
}

proptest! {
    #[test]
    fn a_stored_topic_reads_back(
        name in "[a-zA-Z0-9._-]{3,20}",
        partitions in 1..1000i32,
        configs in proptest::collection::btree_map(".{0,10}", ".{0,10}", 0..5),
    ) {
        let topic = Topic::new(id(7), TopicName::new(&name).unwrap(), partitions, configs);
        prop_assert_eq!(Topic::decode(id(7), topic.encode()).unwrap(), topic);
    }

    #[test]
    fn arbitrary_bytes_are_an_error_or_a_topic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Topic::decode(id(7), bytes.into());
    }
}
