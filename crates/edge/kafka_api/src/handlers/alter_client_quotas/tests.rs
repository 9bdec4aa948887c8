use super::plan;
use crate::wire::messages::alter_client_quotas_request::{EntityData, EntryData, OpData};
use crate::wire::text;

fn asked(parts: &[(&'static str, Option<&'static str>)], ops: &[(&'static str, Option<f64>)]) -> EntryData {
    let part = |(kind, name): &(&'static str, Option<&'static str>)| {
        EntityData::default().with_entity_type(text(*kind)).with_entity_name(name.map(text))
    };
    let op = |(key, value): &(&'static str, Option<f64>)| {
        OpData::default().with_key(text(*key)).with_value(value.unwrap_or_default()).with_remove(value.is_none())
    };
    EntryData::default().with_entity(parts.iter().map(part).collect()).with_ops(ops.iter().map(op).collect())
}

#[test]
fn quotas_are_set_and_removed_under_the_entitys_name() {
    let entry = asked(
        &[("user", Some("a")), ("client-id", None)],
        &[("producer_byte_rate", Some(5.0)), ("request_percentage", None)],
    );
    let command = plan(&entry).unwrap();
    assert_eq!(command.resource.name, "u+1:ac-");
    let changes = [("producer_byte_rate".to_owned(), Some("5".to_owned())), ("request_percentage".to_owned(), None)];
    assert_eq!(command.changes, changes);
    assert!(plan(&asked(&[("ip", Some("::1"))], &[("connection_creation_rate", Some(1.0))])).is_ok());
    assert!(plan(&asked(&[("user", None)], &[("request_percentage", Some(0.5))])).is_ok());
}

#[test]
fn what_kafka_refuses_is_refused() {
    let rate = [("producer_byte_rate", Some(5.0))];
    for bad in [
        asked(&[], &rate),
        asked(&[("colour", Some("red"))], &rate),
        asked(&[("user", Some(""))], &rate),
        asked(&[("user", Some("a")), ("user", None)], &rate),
        asked(&[("ip", Some("1.2.3.4")), ("user", None)], &rate),
        asked(&[("ip", Some("nowhere"))], &[("connection_creation_rate", Some(1.0))]),
        asked(&[("ip", None)], &rate),
        asked(&[("user", None)], &[("connection_creation_rate", Some(1.0))]),
        asked(&[("user", None)], &[("producer_byte_rate", Some(1.5))]),
        asked(&[("user", None)], &[("producer_byte_rate", Some(0.0))]),
        asked(&[("user", None)], &[("producer_byte_rate", Some(f64::NAN))]),
        asked(&[("user", None)], &[("producer_byte_rate", Some(1e30))]),
        asked(&[("user", None)], &[("producer_byte_rate", Some(1.0)), ("producer_byte_rate", None)]),
    ] {
        assert!(plan(&bad).is_err(), "{bad:?}");
    }
}
