use daybook_catalog::Catalog;
use daybook_command::{AlterConfigs, ConfigResource, ResourceKind};
use uuid::Uuid;

use super::{CLIENTS_MAX, Client, PUSH_BYTES_MAX, Push, Telemetry, kafka_uuid};
use crate::error_code::ErrorCode;

const ONE: Uuid = Uuid::from_u128(77);

fn client(id: &str) -> Client<'_> {
    Client { id, software: ("librdkafka", "2.3"), peer: "10.0.0.1:5000".parse().unwrap() }
}

fn set(catalog: &mut Catalog, name: &str, configs: &[(&str, &str)]) {
    let resource = ConfigResource { kind: ResourceKind::ClientMetrics, name: name.to_owned() };
    let changes = configs.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))).collect();
    catalog.alter_other_configs(&AlterConfigs { resource, changes }).unwrap();
}

fn push(subscription_id: i32) -> Push {
    Push { subscription_id, is_terminating: false, is_known_compression: true, bytes: 10 }
}

#[test]
fn a_client_is_asked_for_what_all_matching_subscriptions_name() {
    let mut catalog = Catalog::default();
    set(&mut catalog, "one", &[("metrics", "a.,b."), ("interval.ms", "5000"), ("match", "client_id=x.*")]);
    set(
        &mut catalog,
        "two",
        &[("metrics", "b.,c."), ("match", "client_software_name=librdkafka,client_source_address=10\\..*")],
    );
    set(&mut catalog, "none", &[("metrics", "*"), ("match", "client_id=nobody")]);
    let subscribe = |id| Telemetry::default().subscribe(catalog.dynamic_configs(), ONE, &client(id), 0).unwrap();
    let found = subscribe("xyz");
    assert_eq!((found.metrics.join(" "), found.interval_ms), ("a. b. c.".to_owned(), 5_000));
    let other = subscribe("other");
    assert_eq!((other.metrics.join(" "), other.interval_ms), ("b. c.".to_owned(), 300_000));
    assert_ne!(found.id, other.id);
    set(&mut catalog, "all", &[("metrics", "*")]);
    let all = Telemetry::default().subscribe(catalog.dynamic_configs(), ONE, &client("other"), 0).unwrap();
    assert_eq!(all.metrics, ["*"]);
}

#[test]
fn a_client_comes_once_an_interval_or_when_something_changed() {
    let mut catalog = Catalog::default();
    set(&mut catalog, "one", &[("metrics", "a."), ("interval.ms", "1000")]);
    let telemetry = Telemetry::default();
    let client = client("x");
    let first = telemetry.subscribe(catalog.dynamic_configs(), ONE, &client, 0).unwrap();
    let again = telemetry.subscribe(catalog.dynamic_configs(), ONE, &client, 999);
    assert_eq!(again, Err(ErrorCode::ThrottlingQuotaExceeded));
    let pushed = |id, now_ms| telemetry.push(catalog.dynamic_configs(), ONE, &client, push(id), now_ms);
    assert_eq!(pushed(first.id, 999), Ok(()));
    assert_eq!(pushed(first.id, 1_500), Err(ErrorCode::ThrottlingQuotaExceeded));
    assert_eq!(pushed(first.id, 1_999), Ok(()));
    assert_eq!(pushed(first.id + 1, 3_000), Err(ErrorCode::UnknownSubscriptionId));
    set(&mut catalog, "one", &[("metrics", "b.")]);
    let changed = telemetry.subscribe(catalog.dynamic_configs(), ONE, &client, 3_001).unwrap();
    assert_eq!((changed.metrics.join(" "), changed.id == first.id), ("b.".to_owned(), false));
}

#[test]
fn what_can_not_be_taken_is_refused() {
    let (catalog, telemetry) = (Catalog::default(), Telemetry::default());
    let (configs, client) = (catalog.dynamic_configs(), client("x"));
    let id = telemetry.subscribe(configs, ONE, &client, 0).unwrap().id;
    let judge = |push, now_ms| telemetry.push(configs, ONE, &client, push, now_ms);
    let compressed = Push { is_known_compression: false, ..push(id) };
    assert_eq!(judge(compressed, 0), Err(ErrorCode::UnsupportedCompressionType));
    let large = Push { bytes: PUSH_BYTES_MAX + 1, ..push(id) };
    assert_eq!(judge(large, 300_000), Err(ErrorCode::TelemetryTooLarge));
    // The last word is heard at any time, and then no other.
    assert_eq!(judge(Push { is_terminating: true, ..push(id) }, 300_001), Ok(()));
    assert_eq!(judge(push(id), 900_000), Err(ErrorCode::InvalidRequest));
    let nobody = telemetry.push(configs, Uuid::nil(), &client, push(id), 0);
    assert_eq!(nobody, Err(ErrorCode::InvalidRequest));
}

#[test]
fn any_number_of_clients_takes_bounded_room() {
    let (catalog, telemetry) = (Catalog::default(), Telemetry::default());
    for number in 0..CLIENTS_MAX as u128 + 2 {
        let _ =
            telemetry.subscribe(catalog.dynamic_configs(), Uuid::from_u128(number + 9), &client("x"), number as u64);
    }
    let clients = telemetry.clients.lock();
    assert_eq!(clients.len(), CLIENTS_MAX);
    assert!(!clients.contains_key(&Uuid::from_u128(9)) && clients.contains_key(&Uuid::from_u128(11)));
}

#[test]
fn ids_are_written_as_kafka_writes_them() {
    assert_eq!(kafka_uuid(Uuid::nil()), "A".repeat(22));
    assert_eq!(kafka_uuid(Uuid::from_u128(1)), format!("{}Q", "A".repeat(21)));
    assert_eq!(kafka_uuid(Uuid::from_u128(u128::MAX)), format!("{}w", "_".repeat(21)));
}
