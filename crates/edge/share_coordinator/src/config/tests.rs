use daybook_read::ConfigsOfGroup;

use super::{GroupSettings, InvalidConfig, Reset, TABLE, check, parse_duration};
use crate::settings::Settings;

#[test]
fn every_default_is_legal_and_names_ascend() {
    let settings = Settings::default();
    for definition in TABLE {
        assert_eq!(check(definition.name, &definition.default(&settings), &settings), Ok(()), "{}", definition.name);
    }
    assert!(TABLE.windows(2).all(|pair| pair[0].name < pair[1].name));
}

#[test]
fn values_outside_their_range_are_refused() {
    let settings = Settings::default();
    for (name, value) in [
        ("share.record.lock.duration.ms", "14999"),
        ("share.record.lock.duration.ms", "60001"),
        ("share.delivery.count.limit", "1"),
        ("share.isolation.level", "serializable"),
        ("share.auto.offset.reset", "by_duration:-PT1S"),
        ("share.auto.offset.reset", "none"),
    ] {
        assert!(matches!(check(name, value, &settings), Err(InvalidConfig::Value { .. })), "{name}={value}");
    }
    assert!(matches!(check("retention.ms", "1", &settings), Err(InvalidConfig::Unknown { .. })));
}

#[test]
fn durations_are_read_as_java_reads_them() {
    let cases = [
        ("PT1S", Some(1_000)),
        ("P1D", Some(86_400_000)),
        ("P2DT3H4M5.25S", Some(183_845_250)),
        ("pt0.5s", Some(500)),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("PT1.5H", None),
        ("-PT1S", None),
        ("PT1S1H", None),
        ("1D", None),
    ];
    for (text, millis) in cases {
        assert_eq!(parse_duration(text), millis, "{text}");
    }
}

#[test]
fn what_is_set_holds_and_the_rest_is_as_by_default() {
    let settings = Settings::default();
    let set = [("share.delivery.count.limit", "2"), ("share.auto.offset.reset", "by_duration:PT1H")];
    let configs: ConfigsOfGroup = set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let group = GroupSettings::of(&configs, &settings);
    assert_eq!((group.rules.delivery_count_limit, group.reset), (2, Reset::ByDuration(3_600_000)));
    assert_eq!((group.rules.lock_ms, group.renew, group.read_committed), (30_000, true, false));
}
