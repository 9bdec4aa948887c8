use std::time::Duration;

use bytes::Bytes;
use daybook_event_store::{AllFrom, Conflict, Direction, Expected, Recorded, StreamFrom, StreamName, StreamState};
use daybook_types::{Offset, PartitionId, Position, StreamVersion, TimestampMs};
use futures::stream::StreamExt;
use prost::Message;
use tokio::sync::watch;
use tonic::codegen::http;
use uuid::Uuid;

use super::event::{self, Shown};
use super::filter::{Subject, Wanted};
use super::ids::{self, IdForm};
use super::links::{self, Virtual};
use super::options::{Endpoint, Options};
use super::read::{Amount, Asked, Source};
use super::rich_error::{ErrorInfo, RichStatus};
use super::{answers, batch_append, error_code, expected, gossip, read_all, v2_error, v2_record};
use crate::proto::event_store::client::streams::read_req::options as asked;
use crate::proto::event_store::client::streams::{ReadReq, append_req, read_req};
use crate::proto::event_store::client::uuid::Value as IdValue;
use crate::proto::event_store::client::{Empty, StreamIdentifier};
use crate::proto::kurrentdb::protocol::v2::streams as v2;

fn stream(name: &str) -> StreamName {
    StreamName::new(name).expect("legal")
}

fn recorded(name: Option<&str>, event_type: &str, data: &'static [u8]) -> Recorded {
    Recorded {
        stream: name.map(stream),
        version: name.map(|_| StreamVersion(3)),
        position: Position(17),
        partition: PartitionId::default(),
        offset: Offset(5),
        recorded: TimestampMs(1_700_000_000_123),
        id: "0a0b0c0d-0102-4304-8506-0708090a0b0c".into(),
        event_type: event_type.into(),
        content_type: "application/json".into(),
        data: Bytes::from_static(data),
        metadata: Some(Bytes::from_static(b"m")),
        tags: Vec::new(),
        time: None,
        headers: Vec::new(),
    }
}

#[test]
fn an_id_is_the_same_in_both_forms() {
    let id = Uuid::parse_str("f0e1d2c3-b4a5-4697-8877-665544332211").expect("a UUID");
    for form in [IdForm::Text, IdForm::Structured] {
        assert_eq!(ids::id_of(Some(&ids::id_message(id, form))).expect("readable"), id);
    }
    let halves = ids::id_message(id, IdForm::Structured);
    let Some(IdValue::Structured(halves)) = halves.value else { panic!("not structured") };
    assert_eq!(halves.most_significant_bits, 0xf0e1_d2c3_b4a5_4697_u64.cast_signed());
    assert!(ids::id_of(None).is_err());
    assert!(ids::id_of(Some(&ids::id_message(Uuid::nil(), IdForm::Text))).is_err());
}

#[test]
fn an_id_that_is_no_uuid_has_always_the_same_made_of_it() {
    assert_eq!(ids::event_id("order 7"), ids::event_id("order 7"));
    assert_ne!(ids::event_id("order 7"), ids::event_id("order 8"));
    let text = "0a0b0c0d-0102-4304-8506-0708090a0b0c";
    assert_eq!(ids::event_id(text).to_string(), text);
}

#[test]
fn a_stream_has_a_name_of_utf_8() {
    assert!(ids::stream_name(None).is_err());
    assert!(ids::stream_name(Some(&StreamIdentifier { stream_name: Bytes::new() })).is_err());
    assert!(ids::stream_name(Some(&StreamIdentifier { stream_name: Bytes::from_static(&[0xff]) })).is_err());
    let name = ids::stream_name(Some(&ids::stream_identifier("käse-1"))).expect("legal");
    assert_eq!(name.as_str(), "käse-1");
}

