use bytes::Bytes;
use daybook_competing::{
    ConsumerStrategy, Ended, FilterText, ItemId, JoinError, ManageError, Settings, Source, StartFrom, SubscriptionName,
};
use tonic::Code;
use uuid::Uuid;

use super::messages::create_req::all_options::filter_options::{Expression, Filter};
use super::messages::create_req::all_options::{AllOption, FilterOption, FilterOptions};
use super::messages::create_req::options::StreamOption;
use super::messages::create_req::settings::{CheckpointAfter, MessageTimeout};
use super::messages::create_req::stream_options::RevisionOption;
use super::messages::create_req::{self, AllOptions, Options, Position, StreamOptions};
use super::messages::{CreateReq, ReplayParkedReq, replay_parked_req};
use super::{name, refusal, settings};
use crate::proto::event_store::client::{Empty, StreamIdentifier};

#[allow(deprecated)]
fn asked() -> create_req::Settings {
    create_req::Settings {
        resolve_links: true,
        revision: 0,
        extra_statistics: true,
        message_timeout: Some(MessageTimeout::MessageTimeoutTicks(150_000)),
        max_retry_count: 1,
        checkpoint_after: Some(CheckpointAfter::CheckpointAfterMs(4)),
        min_checkpoint_count: 2,
        max_checkpoint_count: 3,
        max_subscriber_count: 5,
        live_buffer_size: 6,
        read_batch_size: 7,
        history_buffer_size: 8,
        named_consumer_strategy: create_req::ConsumerStrategy::Pinned.into(),
        consumer_strategy: String::new(),
    }
}

fn identifier(name: &'static str) -> Option<StreamIdentifier> {
    Some(StreamIdentifier { stream_name: Bytes::from_static(name.as_bytes()) })
}

#[allow(deprecated)]
fn request(stream_option: Option<StreamOption>, settings: create_req::Settings) -> CreateReq {
    let options = Options {
        stream_option,
        stream_identifier: identifier("old-1"),
        group_name: "g".into(),
        settings: Some(settings),
    };
    CreateReq { options: Some(options) }
}

fn on_stream(name: &'static str, revision_option: RevisionOption) -> Option<StreamOption> {
    let stream_identifier = identifier(name);
    Some(StreamOption::Stream(StreamOptions { stream_identifier, revision_option: Some(revision_option) }))
}

fn on_all(all_option: AllOption, filter_option: Option<FilterOption>) -> Option<StreamOption> {
    Some(StreamOption::All(AllOptions { all_option: Some(all_option), filter_option }))
}

#[test]
fn every_setting_arrives() {
    let start = RevisionOption::Revision(9);
    let definition = settings::to_create(request(on_stream("order-1", start), asked())).unwrap();
    assert_eq!(definition.source, Source::Stream("order-1".into()));
    assert_eq!(definition.group, "g");
    let expected = Settings {
        resolve_links: true,
        start_from: StartFrom::At(9),
        extra_statistics: true,
        message_timeout_ms: 15,
        max_retry_count: 1,
        live_buffer_size: 6,
        read_batch_size: 7,
        history_buffer_size: 8,
        checkpoint_after_ms: 4,
        min_checkpoint_count: 2,
        max_checkpoint_count: 3,
        max_subscriber_count: 5,
        strategy: ConsumerStrategy::Pinned,
    };
    assert_eq!(definition.settings, expected);
}

#[test]
fn the_start_has_many_forms() {
    let start = |option| settings::to_create(request(option, asked())).unwrap().settings.start_from;
    assert_eq!(start(on_stream("a", RevisionOption::Start(Empty {}))), StartFrom::Start);
    assert_eq!(start(on_stream("a", RevisionOption::Revision(0))), StartFrom::Start);
    assert_eq!(start(on_stream("a", RevisionOption::End(Empty {}))), StartFrom::End);
    assert_eq!(start(on_stream("a", RevisionOption::Revision(u64::MAX))), StartFrom::End);
    let position = |commit_position, prepare_position| {
        on_all(AllOption::Position(Position { commit_position, prepare_position }), None)
    };
    assert_eq!(start(position(5, 5)), StartFrom::At(5));
    assert_eq!(settings::to_create(request(position(5, 6), asked())).unwrap_err().code(), Code::InvalidArgument);
    // An old client: on its stream, from its revision.
    let old = settings::to_create(request(None, asked())).unwrap();
    assert_eq!((old.source, old.settings.start_from), (Source::Stream("old-1".into()), StartFrom::Start));
}

