use std::collections::BTreeMap;

use daybook_command::{
    AlterConfigs, AlterTopicConfigs, ConfigResource, ConfigsRefusal, CreatePartitions, CreateTopic, DeleteTopic,
    ResourceKind, TopicRefusal,
};
use daybook_types::{TopicId, TopicName};
use proptest::prelude::*;

use crate::topic_config::{check, definitions};
use crate::{Catalog, DynamicConfigs, TimestampKind, Topic, TopicSettings};

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
    let set = catalog.alter_configs(&change(Some("LogAppendTime")), || false).unwrap();
    assert_eq!(set.settings.timestamp_kind, TimestampKind::LogAppendTime);
    let unset = catalog.alter_configs(&change(None), || false).unwrap();
    assert_eq!(unset.settings, TopicSettings::of(&BTreeMap::new(), &BTreeMap::new()));
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

fn alter(kind: ResourceKind, name: &str, changes: &[(&str, Option<&str>)]) -> AlterConfigs {
    let changes = changes.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect();
    AlterConfigs { resource: ConfigResource { kind, name: name.to_owned() }, changes }
}

#[test]
fn what_brokers_are_told_is_what_topics_have_by_default() {
    let mut catalog = Catalog::default();
    catalog.create(&create(1, "orders")).unwrap();
    let own = vec![("max.message.bytes".to_owned(), "1000".to_owned())];
    catalog.create(&CreateTopic { configs: own, ..create(2, "own") }).unwrap();
    let bytes = |catalog: &Catalog, name: &str| catalog.topic(name).unwrap().settings.max_message_bytes;
    let set = |name, value| alter(ResourceKind::Broker, name, &[("message.max.bytes", value)]);
    catalog.alter_other_configs(&set("", Some("7"))).unwrap();
    assert_eq!((bytes(&catalog, "orders"), bytes(&catalog, "own")), (7, 1000));
    catalog.alter_other_configs(&set("0", Some("8"))).unwrap();
    assert_eq!(bytes(&catalog, "orders"), 8);
    catalog.create(&create(3, "later")).unwrap();
    assert_eq!(bytes(&catalog, "later"), 8);
    catalog.alter_other_configs(&set("0", None)).unwrap();
    assert_eq!((bytes(&catalog, "orders"), bytes(&catalog, "later")), (7, 7));
    assert_eq!(catalog.dynamic_configs().of(ResourceKind::Broker, "0"), None);
    catalog.alter_other_configs(&set("", None)).unwrap();
    assert_eq!((bytes(&catalog, "orders"), catalog.dynamic_configs().all().count()), (1_048_588, 0));
}

#[test]
fn resources_of_one_kind_are_told_apart_from_others() {
    let mut catalog = Catalog::default();
    for (kind, name) in [
        (ResourceKind::ClientMetrics, "b"),
        (ResourceKind::ClientMetrics, "a"),
        (ResourceKind::ClientQuota, ""),
        (ResourceKind::Broker, "z"),
    ] {
        catalog.alter_other_configs(&alter(kind, name, &[("x", Some("1"))])).unwrap();
    }
    let found: Vec<_> = catalog.dynamic_configs().of_kind(ResourceKind::ClientMetrics).map(|(name, _)| name).collect();
    assert_eq!(found, ["a", "b"]);
}

#[test]
fn no_resource_has_more_configs_than_there_is_room_for() {
    let mut catalog = Catalog::default();
    let names: Vec<String> = (0..1_001).map(|number| number.to_string()).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), Some("x"))).collect();
    let refusal = catalog.alter_other_configs(&alter(ResourceKind::ClientMetrics, "g", &many)).unwrap_err();
    assert_eq!(refusal, ConfigsRefusal::TooManyConfigs { max: 1_000 });
    assert_eq!(catalog.alter_other_configs(&alter(ResourceKind::ClientMetrics, "g", &many[1..])), Ok(()));
}

proptest! {
    #[test]
    fn stored_configs_read_back(configs in proptest::collection::btree_map(".{0,10}", ".{0,10}", 1..5)) {
        let changes: Vec<_> = configs.iter().map(|(name, value)| (name.as_str(), Some(value.as_str()))).collect();
        let command = alter(ResourceKind::ClientQuota, "c", &changes);
        let mut before = Catalog::default();
        before.alter_other_configs(&command).unwrap();
        let mut after = DynamicConfigs::default();
        after.restore(command.resource.clone(), before.dynamic_configs().encode(&command.resource).unwrap()).unwrap();
        prop_assert_eq!(&after, before.dynamic_configs());
    }

    #[test]
    fn arbitrary_bytes_are_an_error_or_configs(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let resource = ConfigResource { kind: ResourceKind::ClientMetrics, name: String::new() };
        let _ = DynamicConfigs::default().restore(resource, bytes.into());
    }
}