#[test]
fn what_is_expected_is_read_and_said_in_numbers() {
    use append_req::options::ExpectedStreamRevision as Wanted;
    let of = |wanted| expected::of_append(Some(wanted)).map_err(|status| status.code());
    assert_eq!(of(Wanted::Revision(7)), Ok(Expected::Exact(StreamVersion(7))));
    assert_eq!(of(Wanted::Revision(u64::MAX)), Ok(Expected::NoStream), "how some clients write it");
    assert_eq!(of(Wanted::Revision(u64::MAX - 1)), Err(tonic::Code::InvalidArgument));
    assert_eq!(of(Wanted::StreamExists(Empty {})), Ok(Expected::Exists));
    assert!(expected::of_append(None).is_err());
    for number in [-5, -4, -2, -1, 0, 8] {
        assert_eq!(expected::of_number(number).map(expected::number), Some(number));
    }
    assert_eq!(expected::of_number(-3), None);
    assert_eq!(expected::of_number(-6), None);
    assert_eq!(expected::actual_version(StreamState::SoftDeleted(StreamVersion(4))), 4);
    assert_eq!(expected::actual_state(StreamState::SoftDeleted(StreamVersion(4))), -5);
    assert_eq!(expected::actual_state(StreamState::Tombstoned), -6);
}

#[test]
fn an_event_is_shown_with_what_clients_read_of_it() {
    let shown = Shown::of(recorded(Some("order-1"), "placed", b"{}"));
    assert_eq!((shown.stream.as_str(), shown.revision, shown.position), ("order-1", 3, 17));
    assert_eq!(shown.metadata["type"], "placed");
    assert_eq!(shown.metadata["content-type"], "application/json");
    assert_eq!(shown.metadata["created"], "17000000001230000", "100 ns since 1970");
    let shown = Shown::of(Recorded { content_type: "text/plain".into(), ..recorded(None, "seen", b"x") });
    assert_eq!(shown.metadata["content-type"], "application/octet-stream");
    assert_eq!((shown.stream.as_str(), shown.revision), (event::STREAM_OF_STREAMLESS, 17));
}

#[test]
fn a_virtual_stream_is_links_that_a_reader_can_resume_after() {
    let category = Virtual::of(&stream("$ce-order")).expect("a virtual stream");
    assert_eq!(category.filter.category.as_deref(), Some("order"));
    let by_type = Virtual::of(&stream("$et-placed")).expect("a virtual stream");
    assert_eq!(by_type.filter.query.items[0].types, ["placed"]);
    assert!(Virtual::of(&stream("order-1")).is_none());

    let followed = category.show(recorded(Some("order-1"), "placed", b"{}"), true);
    let link = followed.link.expect("a link");
    assert_eq!((link.stream.as_str(), link.revision, &link.data[..]), ("$ce-order", 17, &b"3@order-1"[..]));
    assert_eq!(link.metadata["type"], "$>");
    assert_eq!(followed.event.expect("an event").stream, "order-1");
    let plain = category.show(recorded(Some("order-1"), "placed", b"{}"), false);
    assert_eq!((plain.event.expect("the link itself"), plain.link), (link, None));

    assert_eq!(
        read_all::all_from(StreamFrom::Version(StreamVersion(17)), Direction::Forwards),
        AllFrom::Position(Position(17))
    );
    assert_eq!(
        read_all::all_from(StreamFrom::Version(StreamVersion(17)), Direction::Backwards),
        AllFrom::Position(Position(18)),
        "a stream is read backwards from the revision named"
    );
}

#[test]
fn a_link_says_where_it_leads() {
    assert_eq!(links::target(b"3@order-1"), Some((stream("order-1"), StreamVersion(3))));
    assert_eq!(links::target(b"0@a@b"), Some((stream("a@b"), StreamVersion(0))));
    for data in [&b"order-1"[..], b"x@order-1", b"-1@order-1", b"3@", b"\xff@a"] {
        assert_eq!(links::target(data), None);
    }
}

#[test]
fn a_filter_goes_to_the_store_as_far_as_the_store_can_apply_it() {
    let prefixes = Wanted::new(Subject::Stream, "", vec!["order-".into()]).expect("legal");
    assert_eq!(prefixes.filter.stream_prefixes, ["order-"]);
    let regex = Wanted::new(Subject::EventType, r"^[^\$].*", Vec::new()).expect("legal");
    assert!(regex.is_the_stores() && regex.filter.type_regex.is_some());
    assert!(Wanted::new(Subject::Stream, "", Vec::new()).is_err());
    assert!(Wanted::new(Subject::Stream, "(", Vec::new()).is_err());
}