#[test]
fn a_filter_is_an_expression_or_prefixes() {
    let created = |regex: &str, prefix: &[&str]| {
        let prefix = prefix.iter().map(|&prefix| prefix.to_owned()).collect();
        let filter = Some(Filter::EventType(Expression { regex: regex.to_owned(), prefix }));
        let options = FilterOptions { filter, window: None, checkpoint_interval_multiplier: 1 };
        let option = on_all(AllOption::Start(Empty {}), Some(FilterOption::Filter(options)));
        settings::to_create(request(option, asked())).map(|definition| definition.source)
    };
    let regex = FilterText { type_regex: Some("^a".into()), ..FilterText::default() };
    assert_eq!(created("^a", &[]).unwrap(), Source::All(regex));
    let prefixes = FilterText { type_prefixes: vec!["a".into(), "b".into()], ..FilterText::default() };
    assert_eq!(created("", &["a", "b"]).unwrap(), Source::All(prefixes));
    assert_eq!(created("", &[]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn a_strategy_by_name_wins() {
    let strategy = |name: &str| {
        let settings = create_req::Settings { consumer_strategy: name.to_owned(), ..asked() };
        settings::to_create(request(on_stream("a", RevisionOption::Start(Empty {})), settings))
    };
    assert_eq!(strategy("PinnedByCorrelation").unwrap().settings.strategy, ConsumerStrategy::PinnedByCorrelation);
    let refused = strategy("Fairest").unwrap_err();
    assert_eq!(refused.code(), Code::Internal);
    assert_eq!(refused.metadata().get("exception").unwrap(), "persistent-subscription-failed");
}

#[test]
fn a_negative_count_is_refused() {
    let settings = create_req::Settings { max_retry_count: -1, ..asked() };
    let refused = settings::to_create(request(on_stream("a", RevisionOption::Start(Empty {})), settings)).unwrap_err();
    assert_eq!(refused.metadata().get("exception").unwrap(), "persistent-subscription-failed");
    let replay = |limit| {
        let options = replay_parked_req::Options {
            group_name: "g".into(),
            stream_option: Some(replay_parked_req::options::StreamOption::All(Empty {})),
            stop_at_option: Some(replay_parked_req::options::StopAtOption::StopAt(limit)),
        };
        name::to_replay(ReplayParkedReq { options: Some(options) })
    };
    assert_eq!(replay(3).unwrap(), (SubscriptionName::new("$all", "g"), Some(3)));
    assert_eq!(replay(-1).unwrap_err().code(), Code::Internal);
}

#[test]
fn clients_tell_refusals_apart() {
    let name = SubscriptionName::new("order-1", "g");
    let cases = [
        (refusal::unknown(&name), Code::NotFound, "persistent-subscription-does-not-exist"),
        (
            refusal::of_manage(&ManageError::Exists(name.clone()), &name),
            Code::AlreadyExists,
            "persistent-subscription-exists",
        ),
        (refusal::of_join(&JoinError::Full(name.clone())), Code::FailedPrecondition, "maximum-subscribers-reached"),
        (refusal::of_end(Ended::Dropped, &name), Code::Cancelled, "persistent-subscription-dropped"),
    ];
    for (status, code, exception) in cases {
        assert_eq!(status.code(), code);
        assert_eq!(status.metadata().get("exception").unwrap(), exception);
        assert_eq!(status.metadata().get("stream-name").unwrap(), "order-1");
        assert_eq!(status.metadata().get("group-name").unwrap(), "g");
    }
    assert!(refusal::of_join(&JoinError::Full(name)).message().starts_with("Maximum subscriptions reached"));
    assert_eq!(refusal::of_join(&JoinError::Slots { slots: 0 }).code(), Code::InvalidArgument);
}

#[test]
fn an_id_that_stands_twice_means_the_older_one() {
    let held = super::read::Held::new(10);
    let id = Uuid::from_u128(7);
    let message = super::super::ids::id_message(id, super::super::ids::IdForm::Text);
    held.add(id, ItemId::main(1), |_| true);
    held.add(id, ItemId::main(5), |_| true);
    held.add(id, ItemId::main(5), |_| true);
    assert_eq!(held.take(std::slice::from_ref(&message)).unwrap(), [ItemId::main(1)]);
    assert_eq!(held.take(std::slice::from_ref(&message)).unwrap(), [ItemId::main(5)]);
    assert_eq!(held.take(std::slice::from_ref(&message)).unwrap(), []);
    // What it lost meanwhile is not meant.
    held.add(id, ItemId::main(6), |_| true);
    held.add(id, ItemId::main(7), |item| item != ItemId::main(6));
    assert_eq!(held.take(&[message]).unwrap(), [ItemId::main(7)]);
}

#[test]
fn ids_that_were_lost_are_forgotten() {
    let held = super::read::Held::new(2);
    for number in 0..100 {
        held.add(Uuid::from_u128(number), ItemId::main(number as u64), |item| item.number + 2 > number as u64);
    }
    assert!(held.len() <= 6);
}
