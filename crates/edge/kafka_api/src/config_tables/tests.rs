use std::collections::BTreeMap;

use daybook_catalog::topic_config::check_value;

use super::{broker, client_metrics};

use crate::error_code::ErrorCode;

fn configs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn every_default_is_legal() {
    for definition in client_metrics::DEFINITIONS {
        assert_eq!(check_value(definition, definition.default), Ok(()), "{}", definition.name);
    }
    for definition in broker::definitions() {
        assert_eq!(check_value(&definition, definition.default), Ok(()), "{}", definition.name);
    }
}

#[test]
fn a_broker_is_told_what_can_change_while_it_runs() {
    assert!(broker::check(&configs(&[("message.max.bytes", "5"), ("what.only.the.setter.knows", "x")])).is_ok());
    for pair in
        [("node.id", "3"), ("log.retention.hours", "1"), ("daybook.streams", "true"), ("listener.name.a.ssl", "x")]
    {
        let refusal = broker::check(&configs(&[pair])).unwrap_err();
        assert_eq!(refusal.error, ErrorCode::InvalidRequest);
        assert!(refusal.message.unwrap().starts_with("Cannot update these configs dynamically"), "{pair:?}");
    }
    assert!(broker::check(&configs(&[("message.max.bytes", "-3")])).is_err());
    let names: Vec<_> = broker::definitions().map(|definition| definition.name).collect();
    assert!(names.contains(&"log.retention.ms") && !names.contains(&"daybook.streams"), "{names:?}");
}

#[test]
fn a_subscription_of_client_metrics_matches_clients_by_expressions() {
    let legal =
        [("metrics", "org.apache.kafka.,x"), ("interval.ms", "100"), ("match", "client_id=a.*, client_source_port=1")];
    assert!(client_metrics::check(&configs(&legal)).is_ok());
    for pair in
        [("interval.ms", "99"), ("match", "client_id"), ("match", "colour=red"), ("match", "client_id=["), ("no", "1")]
    {
        assert!(client_metrics::check(&configs(&[pair])).is_err(), "{pair:?}");
    }
    let patterns = client_metrics::patterns("client_id=a.").unwrap();
    assert!(patterns[0].1.is_match("ab") && !patterns[0].1.is_match("abc"));
}