#[test]
fn an_index_is_named_like_a_stream() {
    let of = |prefixes: &[&str]| {
        let prefixes = prefixes.iter().map(|&prefix| prefix.to_owned()).collect();
        Wanted::new(Subject::Stream, "", prefixes).map(|wanted| wanted.filter).map_err(|status| status.code())
    };
    assert_eq!(of(&["$idx-ce-order"]).expect("known").category.as_deref(), Some("order"));
    assert_eq!(of(&["$idx-et-placed"]).expect("known").query.items[0].types, ["placed"]);
    assert!(of(&["$idx-all"]).expect("known").without_system);
    assert_eq!(of(&["$idx-user-mine"]).map(drop), Err(tonic::Code::NotFound));
    assert_eq!(of(&["$idx-all", "order-"]).map(drop), Err(tonic::Code::InvalidArgument));
}

/// The Python client leaves out the system's events so, in every read of `$all`.
#[test]
fn a_filter_that_looks_ahead_is_applied_here() {
    let wanted = Wanted::new(Subject::EventType, r"^(?!(\$.+$|PersistentConfig\d+$|Result$))", Vec::new());
    let wanted = wanted.expect("legal");
    assert!(!wanted.is_the_stores());
    let passes = |event_type: &str| wanted.passes(&recorded(Some("order-1"), event_type, b"")).expect("judged");
    assert!(passes("placed") && passes("Results") && passes("PersistentConfig"));
    assert!(!passes("$metadata") && !passes("PersistentConfig1") && !passes("Result"));
}

fn read_request(change: impl FnOnce(&mut read_req::Options)) -> ReadReq {
    let mut options = read_req::Options {
        stream_option: Some(asked::StreamOption::All(asked::AllOptions {
            all_option: Some(asked::all_options::AllOption::Start(Empty {})),
        })),
        count_option: Some(asked::CountOption::Count(5)),
        filter_option: Some(asked::FilterOption::NoFilter(Empty {})),
        uuid_option: Some(asked::UuidOption { content: Some(asked::uuid_option::Content::String(Empty {})) }),
        ..read_req::Options::default()
    };
    change(&mut options);
    ReadReq { options: Some(options) }
}

fn stream_option(name: &str, revision: asked::stream_options::RevisionOption) -> Option<asked::StreamOption> {
    Some(asked::StreamOption::Stream(asked::StreamOptions {
        stream_identifier: Some(ids::stream_identifier(name)),
        revision_option: Some(revision),
    }))
}

#[test]
fn a_read_is_understood() {
    let asked = Asked::of(read_request(|_| {})).expect("legal");
    assert!(matches!(asked.source, Source::All { from: AllFrom::Start, checkpoint_interval: None, .. }));
    assert_eq!((asked.amount, asked.how.id_form, asked.how.tell_ends), (Amount::Events(5), IdForm::Text, false));

    let asked = Asked::of(read_request(|options| {
        options.stream_option = stream_option("order-1", asked::stream_options::RevisionOption::Revision(u64::MAX));
        options.control_option = Some(asked::ControlOption { compatibility: 1 });
    }));
    let asked = asked.expect("legal");
    assert!(matches!(asked.source, Source::Stream { from: StreamFrom::End, .. }), "how some clients write the end");
    assert!(asked.how.tell_ends);

    let asked = Asked::of(read_request(|options| {
        options.count_option = Some(asked::CountOption::Subscription(asked::SubscriptionOptions {}));
        options.filter_option = Some(asked::FilterOption::Filter(asked::FilterOptions {
            filter: Some(asked::filter_options::Filter::EventType(asked::filter_options::Expression {
                regex: String::new(),
                prefix: vec!["pla".into()],
            })),
            window: Some(asked::filter_options::Window::Count(Empty {})),
            checkpoint_interval_multiplier: 3,
        }));
    }));
    assert!(matches!(asked.expect("legal").source, Source::All { checkpoint_interval: Some(96), .. }));
}

#[test]
fn a_read_that_contradicts_itself_is_refused() {
    let refused = |change: fn(&mut read_req::Options)| {
        Asked::of(read_request(change)).expect_err("refused").code() == tonic::Code::InvalidArgument
    };
    assert!(refused(|options| options.uuid_option = None));
    assert!(refused(|options| options.stream_option = None));
    assert!(refused(|options| options.filter_option = None));
    assert!(refused(|options| options.count_option = None));
    assert!(refused(|options| {
        options.count_option = Some(asked::CountOption::Subscription(asked::SubscriptionOptions {}));
        options.set_read_direction(asked::ReadDirection::Backwards);
    }));
    assert!(refused(|options| {
        options.stream_option = stream_option("s", asked::stream_options::RevisionOption::Start(Empty {}));
        options.filter_option = Some(asked::FilterOption::Filter(asked::FilterOptions::default()));
    }));
    assert!(Asked::of(ReadReq { options: None }).is_err());
}

