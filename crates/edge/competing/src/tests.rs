use bytes::Bytes;
use proptest::prelude::*;

use crate::body::{BodyFault, Progress, decode, encode};
use crate::definition::{
    ConsumerStrategy, Definition, FilterText, Invalid, Settings, Source, StartFrom, is_parked_of_all,
};

fn definition(source: Source) -> Definition {
    Definition { source, group: "g".into(), settings: Settings::default() }
}

fn source() -> impl Strategy<Value = Source> {
    let text = || prop::option::of("[a-z]{0,5}");
    let filter =
        (prop::collection::vec("[a-z]{0,3}", 0..3), text(), text()).prop_map(|(prefixes, stream_regex, type_regex)| {
            FilterText { stream_prefixes: prefixes.clone(), stream_regex, type_prefixes: prefixes, type_regex }
        });
    prop_oneof![
        "[a-z]{1,9}".prop_map(Source::Stream),
        "[a-z]{1,9}".prop_map(Source::Category),
        "[a-z]{1,9}".prop_map(Source::EventType),
        filter.prop_map(Source::All)
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let strategies = [
        ConsumerStrategy::RoundRobin,
        ConsumerStrategy::DispatchToSingle,
        ConsumerStrategy::Pinned,
        ConsumerStrategy::PinnedByCorrelation,
    ];
    let start = prop_oneof![Just(StartFrom::Start), Just(StartFrom::End), any::<u64>().prop_map(StartFrom::At)];
    let counts = prop::array::uniform7(any::<u32>());
    (start, any::<[bool; 2]>(), any::<[u64; 2]>(), counts, prop::sample::select(strategies.to_vec())).prop_map(
        |(
            start_from,
            [resolve_links, extra_statistics],
            [message_timeout_ms, checkpoint_after_ms],
            counts,
            strategy,
        )| {
            let [
                max_retry_count,
                live_buffer_size,
                read_batch_size,
                history_buffer_size,
                min_checkpoint_count,
                max_checkpoint_count,
                max_subscriber_count,
            ] = counts;
            Settings {
                resolve_links,
                start_from,
                extra_statistics,
                message_timeout_ms,
                max_retry_count,
                live_buffer_size,
                read_batch_size,
                history_buffer_size,
                checkpoint_after_ms,
                min_checkpoint_count,
                max_checkpoint_count,
                max_subscriber_count,
                strategy,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_body_comes_back_as_it_was_written(
        source in source(), group in ".{1,9}", settings in settings(), checkpoint: u64, has_come_on: bool,
    ) {
        let definition = Definition { source, group, settings };
        let progress = Progress { checkpoint, has_come_on };
        let (read, found) = decode(&encode(progress, &definition)).unwrap();
        prop_assert_eq!(read, progress);
        prop_assert_eq!(found, definition);
    }

    #[test]
    fn any_bytes_are_a_body_or_an_error(bytes: Vec<u8>) {
        let _ = decode(&bytes);
    }
}

#[test]
fn version_1_is_read_for_ever() {
    let body = Bytes::from_static(
        b"\x01\x01\0\0\0\0\0\0\0\x07{\"source\":{\"stream\":\"order-1\"},\"group\":\"g\",\"settings\":{\"start_from\":{\"at\":3},\"strategy\":\"pinned_by_correlation\"}}",
    );
    let (progress, found) = decode(&body).unwrap();
    assert_eq!(progress, Progress { checkpoint: 7, has_come_on: true });
    let settings = Settings {
        start_from: StartFrom::At(3),
        strategy: ConsumerStrategy::PinnedByCorrelation,
        ..Settings::default()
    };
    assert_eq!(found, Definition { source: Source::Stream("order-1".into()), group: "g".into(), settings });
    let mut newer = body.to_vec();
    newer[0] = 2;
    assert!(matches!(decode(&newer), Err(BodyFault::Version { version: 2 })));
}

#[test]
fn a_name_tells_what_is_consumed() {
    let named = |name| Source::named(name, FilterText::default());
    assert_eq!(named("$all"), Source::All(FilterText::default()));
    assert_eq!(named("$ce-order"), Source::Category("order".into()));
    assert_eq!(named("$et-placed"), Source::EventType("placed".into()));
    assert_eq!(named("$ce-"), Source::Stream("$ce-".into()));
    assert_eq!(named("order-1"), Source::Stream("order-1".into()));
    let name = definition(named("order-1")).name();
    assert_eq!(name.to_string(), "order-1::g");
    assert_eq!(name.parked_stream().unwrap().as_str(), "$persistentsubscription-order-1::g-parked");
}

#[test]
fn what_groups_on_all_park_does_not_feed_them() {
    assert!(is_parked_of_all("$persistentsubscription-$all::g-parked"));
    assert!(is_parked_of_all("$$$persistentsubscription-$all::g-parked"));
    assert!(!is_parked_of_all("$persistentsubscription-order-1::g-parked"));
    assert!(!is_parked_of_all("order-1"));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let check = |change: fn(&mut Definition)| {
        let mut changed = definition(Source::Stream("order-1".into()));
        change(&mut changed);
        changed.check()
    };
    assert_eq!(check(|_| {}), Ok(()));
    assert_eq!(check(|it| it.group.clear()), Err(Invalid::NoGroup));
    let batch = Invalid::ReadBatch { read_batch_size: 20, history_buffer_size: 20 };
    assert_eq!(check(|it| it.settings.history_buffer_size = 20), Err(batch));
    assert!(matches!(check(|it| it.settings.live_buffer_size = u32::MAX), Err(Invalid::TooLarge { .. })));
    assert!(matches!(check(|it| it.group = "g".repeat(1024)), Err(Invalid::LongName { .. })));
    assert!(matches!(check(|it| it.source = Source::Stream(String::new())), Err(Invalid::StreamName { .. })));
    let bad_regex = FilterText { type_regex: Some("(".into()), ..FilterText::default() };
    assert!(matches!(definition(Source::All(bad_regex)).check(), Err(Invalid::Regex { .. })));
}

#[test]
fn an_expression_may_look_ahead() {
    let text = FilterText { type_regex: Some(r"^(?!(\$.+$|Result$))".into()), ..FilterText::default() };
    let (filter, looking) = text.compile().unwrap();
    assert!(filter.type_regex.is_none());
    assert!(looking.lets_pass(Some("order-1"), "placed"));
    assert!(!looking.lets_pass(Some("order-1"), "$metadata"));
    assert!(!looking.lets_pass(None, "Result"));
    let (filter, looking) = FilterText { type_regex: Some("^a".into()), ..text }.compile().unwrap();
    assert!(filter.type_regex.is_some());
    assert!(looking.lets_pass(None, "b"), "what the store judges isn't judged twice");
}
