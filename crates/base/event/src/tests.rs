use bytes::Bytes;
use daybook_record::{BatchBuilder, Compression, records};
use daybook_types::{StreamVersion, TimestampMs};

use crate::{Event, Expectation, Facts, FactsFault, NewEvent, StreamName, event_hash, header, push, push_tombstone};

fn only_record(build: impl FnOnce(&mut BatchBuilder)) -> daybook_record::Record {
    let mut batch = BatchBuilder::new(Compression::None);
    build(&mut batch);
    records(&batch.build().expect("a batch")).expect("readable").next().expect("one record").expect("well-formed")
}

fn sample() -> NewEvent {
    NewEvent {
        id: "5c1b".into(),
        event_type: "placed".into(),
        content_type: "application/json".into(),
        data: Bytes::from_static(b"{}"),
        metadata: Some(Bytes::from_static(b"m")),
        tags: vec!["customer:7".into(), "region:eu".into()],
        time: Some("2026-01-02T03:04:05Z".into()),
        headers: vec![("trace".into(), Some(Bytes::from_static(b"t"))), ("empty".into(), None)],
    }
}

#[test]
fn an_event_comes_back_as_it_was_written() {
    let event = sample();
    let record = only_record(|batch| push(batch, TimestampMs(5), Some("order-1"), &event));
    let facts = Facts::of(&record).expect("facts");
    assert_eq!(facts.stream.as_deref(), Some(&b"order-1"[..]));
    assert_eq!(facts.id, event_hash(b"5c1b"));
    assert_eq!(facts.tags, ["customer:7", "region:eu"]);
    let read = Event::of(record);
    assert_eq!((read.id.as_deref(), read.event_type.as_str()), (Some("5c1b"), "placed"));
    assert_eq!(
        (read.content_type.as_str(), read.data, read.metadata),
        ("application/json", Some(event.data), event.metadata)
    );
    assert_eq!((read.tags, read.time, read.headers), (event.tags, event.time, event.headers));
    assert_eq!(read.recorded, TimestampMs(5));
}

#[test]
fn a_tombstone_is_a_null_value_of_its_type() {
    let record = only_record(|batch| push_tombstone(batch, TimestampMs(5), "order-1", "x".into()));
    assert!(Facts::of(&record).expect("facts").is_tombstone());
    let record = only_record(|batch| {
        batch.push(TimestampMs(5), Some(b"order-1"), None, &[]);
    });
    assert!(!Facts::of(&record).expect("facts").is_tombstone(), "a plain producer's null is an event without data");
}

#[test]
fn an_expectation_is_a_number_none_or_any() {
    let facts = |key: Option<&[u8]>, value: &'static str| {
        let headers =
            [(Bytes::from_static(header::EXPECTED_VERSION.as_bytes()), Some(Bytes::from_static(value.as_bytes())))];
        let record = only_record(|batch| {
            batch.push(TimestampMs(5), key, None, &headers);
        });
        Facts::of(&record).map(|facts| facts.expected)
    };
    assert_eq!(facts(Some(b"s"), "-1"), Ok(Some(Expectation::NoStream)));
    assert_eq!(facts(Some(b"s"), "any"), Ok(Some(Expectation::Any)));
    assert_eq!(facts(Some(b"s"), " 17"), Ok(Some(Expectation::Exact(StreamVersion(17)))));
    assert_eq!(facts(Some(b"s"), "-2"), Err(FactsFault::Expectation));
    assert_eq!(facts(Some(b"s"), "soon"), Err(FactsFault::Expectation));
    assert_eq!(facts(None, "3"), Err(FactsFault::ExpectationWithoutStream));
}

#[test]
fn a_stream_lives_in_the_topic_of_its_category() {
    let place = |name: &str| {
        let name = StreamName::new(name).expect("legal");
        (name.topic().as_str().to_owned(), name.category().to_owned(), name.partition_key().to_vec())
    };
    assert_eq!(place("order-10491"), ("order".into(), "order".into(), b"order-10491".to_vec()));
    assert_eq!(place("$$order-10491"), ("order".into(), "order".into(), b"order-10491".to_vec()));
    assert_eq!(place("order"), ("order".into(), "order".into(), b"order".to_vec()));
    assert_eq!(place("$settings").0, "_streams");
    assert_eq!(place("a b-1").0, "_streams");
    assert_eq!(place("_streams-1").0, "_streams");
    assert_eq!(place("-1").0, "_streams");
    assert!(StreamName::new("").is_err());
}