#[test]
fn an_error_says_in_text_and_metadata_what_clients_look_for() {
    let status = error_code::wrong_expected_version("Delete", &stream("order-1"), 3, -1);
    assert_eq!(
        status.message(),
        "Delete failed due to WrongExpectedVersion. Stream: order-1, Expected version: 3, Actual version: -1"
    );
    let metadata = |key: &str| status.metadata().get(key).and_then(|value| value.to_str().ok());
    assert_eq!(metadata("exception"), Some("wrong-expected-version"));
    assert_eq!((metadata("expected-version"), metadata("actual-version")), (Some("3"), Some("-1")));
    let status = error_code::stream_deleted(&stream("käse\n1"));
    assert_eq!(status.metadata().get("stream-name").map(|value| value.as_bytes()), Some(&b"k?se?1"[..]));
}

#[test]
fn an_error_of_the_second_protocol_carries_reason_and_details() {
    let status = v2_error::revision_conflict("order-1", 3, 5);
    assert_eq!(status.code(), tonic::Code::FailedPrecondition);
    let whole = RichStatus::decode(status.details()).expect("a status");
    assert_eq!((whole.code, whole.details.len()), (9, 2));
    let info = ErrorInfo::decode(&whole.details[0].value[..]).expect("an info");
    assert_eq!((info.domain.as_str(), info.reason.as_str()), ("streams", "STREAM_REVISION_CONFLICT"));
    assert_eq!(
        whole.details[1].type_url,
        "type.googleapis.com/kurrentdb.protocol.v2.streams.errors.StreamRevisionConflictErrorDetails"
    );
    let detail = v2::errors::StreamRevisionConflictErrorDetails::decode(&whole.details[1].value[..]).expect("details");
    assert_eq!((detail.stream.as_str(), detail.expected_revision, detail.actual_revision), ("order-1", 3, 5));

    let status = v2_error::bad_request("records", "none");
    let whole = RichStatus::decode(status.details()).expect("a status");
    let info = ErrorInfo::decode(&whole.details[0].value[..]).expect("an info");
    assert_eq!((info.domain.as_str(), info.reason.as_str()), ("server", "BAD_REQUEST"));
    assert_eq!(whole.details[1].type_url, "type.googleapis.com/google.rpc.BadRequest");
}

fn record() -> v2::AppendRecord {
    use prost_types::value::Kind;
    let value = |kind| prost_types::Value { kind: Some(kind) };
    v2::AppendRecord {
        record_id: Some("0a0b0c0d-0102-4304-8506-0708090a0b0c".into()),
        properties: [
            ("user".to_owned(), value(Kind::StringValue("ann".into()))),
            ("tries".to_owned(), value(Kind::NumberValue(3.0))),
        ]
        .into(),
        schema: Some(v2::SchemaInfo { format: v2::SchemaFormat::Json.into(), name: "placed".into(), id: None }),
        data: Bytes::from_static(b"{}"),
        stream: None,
    }
}

#[test]
fn a_records_properties_become_metadata() {
    let mut sizes = v2_record::Sizes::default();
    let event = v2_record::event(record(), "order-1", &Options::default(), &mut sizes).expect("legal");
    assert_eq!((event.event_type.as_str(), event.content_type.as_str()), ("placed", "application/json"));
    let metadata: serde_json::Value = serde_json::from_slice(&event.metadata.expect("some")).expect("JSON");
    let expected = serde_json::json!({
        "user": "ann", "tries": 3, "$schema.name": "placed", "$schema.format": "Json",
    });
    assert_eq!(metadata, expected);
}

