//! What people and programs see.

use bytes::Bytes;
use daybook_kafka_client::{ClientError, KafkaCode, TopicPartition, WireError};
use daybook_record::Record;
use daybook_types::{Offset, PartitionIndex, TimestampMs};

use crate::advice::{causes, next_step};
use crate::commands::consume::format::{self, write_json};
use crate::output::{Column, Table};

fn record() -> (TopicPartition, Record) {
    let header = |name: &'static str, value: Option<&'static [u8]>| {
        (Bytes::from_static(name.as_bytes()), value.map(Bytes::from_static))
    };
    let record = Record {
        offset: Offset(7),
        timestamp: TimestampMs(1234),
        key: None,
        value: Some(Bytes::from_static(b"v%s\xff")),
        headers: vec![header("a", Some(b"1")), header("a", None)],
    };
    (TopicPartition::new("orders", PartitionIndex(2)), record)
}

fn formatted(format: &str) -> Vec<u8> {
    let (partition, record) = record();
    let mut out = Vec::new();
    format::parse(format).expect(format).write(&mut out, &partition, &record).expect("memory takes it");
    out
}

#[test]
fn formats_print_what_they_name() {
    assert_eq!(formatted(r"%t/%p/%o/%T\n"), b"orders/2/7/1234\n");
    assert_eq!(formatted("%k|%K|%s|%S"), b"|-1|v%s\xff|4");
    assert_eq!(formatted("%h"), b"a=1,a=");
    assert_eq!(formatted(r"100%%%o%%\x41"), b"100%7%A");
    assert_eq!(formatted(""), b"");
    for wrong in ["%", "%x", "a%", r"\q", "%%%"] {
        assert!(format::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn json_tells_bytes_from_text() {
    let (partition, record) = record();
    let mut out = Vec::new();
    write_json(&mut out, &partition, &record).expect("memory takes it");
    let text = String::from_utf8(out).expect("JSON is text");
    assert_eq!(
        text,
        "{\"topic\":\"orders\",\"partition\":2,\"offset\":7,\"timestamp\":1234,\"key\":null,\
         \"value\":{\"hex\":\"762573ff\"},\"headers\":[{\"name\":\"a\",\"value\":\"1\"},{\"name\":\"a\",\"value\":null}]}\n"
    );
}

#[test]
fn tables_align_numbers_to_the_right_and_end_lines_with_text() {
    let mut table = Table::new(&[Column::Text("NAME"), Column::Number("N"), Column::Text("X")]);
    table.row(["é".to_owned(), "10".to_owned(), String::new()]);
    table.row(["longer".to_owned(), "9".to_owned(), "x".to_owned()]);
    assert_eq!(table.render(), "NAME     N  X\né       10\nlonger   9  x\n");
}

#[test]
fn errors_come_with_a_next_step() {
    let refused = || WireError::Connect { address: "h:1".into(), source: std::io::ErrorKind::ConnectionRefused.into() };
    let step = next_step(&anyhow::Error::from(ClientError::from(refused())).context("while producing"));
    assert!(step.is_some_and(|step| step.contains("daybook serve")));
    assert_eq!(causes(&refused().into()), "cannot connect to h:1: connection refused");
    let nested = anyhow::Error::from(refused()).context("while producing");
    assert_eq!(causes(&nested), "while producing: cannot connect to h:1: connection refused");
    let unknown =
        ClientError::Topic { topic: "a".to_owned(), code: KafkaCode::UNKNOWN_TOPIC_OR_PARTITION, message: None };
    assert!(next_step(&unknown.into()).is_some_and(|step| step.contains("topic list")));
    assert_eq!(next_step(&anyhow::anyhow!("something else")), None);
}
