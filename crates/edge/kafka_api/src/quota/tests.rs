use daybook_catalog::Catalog;
use daybook_command::{AlterConfigs, ConfigResource, ResourceKind};
use proptest::prelude::*;

use super::entity::{Entity, Name};
use super::{
    CONNECTION_CREATION_RATE, CONSUMER_BYTE_RATE, Measure, PRODUCER_BYTE_RATE, Quotas, REQUEST_PERCENTAGE, SENSORS_MAX,
};

fn entity(user: Option<Name>, client_id: Option<Name>) -> Entity {
    Entity { user, client_id, ip: None }
}

fn set(catalog: &mut Catalog, entity: &Entity, key: &str, value: &str) {
    let resource = ConfigResource { kind: ResourceKind::ClientQuota, name: entity.encode() };
    let changes = vec![(key.to_owned(), Some(value.to_owned()))];
    catalog.alter_other_configs(&AlterConfigs { resource, changes }).unwrap();
}

fn all_clients() -> Entity {
    entity(None, Some(Name::Default))
}

#[test]
fn who_has_no_quota_waits_for_nothing() {
    let (catalog, quotas) = (Catalog::default(), Quotas::default());
    assert_eq!(quotas.record(&catalog, Measure::Produce, "a", 1e12, 0), 0);
    assert_eq!(quotas.window_max(&catalog, Measure::Fetch, "a"), None);
}

/// Eleven seconds are measured, of which ten are whole: 1,000 B/s grant 10,000 bytes at once, and each further one a millisecond.
#[test]
fn beyond_the_quota_one_waits_until_the_rate_has_come_down() {
    let (mut catalog, quotas) = (Catalog::default(), Quotas::default());
    set(&mut catalog, &all_clients(), PRODUCER_BYTE_RATE, "1000");
    let record = |bytes: f64, at| quotas.record(&catalog, Measure::Produce, "a", bytes, at);
    assert_eq!(record(10_000.0, 0), 0);
    assert_eq!(record(500.0, 0), 500);
    // Half a second later the window is half a second longer.
    assert_eq!(record(0.0, 500), 0);
    assert_eq!(record(1_500.0, 500), 1_500);
    // Old samples go.
    assert_eq!(record(0.0, 60_000), 0);
    assert_eq!(record(10_000.0, 60_000), 0);
}

#[test]
fn what_is_taken_back_does_not_count() {
    let (mut catalog, quotas) = (Catalog::default(), Quotas::default());
    set(&mut catalog, &all_clients(), CONSUMER_BYTE_RATE, "100");
    assert_eq!(quotas.window_max(&catalog, Measure::Fetch, "a"), Some(1_000));
    assert_eq!(quotas.record(&catalog, Measure::Fetch, "a", 3_000.0, 0), 20_000);
    quotas.unrecord(&catalog, Measure::Fetch, "a", 3_000.0, 0);
    assert_eq!(quotas.record(&catalog, Measure::Fetch, "a", 1_000.0, 0), 0);
}

#[test]
fn the_most_specific_quota_holds() {
    let quota = |catalog: &Catalog| Quotas::default().window_max(catalog, Measure::Produce, "a").unwrap() / 10;
    let mut catalog = Catalog::default();
    let (user, client) = (|| Some(Name::of("ANONYMOUS")), || Some(Name::of("a")));
    // From the least specific to the most.
    let entities = [
        entity(None, Some(Name::Default)),
        entity(None, client()),
        entity(Some(Name::Default), None),
        entity(Some(Name::Default), Some(Name::Default)),
        entity(Some(Name::Default), client()),
        entity(user(), None),
        entity(user(), Some(Name::Default)),
        entity(user(), client()),
    ];
    for (number, entity) in entities.iter().enumerate() {
        set(&mut catalog, entity, PRODUCER_BYTE_RATE, &(number + 1).to_string());
        assert_eq!(quota(&catalog), number + 1, "{entity:?}");
    }
    // Others' quotas hold for nobody else.
    set(&mut catalog, &entity(Some(Name::of("alice")), client()), PRODUCER_BYTE_RATE, "99");
    assert_eq!(quota(&catalog), 8);
}

#[test]
fn clients_of_a_user_share_its_quota_and_client_ids_have_each_their_own() {
    let (mut catalog, quotas) = (Catalog::default(), Quotas::default());
    set(&mut catalog, &entity(Some(Name::Default), None), PRODUCER_BYTE_RATE, "10");
    assert_eq!(quotas.record(&catalog, Measure::Produce, "a", 100.0, 0), 0);
    assert_eq!(quotas.record(&catalog, Measure::Produce, "b", 1.0, 0), 100);
    let (mut catalog, quotas) = (Catalog::default(), Quotas::default());
    set(&mut catalog, &all_clients(), PRODUCER_BYTE_RATE, "10");
    assert_eq!(quotas.record(&catalog, Measure::Produce, "a", 100.0, 0), 0);
    assert_eq!(quotas.record(&catalog, Measure::Produce, "b", 100.0, 0), 0);
}

#[test]
fn requests_hold_back_for_a_window_at_most() {
    let (mut catalog, quotas) = (Catalog::default(), Quotas::default());
    set(&mut catalog, &all_clients(), REQUEST_PERCENTAGE, "1");
    let busy = std::time::Duration::from_secs(60);
    assert_eq!(quotas.record_request(&catalog, "a", busy, 0), 1_000);
}

#[test]
fn a_connection_too_many_is_held_and_not_counted() {
    let (mut catalog, quotas) = (Catalog::default(), Quotas::default());
    let ip = "10.0.0.1".parse().unwrap();
    set(&mut catalog, &Entity { ip: Some(Name::Default), ..Entity::default() }, CONNECTION_CREATION_RATE, "1");
    for _ in 0..10 {
        assert_eq!(quotas.record_connection(&catalog, ip, 0), 0);
    }
    assert_eq!(quotas.record_connection(&catalog, ip, 0), 1_000);
    assert_eq!(quotas.record_connection(&catalog, ip, 0), 1_000);
    assert_eq!(quotas.record_connection(&catalog, "10.0.0.2".parse().unwrap(), 0), 0);
}

#[test]
fn any_number_of_client_ids_takes_bounded_room() {
    let (mut catalog, quotas) = (Catalog::default(), Quotas::default());
    set(&mut catalog, &all_clients(), PRODUCER_BYTE_RATE, "10");
    for number in 0..=SENSORS_MAX as u64 {
        quotas.record(&catalog, Measure::Produce, &number.to_string(), 1.0, number / 10);
    }
    assert_eq!(quotas.sensors.lock().len(), SENSORS_MAX);
}

proptest! {
    #[test]
    fn an_entity_reads_back(user: Option<Option<String>>, client_id: Option<Option<String>>, ip: Option<Option<String>>) {
        let name = |part: Option<Option<String>>| part.map(|name| name.map_or(Name::Default, Name::Of));
        let entity = Entity { user: name(user), client_id: name(client_id), ip: name(ip) };
        let expected = Some(entity.clone()).filter(|entity| entity.parts().next().is_some());
        prop_assert_eq!(Entity::decode(&entity.encode()), expected);
    }

    #[test]
    fn arbitrary_text_is_an_entity_or_none(text in "[uci+:0-9-]{0,12}|.*") {
        let _ = Entity::decode(&text);
    }
}