#[test]
fn a_record_that_says_too_little_or_too_much_is_refused() {
    let options = Options { event_bytes_max: 64, append_bytes_max: 200, ..Options::default() };
    let mut sizes = v2_record::Sizes::default();
    let mut refused = |record| v2_record::event(record, "s", &options, &mut sizes).expect_err("refused").code();
    use tonic::Code;
    assert_eq!(refused(v2::AppendRecord { schema: None, ..record() }), Code::InvalidArgument);
    assert_eq!(refused(v2::AppendRecord { record_id: Some("7".into()), ..record() }), Code::InvalidArgument);
    assert_eq!(
        refused(v2::AppendRecord {
            properties: [("x".to_owned(), prost_types::Value { kind: None })].into(),
            ..record()
        }),
        Code::InvalidArgument
    );
    assert_eq!(refused(v2::AppendRecord { data: vec![0; 65].into(), ..record() }), Code::InvalidArgument);
    let mut sizes = v2_record::Sizes::default();
    let mut push = || v2_record::event(record(), "s", &options, &mut sizes).map(drop).map_err(|status| status.code());
    assert_eq!([push(), push(), push()], [Ok(()), Ok(()), Err(Code::Aborted)]);
}

#[test]
fn a_client_is_told_the_address_that_it_asked() {
    let endpoint = |uri: &str, host: Option<&str>| {
        let mut headers = http::HeaderMap::new();
        if let Some(host) = host {
            headers.insert(http::header::HOST, host.parse().expect("a value"));
        }
        gossip::endpoint(&uri.parse().expect("an address"), &headers)
    };
    let at = |host: &str, port| Some(Endpoint { host: host.to_owned(), port });
    assert_eq!(endpoint("http://db.example:7001/x", None), at("db.example", 7001));
    assert_eq!(endpoint("http://[::1]:7001/x", None), at("::1", 7001));
    assert_eq!(endpoint("/x", Some("db.example")), at("db.example", 2113));
    assert_eq!(endpoint("/x", None), None);
}

#[test]
fn a_conflict_names_the_stream_in_the_status_of_an_error() {
    let conflict = Conflict {
        stream: stream("order-1"),
        expected: Expected::Exact(StreamVersion(3)),
        actual: StreamState::At(StreamVersion(5)),
    };
    let error = daybook_event_store::AppendError::Conflict(vec![conflict]);
    let status = error_code::of_append("Delete", &error);
    assert!(status.message().ends_with("Stream: order-1, Expected version: 3, Actual version: 5"), "{status:?}");
}

#[test]
fn a_deadline_may_be_any_nonsense() {
    use crate::proto::event_store::client::streams::batch_append_req::options::DeadlineOption as Deadline;
    let lasting =
        |seconds, nanos| batch_append::time_left(Some(Deadline::Deadline(prost_types::Duration { seconds, nanos })));
    let until = |seconds, nanos| {
        batch_append::time_left(Some(Deadline::Deadline21100(prost_types::Timestamp { seconds, nanos })))
    };
    assert_eq!(lasting(2, 500_000_000), Duration::from_millis(2500));
    assert_eq!(lasting(-1, 999), Duration::ZERO);
    assert_eq!(until(1_000_000_000, 0), Duration::ZERO);
    assert!(until(i64::MAX, i32::MAX) > Duration::from_secs(1 << 40));
    assert!(lasting(i64::MAX - 1, i32::MAX) > Duration::from_secs(1 << 40));
    assert_eq!(lasting(i64::MIN, i32::MIN), Duration::ZERO);
    assert_eq!(batch_append::time_left(None), Duration::MAX);
}

#[tokio::test]
async fn answers_end_when_the_server_shuts_down() {
    let (shutdown, begun) = watch::channel(false);
    let mut answers = answers::answer::<u32, _, _>(Some(begun), |answers| async move {
        answers.send(1).await?;
        std::future::pending().await
    });
    assert_eq!(answers.next().await.expect("an answer").expect("no error"), 1);
    shutdown.send(true).expect("someone listens");
    let end = answers.next().await.expect("an end").expect_err("an error");
    assert_eq!(end.code(), tonic::Code::Unavailable);
    assert!(answers.next().await.is_none());
}

#[tokio::test]
async fn answers_stop_being_made_when_the_client_goes() {
    let (alive, mut gone) = tokio::sync::mpsc::channel::<()>(1);
    let answers = answers::answer::<u32, _, _>(None, |_answers| async move {
        let _alive = alive;
        std::future::pending().await
    });
    drop(answers);
    let ended = tokio::time::timeout(Duration::from_secs(10), gone.recv()).await.expect("the work was dropped");
    assert_eq!(ended, None);
}
