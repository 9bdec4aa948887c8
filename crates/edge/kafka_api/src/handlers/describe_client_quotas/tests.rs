use super::{ANY, DEFAULT, EXACT, check, matches};
use crate::quota::entity::{Entity, Name};
use crate::wire::messages::describe_client_quotas_request::ComponentData;
use crate::wire::text;

fn component(kind: &'static str, match_type: i8, name: Option<&'static str>) -> ComponentData {
    ComponentData::default().with_entity_type(text(kind)).with_match_type(match_type).with_match(name.map(text))
}

#[test]
fn a_filter_names_each_kind_once_and_an_address_alone() {
    assert!(check(&[component("user", ANY, None), component("client-id", EXACT, Some("a"))]).is_ok());
    for bad in [
        vec![component("user", ANY, None), component("user", ANY, None)],
        vec![component("ip", ANY, None), component("user", ANY, None)],
        vec![component("user", EXACT, None)],
        vec![component("user", DEFAULT, Some("a"))],
        vec![component("user", 7, None)],
        vec![component("", ANY, None)],
        vec![component("colour", ANY, None)],
    ] {
        assert!(check(&bad).is_err(), "{bad:?}");
    }
}

#[test]
fn strict_lets_through_what_has_no_other_part() {
    let entity = Entity { user: Some(Name::of("a")), client_id: Some(Name::Default), ip: None };
    let user = [component("user", EXACT, Some("a"))];
    assert!(matches(&entity, &user, false) && !matches(&entity, &user, true));
    let both = [component("user", ANY, None), component("client-id", DEFAULT, None)];
    assert!(matches(&entity, &both, true));
    assert!(!matches(&entity, &[component("user", DEFAULT, None)], false));
    assert!(!matches(&entity, &[component("ip", ANY, None)], false));
    assert!(matches(&entity, &[], false) && !matches(&entity, &[], true));
}
